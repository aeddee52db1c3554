/// The control on a CPU: 64 columns of a row at a time, tiles in order, sums on the same stack as on the GPU.
#include <algorithm>

#include "kernels/tile_tree_gemm/tile_tree_gemm.h"

namespace strictbench::tile_tree_gemm {
namespace {

constexpr std::int64_t strip = 64;

/// Rounds a strip of fp32 sums to bf16.
void round_all(float (&sums)[strip]) {
  for (float& sum : sums) sum = to_float(to_bf16(sum));
}

/// sums[c] = tile `tile` of elements (r, first + c).
void sum_tile(const Args& args, std::int64_t r, std::int64_t first, std::int64_t width, int tile,
              float (&sums)[strip]) {
  std::fill_n(sums, strip, +0.0f);
  for (std::int64_t k = tile * tile_k; k < (tile + 1) * tile_k; ++k) {
    const float a = to_float(args.a.data[r * args.a.row_stride + k * args.a.col_stride]);
    const Bf16* const b = args.b.data + k * args.b.row_stride + first * args.b.col_stride;
    for (std::int64_t c = 0; c < width; ++c) sums[c] = sums[c] + a * to_float(b[c * args.b.col_stride]);
  }
  round_all(sums);
}

}  // namespace

void cpu(const Args& args, Stream) {
  validate(args);
  const int tiles = static_cast<int>(args.k / tile_k);
  for (std::int64_t r = 0; r < args.m; ++r)
    for (std::int64_t first = 0; first < args.n; first += strip) {
      const std::int64_t width = std::min(strip, args.n - first);
      float waiting[max_levels][strip];
      int depth = 0;
      float sums[strip];
      for (int tile = 0; tile < tiles; ++tile) {
        sum_tile(args, r, first, width, tile, sums);
        for (int left = sums_after(tile, tiles); left > 0; --left) {
          --depth;
          for (std::int64_t c = 0; c < strip; ++c) sums[c] = waiting[depth][c] + sums[c];
          round_all(sums);
        }
        if (tile + 1 < tiles) std::copy_n(sums, strip, waiting[depth++]);
      }
      for (std::int64_t c = 0; c < width; ++c) args.c[r * args.n + first + c] = to_bf16(sums[c]);
    }
}

}  // namespace strictbench::tile_tree_gemm
