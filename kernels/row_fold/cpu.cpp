/// The pair's idea on a CPU: how often the accumulators travel.
///
/// cpu_pass_per_row  every row reads and writes all of `out`, as a launch per row does on a GPU
/// cpu_one_pass      64 columns at a time stay in registers while all rows stream past
#include <algorithm>

#include "kernels/row_fold/columns.h"
#include "kernels/row_fold/row_fold.h"

namespace strictbench::row_fold {

void cpu_pass_per_row(const Args& args, Stream) {
  validate(args);
  const Flattened shape = flattened(args.rows);
  if (shape.cols == 0) return;  // else a walk over all rows, which may be any number
  with_elements(args.rows, shape.columns, [&](const auto* data, const auto& columns) {
    std::fill_n(args.out, shape.cols, +0.0f);
    for (std::int64_t r = 0; r < shape.rows; ++r) {
      const auto* row = data + r * shape.row_stride;
      for (std::int64_t c = 0; c < shape.cols; ++c)
        args.out[c] = args.out[c] + to_float(row[columns.offset(c)]);
    }
  });
}

void cpu_one_pass(const Args& args, Stream) {
  validate(args);
  const Flattened shape = flattened(args.rows);
  constexpr std::int64_t strip = 64;
  with_elements(args.rows, shape.columns, [&](const auto* data, const auto& columns) {
    for (std::int64_t first = 0; first < shape.cols; first += strip) {
      const std::int64_t width = std::min(strip, shape.cols - first);
      float acc[strip] = {};
      for (std::int64_t r = 0; r < shape.rows; ++r) {
        const auto* row = data + r * shape.row_stride;
        for (std::int64_t c = 0; c < width; ++c) acc[c] = acc[c] + to_float(row[columns.offset(first + c)]);
      }
      std::copy_n(acc, width, args.out + first);
    }
  });
}

}  // namespace strictbench::row_fold
