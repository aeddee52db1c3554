/// new: one launch, blocks of 256, one thread per column walks the rows.
///
/// Latency bounds it: the loop is kept rolled, so each load waits for the add before it, about 150 ns a row
/// whatever the width. Kept that way because the published figures were measured on it.
#include "kernels/common/cuda_error.h"
#include "kernels/common/require.h"
#include "kernels/row_fold/columns.h"
#include "kernels/row_fold/row_fold.h"

namespace strictbench::row_fold {
namespace {

template <class T, class Columns>
__global__ void fold_columns(const T* rows, std::int64_t row_count, std::int64_t cols, std::int64_t stride,
                             float* out, const __grid_constant__ Columns columns) {
  const std::int64_t c = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (c >= cols) return;
  const std::int64_t column = columns.offset(c);
  float acc = 0.0f;
#pragma unroll 1
  for (std::int64_t r = 0; r < row_count; ++r) acc = __fadd_rn(acc, to_float(rows[r * stride + column]));
  out[c] = acc;
}

}  // namespace

void one_launch(const Args& args, Stream stream) {
  validate(args);
  const Flattened shape = flattened(args.rows);
  if (shape.cols == 0) return;
  constexpr int threads = 256;
  const unsigned blocks =
      grid_blocks(shape.cols, threads, grid_x, "row_fold: the columns of rows must fit a grid");
  with_elements(args.rows, shape.columns, [&](const auto* data, const auto& columns) {
    fold_columns<<<blocks, threads, 0, stream>>>(data, shape.rows, shape.cols, shape.row_stride, args.out,
                                                 columns);
    check_launch();
  });
}

}  // namespace strictbench::row_fold
