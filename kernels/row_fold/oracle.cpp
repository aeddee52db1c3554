#include "kernels/common/require.h"
#include "kernels/row_fold/row_fold.h"

namespace strictbench::row_fold {

void validate(const Args& args) {
  require(args.shape.rows >= 0, "row_fold: shape.rows must not be negative");
  require(args.shape.cols >= 0, "row_fold: shape.cols must not be negative");
  require(args.row_stride >= args.shape.cols, "row_fold: row_stride must be at least shape.cols");
  require(args.out != nullptr || args.shape.cols == 0, "row_fold: out must not be null");
  require(args.rows != nullptr || args.shape.rows == 0 || args.shape.cols == 0,
          "row_fold: rows must not be null");
}

std::vector<float> oracle(const Shape& shape, const std::vector<float>& rows) {
  std::vector<float> out(static_cast<std::size_t>(shape.cols));
  for (std::int64_t c = 0; c < shape.cols; ++c) {
    float acc = +0.0f;
    for (std::int64_t r = 0; r < shape.rows; ++r)
      acc = acc + rows[static_cast<std::size_t>(r * shape.cols + c)];
    out[static_cast<std::size_t>(c)] = acc;
  }
  return out;
}

}  // namespace strictbench::row_fold
