/// control: one block of 128 threads per 64x64 tile of C, each of its four warps 32x32 by mma.sync m16n8k16.
///
/// Each 32 of K are staged in shared memory and multiplied between two barriers, with nothing in flight
/// meanwhile: the latency of global memory bounds it, tile after tile, and no attempt is made to hide it but
/// by other blocks. Sums that wait for their right half stand on a stack in local memory, 64 bytes a level
/// and thread.
#include <cuda_bf16.h>

#include "kernels/common/cuda_error.h"
#include "kernels/common/require.h"
#include "kernels/tile_tree_gemm/tile_tree_gemm.h"

namespace strictbench::tile_tree_gemm {
namespace {

constexpr int threads = 128;
constexpr int edge = 64;       // of a block's tile of C
constexpr int warp_edge = 32;  // of a warp's part of it
constexpr int m_tiles = warp_edge / 16;
constexpr int n_tiles = warp_edge / 8;
constexpr int k_pairs = tile_k / 2;
/// Words of a staged row: 16 pairs of k and 4 of padding, so that the eight rows of a fragment start 20 banks
/// apart and its 32 words lie in 32 banks, and 16-byte stores stay aligned.
constexpr int pitch = k_pairs + 4;

/// A, or the transpose of B: `rows` rows of k. One of its two directions is contiguous, `stride` is the
/// other's.
struct Side {
  const std::uint16_t* data;
  std::int64_t rows;
  std::int64_t stride;
  bool vectors;  ///< eight elements that start at a multiple of eight may be loaded as one 16-byte word
};

using Staged = std::uint32_t[edge][pitch];  // a word is two neighbours in k, the lower k in the lower half

/// Eight bf16 numbers; zeros from `count` on.
struct alignas(16) Eight {
  std::uint32_t pairs[4];
};

__device__ Eight load_eight(const std::uint16_t* from, int count, bool vectors) {
  if (vectors && count == 8) return *reinterpret_cast<const Eight*>(from);
  Eight eight{};
#pragma unroll
  for (int i = 0; i < 8; ++i)
    if (i < count) eight.pairs[i / 2] |= std::uint32_t{from[i]} << (16 * (i % 2));
  return eight;
}

/// Stages rows [row, row + 64) of k [k, k + 32), zeros past the last row. Warps read whole sectors either
/// way.
template <bool k_contiguous>
__device__ void stage(Staged& to, const Side& from, std::int64_t row, std::int64_t k) {
  const int thread = static_cast<int>(threadIdx.x);
  if constexpr (k_contiguous) {
    constexpr int pieces = k_pairs / 4;
    for (int e = thread; e < edge * pieces; e += threads) {
      const int r = e / pieces;
      const int piece = e % pieces;
      const std::uint16_t* const at = from.data + (row + r) * from.stride + k + piece * 8;
      const int count = row + r < from.rows ? 8 : 0;
      *reinterpret_cast<Eight*>(&to[r][piece * 4]) = load_eight(at, count, from.vectors);
    }
  } else {
    // A pair of k and eight rows for each thread: two loads, and a word to each of the eight rows.
    static_assert(threads == k_pairs * (edge / 8));
    const int pair = thread % k_pairs;
    const int r = thread / k_pairs * 8;
    const std::int64_t rows_left = from.rows - row - r;
    const int count = rows_left >= 8 ? 8 : rows_left > 0 ? static_cast<int>(rows_left) : 0;
    const std::uint16_t* const at = from.data + (k + 2 * pair) * from.stride + row + r;
    const Eight lower = load_eight(at, count, from.vectors);
    const Eight upper = load_eight(at + from.stride, count, from.vectors);
#pragma unroll
    for (int i = 0; i < 8; i += 2) {
      to[r + i][pair] = __byte_perm(lower.pairs[i / 2], upper.pairs[i / 2], 0x5410);      // both lower halves
      to[r + i + 1][pair] = __byte_perm(lower.pairs[i / 2], upper.pairs[i / 2], 0x7632);  // both upper halves
    }
  }
}

/// d += a * b for one 16x16 fragment of A and one 16x8 fragment of B.
__device__ void mma(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/// A warp's part of the block's tile, and where lane 4g + t stands in a fragment: in one of C it holds
/// columns 2t and 2t + 1 of rows g and g + 8; in one of A, or of B as [n][k], these and further ones of k.
struct Place {
  int row;
  int col;
  int g;
  int t;
};

__device__ Place place() {
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  return {.row = warp / 2 * warp_edge, .col = warp % 2 * warp_edge, .g = lane / 4, .t = lane % 4};
}

/// A thread's 32 elements of C.
struct Sums {
  __nv_bfloat162 pairs[m_tiles][n_tiles][2];  ///< the last index: row g, row g + 8
};

/// One tile of K: from zero in fp32 through two steps of 16, then one rounding.
__device__ Sums sum_tile(const Staged& a_tile, const Staged& b_tile, const Place& at) {
  float acc[m_tiles][n_tiles][4] = {};
#pragma unroll
  for (int step = 0; step < k_pairs; step += 8) {
    std::uint32_t a[m_tiles][4];
    std::uint32_t b[n_tiles][2];
#pragma unroll
    for (int i = 0; i < m_tiles; ++i)
#pragma unroll
      for (int part = 0; part < 4; ++part)  // row g, row g + 8, then both again eight further in k
        a[i][part] = a_tile[at.row + 16 * i + at.g + part % 2 * 8][step + part / 2 * 4 + at.t];
#pragma unroll
    for (int j = 0; j < n_tiles; ++j)
#pragma unroll
      for (int part = 0; part < 2; ++part) b[j][part] = b_tile[at.col + 8 * j + at.g][step + part * 4 + at.t];
#pragma unroll
    for (int i = 0; i < m_tiles; ++i)
#pragma unroll
      for (int j = 0; j < n_tiles; ++j) mma(acc[i][j], a[i], b[j]);
  }
  Sums sums;
#pragma unroll
  for (int i = 0; i < m_tiles; ++i)
#pragma unroll
    for (int j = 0; j < n_tiles; ++j)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        sums.pairs[i][j][half] = __floats2bfloat162_rn(acc[i][j][2 * half], acc[i][j][2 * half + 1]);
  return sums;
}

__device__ __nv_bfloat16 add(__nv_bfloat16 left, __nv_bfloat16 right) {
  return __float2bfloat16_rn(__fadd_rn(__bfloat162float(left), __bfloat162float(right)));
}

/// right = left + right, rounded to bf16.
__device__ void join(const Sums& left, Sums& right) {
#pragma unroll
  for (int i = 0; i < m_tiles; ++i)
#pragma unroll
    for (int j = 0; j < n_tiles; ++j)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const __nv_bfloat162 l = left.pairs[i][j][half];
        __nv_bfloat162& r = right.pairs[i][j][half];
        r = __halves2bfloat162(add(l.x, r.x), add(l.y, r.y));
      }
}

template <bool a_k_contiguous, bool b_k_contiguous>
__global__ void __launch_bounds__(threads)
    tile_tree(Side a, Side b, int tiles, __nv_bfloat16* c, bool paired_stores) {
  __shared__ alignas(16) Staged a_tile;
  __shared__ alignas(16) Staged b_tile;
  const std::int64_t first_row = std::int64_t{blockIdx.y} * edge;
  const std::int64_t first_col = std::int64_t{blockIdx.x} * edge;
  const Place at = place();

  Sums waiting[max_levels];
  int depth = 0;
  Sums sums;
  for (int tile = 0; tile < tiles; ++tile) {
    stage<a_k_contiguous>(a_tile, a, first_row, tile * tile_k);
    stage<b_k_contiguous>(b_tile, b, first_col, tile * tile_k);
    __syncthreads();
    sums = sum_tile(a_tile, b_tile, at);
    __syncthreads();  // before the next tile overwrites this one
    for (int left = sums_after(tile, tiles); left > 0; --left) join(waiting[--depth], sums);
    if (tile + 1 < tiles) waiting[depth++] = sums;
  }

#pragma unroll
  for (int i = 0; i < m_tiles; ++i)
#pragma unroll
    for (int j = 0; j < n_tiles; ++j)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const std::int64_t row = first_row + at.row + 16 * i + at.g + 8 * half;
        const std::int64_t col = first_col + at.col + 8 * j + 2 * at.t;
        __nv_bfloat16* const to = c + row * b.rows + col;
        const __nv_bfloat162 pair = sums.pairs[i][j][half];
        if (paired_stores && col + 1 < b.rows) {
          *reinterpret_cast<__nv_bfloat162*>(to) = pair;
        } else {
          if (col < b.rows) to[0] = pair.x;
          if (col + 1 < b.rows) to[1] = pair.y;
        }
      }
}

bool multiple_of(const void* data, std::uintptr_t bytes) {
  return reinterpret_cast<std::uintptr_t>(data) % bytes == 0;
}

Side side(const Bf16* data, std::int64_t rows, std::int64_t stride) {
  return {.data = reinterpret_cast<const std::uint16_t*>(data),
          .rows = rows,
          .stride = stride,
          .vectors = multiple_of(data, 16) && stride % 8 == 0};
}

}  // namespace

void tensor_core(const Args& args, Stream stream) {
  validate(args);
  const auto& [m, n, k, a, b, c] = args;
  const dim3 grid(grid_blocks(n, edge, grid_x, "tile_tree_gemm: n must fit a grid"),
                  grid_blocks(m, edge, grid_y, "tile_tree_gemm: m must fit a grid"));
  const bool a_k_contiguous = a.col_stride == 1;
  const bool b_k_contiguous = b.row_stride == 1;
  const auto kernel = a_k_contiguous ? (b_k_contiguous ? tile_tree<true, true> : tile_tree<true, false>)
                                     : (b_k_contiguous ? tile_tree<false, true> : tile_tree<false, false>);
  kernel<<<grid, threads, 0, stream>>>(side(a.data, m, a_k_contiguous ? a.row_stride : a.col_stride),
                                       side(b.data, n, b_k_contiguous ? b.col_stride : b.row_stride),
                                       static_cast<int>(k / tile_k), reinterpret_cast<__nv_bfloat16*>(c),
                                       n % 2 == 0 && multiple_of(c, sizeof(__nv_bfloat162)));
  check_launch();
}

}  // namespace strictbench::tile_tree_gemm
