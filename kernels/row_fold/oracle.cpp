#include <algorithm>

#include "kernels/common/require.h"
#include "kernels/common/typed.h"
#include "kernels/row_fold/row_fold.h"

namespace strictbench::row_fold {

void validate(const Args& args) {
  const Layout& rows = args.rows;
  require(rows.rank >= 1 && rows.rank <= max_rank, "row_fold: rows.rank must be 1 to 8");
  require(known(rows.dtype), "row_fold: rows.dtype must be fp32, bf16 or fp16");
  require(std::all_of(rows.sizes, rows.sizes + rows.rank, [](std::int64_t size) { return size >= 0; }),
          "row_fold: rows.sizes must not be negative");
  const auto cols = count(rows, 1);
  const auto elements = count(rows, 0);
  require(cols && elements, "row_fold: the product of rows.sizes must fit 64 bits");
  const auto read = extent(rows);
  require(read.has_value(), "row_fold: rows.strides must stay within 64-bit addresses");
  const auto written = extent(matrix(Dtype::fp32, args.out, 1, *cols));
  require(written.has_value(), "row_fold: out must stay within 64-bit addresses");
  require(rows.data != nullptr || *elements == 0, "row_fold: rows.data must not be null");
  require(args.out != nullptr || *cols == 0, "row_fold: out must not be null");
  require_aligned(rows.data, size_of(rows.dtype), "row_fold: rows.data must be aligned to its elements");
  require_aligned(args.out, sizeof(float), "row_fold: out must be aligned to its elements");
  require_apart(*written, *read, "row_fold: out must not overlap rows");
}

std::vector<float> oracle(const Layout& rows) {
  std::vector<float> out;
  const std::int64_t cols = count(rows, 1).value();
  with_type(rows.dtype, [&]<class T>() {
    for (std::int64_t c = 0; c < cols; ++c) {
      std::int64_t column = 0;  // elements from a row's start
      std::int64_t left = c;
      for (int d = rows.rank - 1; d > 0; --d) {
        column += left % rows.sizes[d] * rows.strides[d];
        left /= rows.sizes[d];
      }
      float acc = +0.0f;
      for (std::int64_t r = 0; r < rows.sizes[0]; ++r)
        acc = acc + to_float(static_cast<const T*>(rows.data)[r * rows.strides[0] + column]);
      out.push_back(acc);
    }
  });
  return out;
}

}  // namespace strictbench::row_fold
