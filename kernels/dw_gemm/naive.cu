/// legacy: transpose X, then 16x16 blocks with one thread per output element and no shared memory.
///
/// threadIdx.x runs along `out`, so neighbouring threads store `in` elements apart: every two-byte store
/// touches a 32-byte sector of its own, and those stores bound the kernel.
///
/// naive_recursive  the K-tree as a recursive device function, as published: a real call with a stack frame
///                  for each output element, even where one leaf is all there is. Past 2048 tokens, where
///                  calls would outgrow a thread's stack, another kernel (naive_on_stack) walks the same tree
///                  with the sums that wait in local memory: the same bits
/// naive_loop       the leaf as a loop: what the recursion alone costs shows between the two
#include <cuda_bf16.h>

#include "kernels/common/cuda_error.h"
#include "kernels/common/require.h"
#include "kernels/dw_gemm/dw_gemm.h"

namespace strictbench::dw_gemm {
namespace {

constexpr int block_edge = 16;

/// [rows, cols] -> [cols, rows]
__global__ void transpose(const __nv_bfloat16* from, std::int64_t rows, std::int64_t cols,
                          __nv_bfloat16* to) {
  const std::int64_t c = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::int64_t r = std::int64_t{blockIdx.y} * blockDim.y + threadIdx.y;
  if (r < rows && c < cols) to[c * rows + r] = from[r * cols + c];
}

/// One output element's operands: dy[t * out] and x_transposed[t] for token t.
struct Operands {
  const __nv_bfloat16* dy;
  std::int64_t dy_stride;
  const __nv_bfloat16* x;
};

__device__ __nv_bfloat16 leaf(const Operands& at, std::int64_t lo, std::int64_t hi) {
  float acc = 0.0f;
  for (std::int64_t t = lo; t < hi; ++t) {
    const float product = __fmul_rn(__bfloat162float(at.dy[t * at.dy_stride]), __bfloat162float(at.x[t]));
    acc = __fadd_rn(acc, product);
  }
  return __float2bfloat16_rn(acc);
}

__device__ __nv_bfloat16 k_tree(const Operands& at, std::int64_t lo, std::int64_t hi) {
  if (hi - lo <= leaf_tokens) return leaf(at, lo, hi);
  const std::int64_t mid = lo + (hi - lo) / 2;
  return __float2bfloat16_rn(
      __fadd_rn(__bfloat162float(k_tree(at, lo, mid)), __bfloat162float(k_tree(at, mid, hi))));
}

template <bool recursive>
__global__ void naive(Shape shape, const __nv_bfloat16* dy, const __nv_bfloat16* x_transposed,
                      __nv_bfloat16* dw) {
  const std::int64_t o = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::int64_t i = std::int64_t{blockIdx.y} * blockDim.y + threadIdx.y;
  if (o >= shape.out || i >= shape.in) return;
  const Operands at{.dy = dy + o, .dy_stride = shape.out, .x = x_transposed + i * shape.tokens};
  dw[o * shape.in + i] = recursive ? k_tree(at, 0, shape.tokens) : leaf(at, 0, shape.tokens);
}

/// The most levels between the root of a tree and its leaves.
constexpr int max_depth = 16;
static_assert(naive_side <= leaf_tokens << max_depth);

/// k_tree without recursion: leaves in order, the sums of left halves on a stack.
__device__ __nv_bfloat16 k_tree_on_stack(const Operands& at, std::int64_t tokens) {
  __nv_bfloat16 waiting[max_depth];
  int depth = 0;
  for (std::int64_t t = 0;;) {
    const Leaf next = leaf_of(t, tokens);
    __nv_bfloat16 sum = leaf(at, next.first, next.last);
    for (int left = next.sums_after; left > 0; --left)
      sum = __float2bfloat16_rn(__fadd_rn(__bfloat162float(waiting[--depth]), __bfloat162float(sum)));
    if (next.last == tokens) return sum;
    waiting[depth++] = sum;
    t = next.last;
  }
}

__global__ void naive_on_stack(Shape shape, const __nv_bfloat16* dy, const __nv_bfloat16* x_transposed,
                               __nv_bfloat16* dw) {
  const std::int64_t o = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::int64_t i = std::int64_t{blockIdx.y} * blockDim.y + threadIdx.y;
  if (o >= shape.out || i >= shape.in) return;
  const Operands at{.dy = dy + o, .dy_stride = shape.out, .x = x_transposed + i * shape.tokens};
  dw[o * shape.in + i] = k_tree_on_stack(at, shape.tokens);
}

using Kernel = void (*)(Shape, const __nv_bfloat16*, const __nv_bfloat16*, __nv_bfloat16*);

void launch(Kernel kernel, const Args& args, Stream stream) {
  validate(args);
  validate_transposed(args);
  const auto [tokens, in, out] = args.shape;
  const dim3 block(block_edge, block_edge);
  const auto along = [](std::int64_t n, long long limit, const char* rule) {
    return grid_blocks(n, block_edge, limit, rule);
  };
  const dim3 transpose_grid(along(in, grid_x, "dw_gemm: shape.in must fit a grid"),
                            along(tokens, grid_y, "dw_gemm: shape.tokens must be at most 1048560"));
  const dim3 grid(along(out, grid_x, "dw_gemm: shape.out must fit a grid"),
                  along(in, grid_y, "dw_gemm: shape.in must be at most 1048560"));
  auto* const x_transposed = reinterpret_cast<__nv_bfloat16*>(args.x_transposed);
  transpose<<<transpose_grid, block, 0, stream>>>(reinterpret_cast<const __nv_bfloat16*>(args.x), tokens, in,
                                                  x_transposed);
  check_launch();
  kernel<<<grid, block, 0, stream>>>(args.shape, reinterpret_cast<const __nv_bfloat16*>(args.dy),
                                     x_transposed, reinterpret_cast<__nv_bfloat16*>(args.dw));
  check_launch();
}

}  // namespace

void naive_recursive(const Args& args, Stream stream) {
  launch(args.shape.tokens <= recursive_tokens ? naive<true> : naive_on_stack, args, stream);
}

void naive_loop(const Args& args, Stream stream) {
  validate(args);
  require(args.shape.tokens <= leaf_tokens, "dw_gemm: the loop variant takes shape.tokens of 1 to 32");
  launch(naive<false>, args, stream);
}

}  // namespace strictbench::dw_gemm
