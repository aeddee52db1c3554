/// The pair's idea on a CPU: one element at a time against a tile at a time.
///
/// cpu_naive  X is transposed, then each output element walks its own tokens (strided reads of dY)
/// cpu_tiled  a row of 128 accumulators stays in registers or L1 while the tokens stream past
#include <algorithm>

#include "kernels/common/require.h"
#include "kernels/dw_gemm/dw_gemm.h"

namespace strictbench::dw_gemm {
namespace {

float k_tree(const Args& args, std::int64_t o, std::int64_t i, std::int64_t lo, std::int64_t hi) {
  const auto [tokens, in, out] = args.shape;
  if (hi - lo <= leaf_tokens) {
    float acc = 0.0f;
    for (std::int64_t t = lo; t < hi; ++t)
      acc = acc + to_float(args.dy[t * out + o]) * to_float(args.x_transposed[i * tokens + t]);
    return to_float(to_bf16(acc));
  }
  const std::int64_t mid = lo + (hi - lo) / 2;
  return to_float(to_bf16(k_tree(args, o, i, lo, mid) + k_tree(args, o, i, mid, hi)));
}

}  // namespace

void cpu_naive(const Args& args, Stream) {
  validate(args);
  validate_transposed(args);
  const auto [tokens, in, out] = args.shape;
  for (std::int64_t t = 0; t < tokens; ++t)
    for (std::int64_t i = 0; i < in; ++i) args.x_transposed[i * tokens + t] = args.x[t * in + i];
  for (std::int64_t i = 0; i < in; ++i)
    for (std::int64_t o = 0; o < out; ++o) args.dw[o * in + i] = to_bf16(k_tree(args, o, i, 0, tokens));
}

void cpu_tiled(const Args& args, Stream) {
  validate(args);
  require(args.shape.tokens <= tiled_tokens, "dw_gemm: the tiled variant takes shape.tokens of 1 to 31");
  const auto [tokens, in, out] = args.shape;
  constexpr std::int64_t tile = 128;
  for (std::int64_t o0 = 0; o0 < out; o0 += tile)
    for (std::int64_t i0 = 0; i0 < in; i0 += tile) {
      const std::int64_t width = std::min(tile, in - i0);
      for (std::int64_t o = o0; o < std::min(o0 + tile, out); ++o) {
        float acc[tile] = {};
        for (std::int64_t t = 0; t < tokens; ++t) {
          const float dy = to_float(args.dy[t * out + o]);
          const Bf16* x = args.x + t * in + i0;
          for (std::int64_t i = 0; i < width; ++i) acc[i] = acc[i] + dy * to_float(x[i]);
        }
        for (std::int64_t i = 0; i < width; ++i) args.dw[o * in + i0 + i] = to_bf16(acc[i]);
      }
    }
}

}  // namespace strictbench::dw_gemm
