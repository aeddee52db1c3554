/// legacy and new: one kernel writes the contributions [rows, cols] to scratch in fp32, then row_fold's
/// `legacy` or `new` folds them. They differ in the fold alone, as published.
///
/// The fold bounds both: a launch per row, or a rolled loop of about 150 ns a row. The contributions, one
/// thread per element, are a pass over memory: in bf16 4 bytes read and 4 written an element, 134 MB of 4096
/// x 4096.
#include <algorithm>

#include "kernels/common/cuda_error.h"
#include "kernels/common/require.h"
#include "kernels/rmsnorm_dweight/rmsnorm_dweight.h"
#include "kernels/row_fold/row_fold.h"

namespace strictbench::rmsnorm_dweight {
namespace {

template <class T>
struct Inputs {
  const T* dy;
  std::int64_t dy_stride;
  const T* x;
  std::int64_t x_stride;
  const float* rstd;
  const float* mask;
};

template <class T>
__global__ void write_contributions(Shape shape, Inputs<T> from, float* to) {
  const std::int64_t c = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (c >= shape.cols) return;
  for (std::int64_t r = blockIdx.y; r < shape.rows; r += gridDim.y) {
    const float dy = to_float(from.dy[r * from.dy_stride + c]);
    const float x = to_float(from.x[r * from.x_stride + c]);
    float contribution = __fmul_rn(__fmul_rn(dy, x), from.rstd[r]);
    if (from.mask != nullptr) contribution = __fmul_rn(contribution, from.mask[r]);
    to[r * shape.cols + c] = contribution;
  }
}

/// Launches it, and gives what is to be folded.
row_fold::Args contributions(const Args& args, Stream stream) {
  validate(args);
  const auto [rows, cols] = args.shape;
  constexpr int threads = 256;
  const unsigned blocks = grid_blocks(cols, threads, grid_x, "rmsnorm_dweight: shape.cols must fit a grid");
  if (rows > 0 && cols > 0)
    with_type(args.dtype, [&]<class T>() {
      const Inputs<T> from{.dy = static_cast<const T*>(args.dy),
                           .dy_stride = args.dy_stride,
                           .x = static_cast<const T*>(args.x),
                           .x_stride = args.x_stride,
                           .rstd = args.rstd,
                           .mask = args.mask};
      // Where the rows pass the grid's second side, each block takes several of them.
      const dim3 grid(blocks, static_cast<unsigned>(std::min<long long>(rows, grid_y)));
      write_contributions<T><<<grid, threads, 0, stream>>>(args.shape, from, args.contributions);
      check_launch();
    });
  return {.rows = row_fold::matrix(Dtype::fp32, args.contributions, rows, cols), .out = args.dweight};
}

}  // namespace

void with_launch_per_row(const Args& args, Stream stream) {
  row_fold::launch_per_row(contributions(args, stream), stream);
}

void with_one_launch(const Args& args, Stream stream) {
  row_fold::one_launch(contributions(args, stream), stream);
}

}  // namespace strictbench::rmsnorm_dweight
