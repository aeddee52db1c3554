/// tile_tree_gemm: C[m][n] = sum over k of A[m][k] * B[k][n], bf16 in and out, on tensor cores.
///
/// K is cut into tiles of 32. A tile is summed in fp32 from +0, in the tensor cores' own inner order, and
/// rounded to bf16. Tiles are joined by the mid-split tree over their indices: [lo, hi) splits at
/// lo + (hi - lo) / 2, each node is the bf16-rounded sum of its halves. An element's bits depend on its row
/// of A and its column of B alone, whatever the batch around them. It is the control of the published
/// comparison: the same under legacy and new, so its time must not move.
#pragma once
#include <cstdint>
#include <vector>

#include "kernels/common/dtype.h"
#include "kernels/common/require.h"
#include "kernels/common/variant.h"

namespace strictbench::tile_tree_gemm {

/// Element (r, c) is data[r * row_stride + c * col_stride]. One of the strides is 1, the other steps over all
/// that lies along the first; so a transpose is a swap of the two.
struct Operand {
  const Bf16* data;
  std::int64_t row_stride;
  std::int64_t col_stride;
};

struct Args {
  std::int64_t m;  ///< a multiple of block_m, at most max_m
  std::int64_t n;  ///< at most max_n
  std::int64_t k;  ///< a multiple of tile_k, at most max_k
  Operand a;       ///< [m, k]
  Operand b;       ///< [k, n]
  Bf16* c;         ///< [m, n], contiguous
};

inline constexpr std::int64_t tile_k = 32;
inline constexpr std::int64_t block_m = 64;
/// The deepest tree, and so the most sums that wait for their right half at one time.
inline constexpr int max_levels = 16;
inline constexpr std::int64_t max_k = tile_k << max_levels;
/// A grid of 64x64 blocks is no larger. Held on every device, so that a shape fits all or none.
inline constexpr std::int64_t max_m = grid_y * block_m;
inline constexpr std::int64_t max_n = grid_x * 64;

/// How many nodes of the tree over `tiles` tiles are complete as soon as tile `tile` is, and were not before:
/// those on the way down to it that end where it ends. Whoever adds up the tiles in order on a stack takes
/// that many sums off it.
constexpr int sums_after(int tile, int tiles) {
  int lo = 0;
  int hi = tiles;
  int sums = 0;
  while (hi - lo > 1) {
    if (hi == tile + 1) ++sums;
    const int mid = lo + (hi - lo) / 2;
    if (tile < mid)
      hi = mid;
    else
      lo = mid;
  }
  return sums;
}

/// Throws std::invalid_argument unless sizes and strides are as said above, pointers are neither null nor
/// misaligned, all three matrices lie within 64-bit addresses, and c is apart from a and b.
void validate(const Args& args);

/// The definition as plain recursion, each tile in ascending order of k, for host pointers: all of C. args.c
/// is not used. Takes any m.
std::vector<Bf16> oracle(const Args& args);

void tensor_core(const Args& args, Stream stream);  // CUDA: mma.sync m16n8k16, 64x64 blocks
void cpu(const Args& args, Stream stream);          // CPU: the same tiles and tree, ascending inside a tile

inline constexpr Variant<Args> variants[] = {
#ifdef STRICTBENCH_HAS_CUDA
    {"control", Device::cuda, tensor_core},
#endif
    {"control", Device::cpu, cpu},
};

}  // namespace strictbench::tile_tree_gemm
