/// tuned: tiles of dW whose operands stand in shared memory as fp32; each thread keeps 4 or 8 rows of 8
/// neighbouring elements in registers and stores 16 bytes at once. Up to 32 tokens of whole 16-byte pieces,
/// where a grid holds their rows, stream_rows.cu does it.
///
/// The multiply-adds bound it. A product of two bf16 numbers is exact in fp32 unless it under- or overflows,
/// and an exact product may be fused with the add behind it. So every block looks at the largest and the
/// smallest numbers that it stages, and takes separate products only where some pair of them could leave the
/// range.
///
/// Tokens go leaf by leaf through the K-tree, whatever their number: sums that wait for their right half
/// stand on a stack in local memory, touched once in 32 tokens.

#include "kernels/common/store_words.h"
#include "kernels/dw_gemm/exact_products.h"

namespace strictbench::dw_gemm {
namespace {

constexpr int threads = 256;
constexpr int lanes = 16;  // threads along a row and along a column of the tile
constexpr int width = lanes * run;

// Staging ------------------------------------------------------------------------------------------------

/// How eight neighbours lie in shared memory: side by side, or as fours in the two halves of a row, so that
/// lanes that each read eight read from neighbouring banks.
enum class Lie { adjacent, halves };

template <Lie lie, int columns>
__device__ void put_eight(float (&row)[columns], int piece, const Eight& eight) {
  float4* const fours = reinterpret_cast<float4*>(row);
  const auto& pairs = eight.pairs;
  const int first = lie == Lie::halves ? piece : 2 * piece;
  const int second = lie == Lie::halves ? piece + columns / 8 : first + 1;
  fours[first] = {low(pairs[0]), high(pairs[0]), low(pairs[1]), high(pairs[1])};
  fours[second] = {low(pairs[2]), high(pairs[2]), low(pairs[3]), high(pairs[3])};
}

/// A block's share of columns [first, first + columns) of up to 32 tokens, on the way to shared memory.
template <Lie lie, int columns, bool vectors>
struct Staging {
  static constexpr int pieces = columns / 8;
  static constexpr int most = (static_cast<int>(leaf_tokens) * pieces + threads - 1) / threads;
  Eight held[most];

  __device__ void load(const std::uint16_t* from, int tokens, std::int64_t cols, std::int64_t first) {
#pragma unroll
    for (int k = 0; k < most; ++k) {
      const int e = static_cast<int>(threadIdx.x) + k * threads;
      const std::int64_t c = first + e % pieces * 8;
      if (e < tokens * pieces) held[k] = load_eight<vectors>(from + e / pieces * cols + c, cols - c);
    }
  }
  __device__ void put(float (*to)[columns], Range& range, int tokens) const {
    Range seen;
#pragma unroll
    for (int k = 0; k < most; ++k) {
      const int e = static_cast<int>(threadIdx.x) + k * threads;
      if (e >= tokens * pieces) continue;
      put_eight<lie>(to[e / pieces], e % pieces, held[k]);
      seen.add(held[k]);
    }
    seen.add_to(range);
  }
};

/// A warp is 8 threads wide and 4 high: what one of its reads from shared memory touches is 128 bytes at
/// most.
__device__ int column_lane() {
  return static_cast<int>(threadIdx.x) % 8 + static_cast<int>(threadIdx.x) / 32 % 2 * 8;
}
__device__ int row_lane() {
  return static_cast<int>(threadIdx.x) % 32 / 8 + static_cast<int>(threadIdx.x) / 64 * 4;
}

// Sums ---------------------------------------------------------------------------------------------------

/// One leaf: the thread's rows from `row` on, its columns from `column` on, x with halves apart.
template <bool fused, int rows>
__device__ void sum_products(const float (*x_rows)[width], const float (*dy_rows)[lanes * rows], int tokens,
                             int row, int column, float (&acc)[rows][run]) {
#pragma unroll
  for (int o = 0; o < rows; ++o)
#pragma unroll
    for (int i = 0; i < run; ++i) acc[o][i] = 0.0f;
#pragma unroll 2
  for (int t = 0; t < tokens; ++t) {
    float x[run];
    float dy[rows];
#pragma unroll
    for (int i = 0; i < run; i += 4)
      *reinterpret_cast<float4*>(&x[i]) =
          *reinterpret_cast<const float4*>(&x_rows[t][column / 2 + i / 4 * (width / 2)]);
#pragma unroll
    for (int o = 0; o < rows; o += 4)
      *reinterpret_cast<float4*>(&dy[o]) = *reinterpret_cast<const float4*>(&dy_rows[t][row + o]);
#pragma unroll
    for (int o = 0; o < rows; ++o)
#pragma unroll
      for (int i = 0; i < run; ++i)
        acc[o][i] = fused ? __fmaf_rn(dy[o], x[i], acc[o][i]) : __fadd_rn(acc[o][i], __fmul_rn(dy[o], x[i]));
  }
}

template <int rows>
__device__ void sum_leaf(const float (*x)[width], const Range& x_range, const float (*dy)[lanes * rows],
                         const Range& dy_range, int tokens, int row, int column, Eight (&sum)[rows]) {
  float acc[rows][run];
  if (products_are_exact(x_range, dy_range))
    sum_products<true, rows>(x, dy, tokens, row, column, acc);
  else
    sum_products<false, rows>(x, dy, tokens, row, column, acc);
#pragma unroll
  for (int o = 0; o < rows; ++o)
#pragma unroll
    for (int i = 0; i < 4; ++i) sum[o].pairs[i] = rounded_pair(acc[o][2 * i], acc[o][2 * i + 1]);
}

template <bool vectors, int rows>
__device__ void store(const Shape& shape, std::uint16_t* dw, std::int64_t o0, std::int64_t i0,
                      const Eight (&sum)[rows]) {
  const std::int64_t left = shape.in - i0;
  std::uint16_t* to = dw + o0 * shape.in + i0;
#pragma unroll
  for (int o = 0; o < rows; ++o, to += shape.in) {
    if (o0 + o >= shape.out) break;
    if constexpr (vectors) {
      if (left > 0) store_words(to, sum[o].pairs);
    } else {
#pragma unroll
      for (int i = 0; i < run; ++i)
        if (i < left) to[i] = static_cast<std::uint16_t>(sum[o].pairs[i / 2] >> (16 * (i % 2)));
    }
  }
}

// The K-tree ---------------------------------------------------------------------------------------------

/// `levels`: how many sums may wait for their right half.
template <int levels, int rows, bool vectors>
__global__ void __launch_bounds__(threads, rows == 4 ? 3 : 2)
    climb_tree(Shape shape, const std::uint16_t* x, const std::uint16_t* dy, std::uint16_t* dw) {
  constexpr int height = lanes * rows;
  __shared__ __align__(16) float x_rows[leaf_tokens][width];
  __shared__ __align__(16) float dy_rows[leaf_tokens][height];
  __shared__ Range x_range;
  __shared__ Range dy_range;
  const int column = column_lane() * run;
  const int row = row_lane() * rows;
  const std::int64_t i0 = std::int64_t{blockIdx.x} * width;
  const std::int64_t o0 = std::int64_t{blockIdx.y} * height;
  Eight waiting[levels][rows];
  int depth = 0;
  Eight sum[rows];
  for (std::int64_t first = 0; first < shape.tokens;) {
    const Leaf leaf = leaf_of(first, shape.tokens);
    const int tokens = static_cast<int>(leaf.last - leaf.first);
    Staging<Lie::halves, width, vectors> next_x;
    Staging<Lie::adjacent, height, vectors> next_dy;
    next_x.load(x + first * shape.in, tokens, shape.in, i0);
    next_dy.load(dy + first * shape.out, tokens, shape.out, o0);
    __syncthreads();  // everyone is done with the leaf before
    if (threadIdx.x == 0) x_range = dy_range = Range{};
    __syncthreads();
    next_x.put(x_rows, x_range, tokens);
    next_dy.put(dy_rows, dy_range, tokens);
    __syncthreads();
    sum_leaf<rows>(x_rows, x_range, dy_rows, dy_range, tokens, row, column, sum);
    for (int s = 0; s < leaf.sums_after; ++s) {
      --depth;
#pragma unroll
      for (int o = 0; o < rows; ++o)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const std::uint32_t left = waiting[depth][o].pairs[i];
          const std::uint32_t right = sum[o].pairs[i];
          sum[o].pairs[i] =
              rounded_pair(__fadd_rn(low(left), low(right)), __fadd_rn(high(left), high(right)));
        }
    }
    first = leaf.last;
    if (first == shape.tokens) break;
#pragma unroll
    for (int o = 0; o < rows; ++o) waiting[depth][o] = sum[o];
    ++depth;
  }
  store<vectors>(shape, dw, o0 + row, i0 + column, sum);
}

// Launches -----------------------------------------------------------------------------------------------

template <int levels, int rows, bool vectors>
void launch_tree(const Args& args, Stream stream) {
  const dim3 grid(grid_blocks(args.shape.in, width, grid_x, "dw_gemm: shape.in must fit a grid"),
                  grid_blocks(args.shape.out, lanes * rows, grid_y, "dw_gemm: shape.out must fit a grid"));
  launch(climb_tree<levels, rows, vectors>, grid, threads, 0, args, stream);
}

constexpr int shallow = 3;  // levels
constexpr int deep = 16;

template <bool vectors>
void launch_tiles(const Args& args, Stream stream) {
  const std::int64_t tokens = args.shape.tokens;
  if (tokens <= leaf_tokens << shallow) return launch_tree<shallow, 8, vectors>(args, stream);
  launch_tree<deep, 4, vectors>(args, stream);  // half the rows, for half the local memory that sums wait in
}

}  // namespace

void register_tiles(const Args& args, Stream stream) {
  validate(args);
  require(args.shape.tokens <= leaf_tokens << deep,
          "dw_gemm: the tuned variant takes shape.tokens of at most 2097152");
  if (!takes_vectors(args)) return launch_tiles<false>(args, stream);
  if (args.shape.tokens <= streamed_tokens && args.shape.out <= most_streamed_rows(args.shape.tokens))
    return stream_rows(args, stream);
  launch_tiles<true>(args, stream);
}

}  // namespace strictbench::dw_gemm
