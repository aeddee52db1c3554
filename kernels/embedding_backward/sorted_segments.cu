/// new: ids are sorted beforehand (stable, with their positions); grid tokens x ceil(hidden / 128).
///
/// The block at the start of a run of equal ids walks the run in order, one thread per hidden element, and
/// stores once; all other blocks leave at once. Work follows the tokens, not the vocabulary. A run is a chain
/// of dependent loads and adds, so one hot id bounds the whole kernel. The whole backward is bounded by
/// zeroing the table (1.24 GB of bf16 at 151936 x 4096).
#include "kernels/common/cuda_error.h"
#include "kernels/common/require.h"
#include "kernels/embedding_backward/dispatch.h"

namespace strictbench::embedding_backward {
namespace {

constexpr int threads = 128;

template <class Grad, class Weight>
__global__ void __launch_bounds__(threads)
    walk_runs(Shape shape, const std::int64_t* sorted_ids, const std::int64_t* positions, const Grad* grad,
              std::int64_t grad_stride, Weight* dweight) {
  const std::int64_t first = blockIdx.x;
  const std::int64_t h = std::int64_t{blockIdx.y} * threads + threadIdx.x;
  const std::int64_t id = sorted_ids[first];
  if (first > 0 && sorted_ids[first - 1] == id) return;  // inside a run that another block walks
  if (id < 0 || id >= shape.vocab || h >= shape.hidden) return;
  float acc = 0.0f;
  for (std::int64_t i = first; i < shape.tokens && sorted_ids[i] == id; ++i)
    acc = __fadd_rn(acc, to_float(grad[positions[i] * grad_stride + h]));
  dweight[id * shape.hidden + h] = rounded<Weight>(acc);
}

dim3 grid_of(const Shape& shape) {
  return {grid_blocks(shape.tokens, 1, grid_x, "embedding_backward: shape.tokens must fit a grid"),
          grid_blocks(shape.hidden, threads, grid_y, "embedding_backward: shape.hidden must fit a grid")};
}

template <class Grad, class Weight>
void launch(const Args& args, dim3 grid, Stream stream) {
  walk_runs<<<grid, threads, 0, stream>>>(args.shape, args.sorted.ids, args.sorted.positions,
                                          args.grad.as<Grad>(), args.grad_stride, args.dweight.as<Weight>());
  check_launch();
}

}  // namespace

void sorted_segments(const Args& args, Stream stream) {
  validate_sorted(args);
  const auto& [tokens, vocab, hidden] = args.shape;
  if (tokens == 0 || vocab == 0 || hidden == 0) return;
  const dim3 grid = grid_of(args.shape);
  with_types(args, [&]<class Id, class Grad, class Weight>() { launch<Grad, Weight>(args, grid, stream); });
}

void sorted_whole(const Args& args, Stream stream) {
  validate_sort(args, nullptr);
  grid_of(args.shape);  // whatever does not fit throws before anything is launched
  sort_ids(args, stream);
  const auto elements = static_cast<std::size_t>(args.shape.vocab * args.shape.hidden);
  if (elements > 0)
    cuda_check(cudaMemsetAsync(args.dweight.data, 0, elements * size_of(args.dweight.dtype), stream));
  sorted_segments(args, stream);
}

}  // namespace strictbench::embedding_backward
