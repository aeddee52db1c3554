/// legacy: a grid of vocab x hidden blocks, one block per output element.
///
/// Each block looks through all token ids in steps of 64 and sums the matching gradients of a step as a tree,
/// halving strides 32 to 1, with zeros where ids differ. It writes its element whether its id occurs or not.
/// Starting 622 million blocks bounds it (151936 x 4096, 0.6 ns a block): up to 64 tokens the time does not
/// depend on their number. 128 threads a block, two to a token slot, as the published kernel has them.
#include "kernels/common/cuda_error.h"
#include "kernels/common/require.h"
#include "kernels/embedding_backward/dispatch.h"

namespace strictbench::embedding_backward {
namespace {

constexpr int threads = 128;
constexpr int warp = 32;

template <class Id, class Grad, class Weight>
__global__ void __launch_bounds__(threads)
    scan_tokens(Shape shape, const Id* ids, const Grad* grad, std::int64_t grad_stride, Weight* dweight) {
  __shared__ float upper_half[warp];  // the step's slots 32 to 63
  const std::int64_t v = blockIdx.x;
  const std::int64_t h = blockIdx.y;
  const int slot = static_cast<int>(threadIdx.x) % static_cast<int>(step_tokens);
  float acc = 0.0f;
  for (std::int64_t first = 0; first < shape.tokens; first += step_tokens) {
    const std::int64_t t = first + slot;
    float value = 0.0f;
    if (t < shape.tokens && ids[t] == v) value = to_float(grad[t * grad_stride + h]);
    if (threadIdx.x >= warp && threadIdx.x < 2 * warp) upper_half[threadIdx.x - warp] = value;
    __syncthreads();
    if (threadIdx.x < warp) {
      value = __fadd_rn(value, upper_half[threadIdx.x]);
      for (int stride = warp / 2; stride > 0; stride /= 2)
        value = __fadd_rn(value, __shfl_down_sync(0xffffffffu, value, stride));
      acc = __fadd_rn(acc, value);
    }
    __syncthreads();  // before the next step overwrites upper_half
  }
  if (threadIdx.x == 0) dweight[v * shape.hidden + h] = rounded<Weight>(acc);
}

template <class Id, class Grad, class Weight>
void launch(const Args& args, dim3 grid, Stream stream) {
  scan_tokens<<<grid, threads, 0, stream>>>(args.shape, args.ids.as<Id>(), args.grad.as<Grad>(),
                                            args.grad_stride, args.dweight.as<Weight>());
  check_launch();
}

}  // namespace

void vocab_grid(const Args& args, Stream stream) {
  validate(args);
  const auto& [tokens, vocab, hidden] = args.shape;
  if (vocab == 0 || hidden == 0) return;
  const dim3 grid(grid_blocks(vocab, 1, grid_x, "embedding_backward: shape.vocab must fit a grid"),
                  grid_blocks(hidden, 1, grid_y, "embedding_backward: shape.hidden must fit a grid"));
  if (tokens == 0) {  // nothing to scan: zeros, and no kernel
    cuda_check(cudaMemsetAsync(args.dweight.data, 0,
                               static_cast<std::size_t>(vocab * hidden) * size_of(args.dweight.dtype),
                               stream));
    return;
  }
  with_types(args,
             [&]<class Id, class Grad, class Weight>() { launch<Id, Grad, Weight>(args, grid, stream); });
}

}  // namespace strictbench::embedding_backward
