/// new: one block of 256 threads per 128x128 tile of dW, for 1 to 31 tokens.
///
/// All tokens of both operand tiles are staged once in shared memory as bf16; each thread then computes 64
/// elements in steps of 256, so that a warp stores 64 contiguous bytes. The two-byte stores, 50 million of
/// them at Qwen3-8B sizes, bound it; X is read as it lies, without a transpose.
#include <cuda_bf16.h>

#include "kernels/common/cuda_error.h"
#include "kernels/common/require.h"
#include "kernels/dw_gemm/dw_gemm.h"

namespace strictbench::dw_gemm {
namespace {

constexpr int tile = 128;
constexpr int threads = 256;

/// Copies columns [first, first + tile) of all tokens into shared memory, zeros past the edge.
__device__ void stage(__nv_bfloat16 (*to)[tile], const __nv_bfloat16* from, int tokens, std::int64_t cols,
                      std::int64_t first) {
  for (int e = static_cast<int>(threadIdx.x); e < tokens * tile; e += threads) {
    const int t = e / tile;
    const int c = e % tile;
    to[t][c] = first + c < cols ? from[t * cols + first + c] : __float2bfloat16_rn(0.0f);
  }
}

__global__ void __launch_bounds__(threads)
    outer_product(Shape shape, const __nv_bfloat16* x, const __nv_bfloat16* dy, __nv_bfloat16* dw) {
  __shared__ __nv_bfloat16 x_tile[tiled_tokens][tile];
  __shared__ __nv_bfloat16 dy_tile[tiled_tokens][tile];
  const int tokens = static_cast<int>(shape.tokens);
  const std::int64_t i0 = std::int64_t{blockIdx.x} * tile;
  const std::int64_t o0 = std::int64_t{blockIdx.y} * tile;
  stage(x_tile, x, tokens, shape.in, i0);
  stage(dy_tile, dy, tokens, shape.out, o0);
  __syncthreads();

  for (int e = static_cast<int>(threadIdx.x); e < tile * tile; e += threads) {
    const int o = e / tile;
    const int i = e % tile;
    if (o0 + o >= shape.out || i0 + i >= shape.in) continue;
    float acc = 0.0f;
    for (int t = 0; t < tokens; ++t)
      acc = __fadd_rn(acc, __fmul_rn(__bfloat162float(dy_tile[t][o]), __bfloat162float(x_tile[t][i])));
    dw[(o0 + o) * shape.in + i0 + i] = __float2bfloat16_rn(acc);
  }
}

}  // namespace

void tiled_outer_product(const Args& args, Stream stream) {
  validate(args);
  require(args.shape.tokens <= tiled_tokens, "dw_gemm: the tiled variant takes shape.tokens of 1 to 31");
  const dim3 grid(grid_blocks(args.shape.in, tile, grid_x, "dw_gemm: shape.in must fit a grid"),
                  grid_blocks(args.shape.out, tile, grid_y, "dw_gemm: shape.out must fit a grid"));
  outer_product<<<grid, threads, 0, stream>>>(args.shape, reinterpret_cast<const __nv_bfloat16*>(args.x),
                                              reinterpret_cast<const __nv_bfloat16*>(args.dy),
                                              reinterpret_cast<__nv_bfloat16*>(args.dw));
  check_launch();
}

}  // namespace strictbench::dw_gemm
