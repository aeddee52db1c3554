/// legacy: out is zeroed, then one elementwise add kernel per row, R launches in all.
///
/// Launch cost bounds it: at 4 us a launch from C++ (the published 6.7 us a row came from a Python loop) the
/// memory traffic of a row does not show.
#include "kernels/common/cuda_error.h"
#include "kernels/common/require.h"
#include "kernels/row_fold/columns.h"
#include "kernels/row_fold/row_fold.h"

namespace strictbench::row_fold {
namespace {

template <class T, class Columns>
__global__ void add_row(float* out, const T* row, std::int64_t cols,
                        const __grid_constant__ Columns columns) {
  const std::int64_t c = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (c < cols) out[c] = __fadd_rn(out[c], to_float(row[columns.offset(c)]));
}

}  // namespace

void launch_per_row(const Args& args, Stream stream) {
  validate(args);
  const Flattened shape = flattened(args.rows);
  if (shape.cols == 0) return;
  constexpr int threads = 256;
  const unsigned blocks =
      grid_blocks(shape.cols, threads, grid_x, "row_fold: the columns of rows must fit a grid");
  cuda_check(cudaMemsetAsync(args.out, 0, static_cast<std::size_t>(shape.cols) * sizeof(float), stream));
  with_elements(args.rows, shape.columns, [&](const auto* data, const auto& columns) {
    for (std::int64_t r = 0; r < shape.rows; ++r) {
      add_row<<<blocks, threads, 0, stream>>>(args.out, data + r * shape.row_stride, shape.cols, columns);
      check_launch();
    }
  });
}

}  // namespace strictbench::row_fold
