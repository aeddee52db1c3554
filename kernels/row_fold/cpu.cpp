/// The pair's idea on a CPU: how often the accumulators travel.
///
/// cpu_pass_per_row  every row reads and writes all of `out`, as a launch per row does on a GPU
/// cpu_one_pass      64 columns at a time stay in registers while all rows stream past
#include <algorithm>

#include "kernels/row_fold/row_fold.h"

namespace strictbench::row_fold {

void cpu_pass_per_row(const Args& args, Stream) {
  validate(args);
  std::fill_n(args.out, args.shape.cols, +0.0f);
  for (std::int64_t r = 0; r < args.shape.rows; ++r) {
    const float* row = args.rows + r * args.row_stride;
    for (std::int64_t c = 0; c < args.shape.cols; ++c) args.out[c] = args.out[c] + row[c];
  }
}

void cpu_one_pass(const Args& args, Stream) {
  validate(args);
  constexpr std::int64_t strip = 64;
  for (std::int64_t first = 0; first < args.shape.cols; first += strip) {
    const std::int64_t width = std::min(strip, args.shape.cols - first);
    float acc[strip] = {};
    for (std::int64_t r = 0; r < args.shape.rows; ++r) {
      const float* row = args.rows + r * args.row_stride + first;
      for (std::int64_t c = 0; c < width; ++c) acc[c] = acc[c] + row[c];
    }
    std::copy_n(acc, width, args.out + first);
  }
}

}  // namespace strictbench::row_fold
