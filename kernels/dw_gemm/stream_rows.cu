/// tuned, up to 8 tokens: each thread keeps its 8 columns of X in registers and streams down the rows of dW,
/// 16 bytes a store.
///
/// The stores bound it: 100 MB at Qwen3-8B sizes. All blocks at work at one time should write to one stretch
/// of memory, so each takes few rows: enough to pay for its columns of X, no more.
#include "kernels/dw_gemm/exact_products.h"

namespace strictbench::dw_gemm {
namespace {

constexpr int few_threads = 128;
/// Of dW, by one block.
template <int most>
inline constexpr int few_rows = most <= 4 ? 16 : 32;

/// Each thread keeps its 8 columns of X, for up to `most` tokens, in registers and streams down the rows.
/// Tokens that are not there are zeros on both sides: a sum that began at +0 is none the wiser.
template <int most>
__global__ void __launch_bounds__(few_threads)
    stream_down(Shape shape, const std::uint16_t* x, const std::uint16_t* dy, std::uint16_t* dw) {
  __shared__ float dy_rows[few_rows<most>][most];
  __shared__ Range dy_range;
  const int tokens = static_cast<int>(shape.tokens);
  const std::int64_t i0 = (std::int64_t{blockIdx.x} * few_threads + threadIdx.x) * run;
  const std::int64_t o0 = std::int64_t{blockIdx.y} * few_rows<most>;
  const int rows = static_cast<int>(min(shape.out - o0, std::int64_t{few_rows<most>}));

  Eight columns[most];
#pragma unroll
  for (int t = 0; t < most; ++t)
    columns[t] = load_eight<true>(x + t * shape.in + i0, t < tokens ? shape.in - i0 : 0);
  if (threadIdx.x == 0) dy_range = Range{};
  __syncthreads();
  Range seen;
  for (int e = static_cast<int>(threadIdx.x); e < few_rows<most> / 8 * most; e += few_threads) {
    const int t = e / (few_rows<most> / 8);
    const int row = e % (few_rows<most> / 8) * 8;
    const Eight eight = load_eight<true>(dy + t * shape.out + o0 + row, t < tokens ? rows - row : 0);
    seen.add(eight);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      dy_rows[row + 2 * i][t] = low(eight.pairs[i]);
      dy_rows[row + 2 * i + 1][t] = high(eight.pairs[i]);
    }
  }
  seen.add_to(dy_range);
  float held[most][run];
  Range x_range;
#pragma unroll
  for (int t = 0; t < most; ++t) {
    x_range.add(columns[t]);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      held[t][2 * i] = low(columns[t].pairs[i]);
      held[t][2 * i + 1] = high(columns[t].pairs[i]);
    }
  }
  __syncthreads();
  if (i0 >= shape.in) return;
  std::uint16_t* to = dw + o0 * shape.in + i0;
  const auto sum_rows = [&]<bool fused>() {
#pragma unroll 2
    for (int row = 0; row < rows; ++row, to += shape.in) {
      float acc[run] = {};
#pragma unroll
      for (int t = 0; t < most; ++t) {
        const float factor = dy_rows[row][t];
#pragma unroll
        for (int i = 0; i < run; ++i)
          acc[i] = fused ? __fmaf_rn(factor, held[t][i], acc[i])
                         : __fadd_rn(acc[i], __fmul_rn(factor, held[t][i]));
      }
      Eight sum;
#pragma unroll
      for (int i = 0; i < 4; ++i) sum.pairs[i] = rounded_pair(acc[2 * i], acc[2 * i + 1]);
      *reinterpret_cast<Eight*>(to) = sum;
    }
  };
  products_are_exact(x_range, dy_range) ? sum_rows.template operator()<true>()
                                        : sum_rows.template operator()<false>();
}

template <int tokens>
void launch_few(const Args& args, Stream stream) {
  const dim3 grid(
      grid_blocks(args.shape.in, few_threads * run, grid_x, "dw_gemm: shape.in must fit a grid"),
      grid_blocks(args.shape.out, few_rows<tokens>, grid_y, "dw_gemm: shape.out must fit a grid"));
  launch(stream_down<tokens>, grid, few_threads, 0, args, stream);
}

}  // namespace

void stream_rows(const Args& args, Stream stream) {
  validate(args);
  require(args.shape.tokens <= streamed_tokens && takes_vectors(args),
          "dw_gemm: the streaming variant takes shape.tokens of at most 8 and rows of whole 16-byte pieces");
  if (args.shape.tokens <= 1) return launch_few<1>(args, stream);
  if (args.shape.tokens <= 2) return launch_few<2>(args, stream);
  if (args.shape.tokens <= 4) return launch_few<4>(args, stream);
  launch_few<8>(args, stream);
}

}  // namespace strictbench::dw_gemm
