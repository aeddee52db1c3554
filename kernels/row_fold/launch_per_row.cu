/// legacy: out is zeroed, then one elementwise add kernel per row, R launches in all.
///
/// Launch cost bounds it: at 4 us a launch from C++ (the published 6.7 us a row came from a Python loop) the
/// memory traffic of a row does not show.
#include "kernels/common/cuda_error.h"
#include "kernels/common/require.h"
#include "kernels/row_fold/row_fold.h"

namespace strictbench::row_fold {
namespace {

__global__ void add_row(float* out, const float* row, std::int64_t cols) {
  const std::int64_t c = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (c < cols) out[c] = __fadd_rn(out[c], row[c]);
}

}  // namespace

void launch_per_row(const Args& args, Stream stream) {
  validate(args);
  const auto [rows, cols] = args.shape;
  if (cols == 0) return;
  cuda_check(cudaMemsetAsync(args.out, 0, static_cast<std::size_t>(cols) * sizeof(float), stream));
  constexpr int threads = 256;
  const unsigned blocks = grid_blocks(cols, threads, grid_x, "row_fold: shape.cols must fit a grid");
  for (std::int64_t r = 0; r < rows; ++r) {
    add_row<<<blocks, threads, 0, stream>>>(args.out, args.rows + r * args.row_stride, cols);
    check_launch();
  }
}

}  // namespace strictbench::row_fold
