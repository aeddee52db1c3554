/// tuned, up to 32 tokens: each thread keeps its columns of X in registers and streams down the rows of dW, 8
/// or 16 bytes a store.
///
/// Up to 8 tokens the stores bound it: 100 MB at Qwen3-8B sizes. All blocks at work at one time should write
/// to one stretch of memory, so each takes few rows: enough to pay for its columns of X, no more. Above, the
/// multiply-adds do: there a block stays with its columns and has the next factors of dY under way, so that
/// nothing but the loop runs.
///
/// Tried and did not pay (H200, 12288 x 4096, 31 tokens: 73 us): tiles of 8 x 8 sums a thread from shared
/// memory (100 us: four reads in 64 multiply-adds, and a barrier a tile), a block for 64 or 128 rows (85,
/// 82), less unrolling (77), factors read a row ahead (82), more threads with fewer columns each (88).
/// Without its stores the loop is no faster, without its reads of shared memory 20 % (64 us).
#include <algorithm>

#include "kernels/dw_gemm/exact_products.h"

namespace strictbench::dw_gemm {
namespace {

constexpr int few_threads = 128;
/// Of dW, by one block.
template <int most>
inline constexpr int few_rows = most <= 4 ? 16 : 32;  // as in most_streamed_rows()

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

// 9 to 32 tokens -----------------------------------------------------------------------------------------

/// Each thread's columns of X, of up to `most` tokens: 128 numbers in registers.
template <int most>
inline constexpr int walk_columns = 128 / most;
constexpr int walk_blocks = 2;  // of a multiprocessor
constexpr int chunk = 64;       // rows of dW whose factors are staged at once

/// A chunk of dY on the way to shared memory: a token's factors of a row side by side, four a read.
template <int most>
struct Chunk {
  static constexpr int pieces = chunk / 8 * most;
  static constexpr int each = (pieces + few_threads - 1) / few_threads;
  Eight held[each];

  __device__ void load(const std::uint16_t* dy, const Shape& shape, std::int64_t o0, std::int64_t last) {
#pragma unroll
    for (int k = 0; k < each; ++k) {
      const int e = static_cast<int>(threadIdx.x) + k * few_threads;
      const int t = e % most;  // neighbours write to neighbouring banks
      const std::int64_t o = o0 + e / most * 8;
      held[k] = load_eight<true>(dy + t * shape.out + o, t < shape.tokens && e < pieces ? last - o : 0);
    }
  }
  __device__ void put(float (*to)[most], Range& range) const {
    Range seen;
#pragma unroll
    for (int k = 0; k < each; ++k) {
      const int e = static_cast<int>(threadIdx.x) + k * few_threads;
      if (pieces % few_threads != 0 && e >= pieces) continue;
      seen.add(held[k]);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        to[e / most * 8 + 2 * i][e % most] = low(held[k].pairs[i]);
        to[e / most * 8 + 2 * i + 1][e % most] = high(held[k].pairs[i]);
      }
    }
    seen.add_to(range);
  }
};

/// Blocks share the rows of dW evenly, each a stretch of them; what comes next of dY is under way meanwhile.
template <int most>
__global__ void __launch_bounds__(few_threads, walk_blocks)
    walk_down(Shape shape, const std::uint16_t* x, const std::uint16_t* dy, std::uint16_t* dw) {
  constexpr int columns = walk_columns<most>;
  __shared__ __align__(16) float dy_rows[2][chunk][most];
  __shared__ Range dy_ranges[3];  // one more, so that none is begun while a slow warp still looks at it
  const std::int64_t i0 = (std::int64_t{blockIdx.x} * few_threads + threadIdx.x) * columns;
  const std::int64_t first = shape.out * blockIdx.y / gridDim.y / 8 * 8;
  const std::int64_t last =
      blockIdx.y + 1 == gridDim.y ? shape.out : shape.out * (blockIdx.y + 1) / gridDim.y / 8 * 8;
  const bool inside = i0 < shape.in;

  Chunk<most> next;
  next.load(dy, shape, first, last);
  Pack<columns> packs[most];
#pragma unroll
  for (int t = 0; t < most; ++t) {
    packs[t] = {};
    if (t < shape.tokens && inside) packs[t] = *reinterpret_cast<const Pack<columns>*>(x + t * shape.in + i0);
  }
  if (threadIdx.x < 3) dy_ranges[threadIdx.x] = Range{};
  __syncthreads();
  next.put(dy_rows[0], dy_ranges[0]);
  float held[most][columns];
  Range x_range;
#pragma unroll
  for (int t = 0; t < most; ++t) {
    x_range.add(packs[t]);
#pragma unroll
    for (int i = 0; i < columns / 2; ++i) {
      held[t][2 * i] = low(packs[t].pairs[i]);
      held[t][2 * i + 1] = high(packs[t].pairs[i]);
    }
  }
  int slot = 0;
  int range = 0;
  for (std::int64_t o0 = first; o0 < last; o0 += chunk) {
    const int next_range = range == 2 ? 0 : range + 1;
    __syncthreads();
    if (threadIdx.x == 0) dy_ranges[next_range == 2 ? 0 : next_range + 1] = Range{};
    const bool more = o0 + chunk < last;
    if (more) next.load(dy, shape, o0 + chunk, last);
    const int rows = static_cast<int>(min(last - o0, std::int64_t{chunk}));
    std::uint16_t* to = dw + o0 * shape.in + i0;
    const auto sum_rows = [&]<bool fused>() {
#pragma unroll 4
      for (int row = 0; row < rows; ++row, to += shape.in) {
        float acc[columns] = {};
#pragma unroll
        for (int four = 0; four < most; four += 4) {
          const float4 read = *reinterpret_cast<const float4*>(&dy_rows[slot][row][four]);
          const float factors[] = {read.x, read.y, read.z, read.w};
#pragma unroll
          for (int t = 0; t < 4; ++t)
#pragma unroll
            for (int i = 0; i < columns; ++i)
              acc[i] = fused ? __fmaf_rn(factors[t], held[four + t][i], acc[i])
                             : __fadd_rn(acc[i], __fmul_rn(factors[t], held[four + t][i]));
        }
        Pack<columns> sum;
#pragma unroll
        for (int i = 0; i < columns / 2; ++i) sum.pairs[i] = rounded_pair(acc[2 * i], acc[2 * i + 1]);
        if (inside) *reinterpret_cast<Pack<columns>*>(to) = sum;
      }
    };
    products_are_exact(x_range, dy_ranges[range]) ? sum_rows.template operator()<true>()
                                                  : sum_rows.template operator()<false>();
    if (more) next.put(dy_rows[slot ^ 1], dy_ranges[next_range]);
    slot ^= 1;
    range = next_range;
  }
}

// Launches -----------------------------------------------------------------------------------------------

template <int tokens>
void launch_walk_down(const Args& args, Stream stream) {
  int device = 0;
  int multiprocessors = 0;
  cuda_check(cudaGetDevice(&device));
  cuda_check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  const unsigned across = grid_blocks(args.shape.in, few_threads * walk_columns<tokens>, grid_x,
                                      "dw_gemm: shape.in must fit a grid");
  const std::int64_t down =
      std::clamp<std::int64_t>(multiprocessors * walk_blocks / across, 1, ceil_div(args.shape.out, 8));
  launch(walk_down<tokens>, dim3(across, static_cast<unsigned>(std::min<std::int64_t>(down, 65535))),
         few_threads, 0, args, stream);
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
          "dw_gemm: the streaming variant takes shape.tokens of at most 32 and rows of whole 16-byte pieces");
  require(args.shape.out <= most_streamed_rows(args.shape.tokens),
          "dw_gemm: the streaming variant takes shape.out of at most 1048560 for 4 tokens, 2097120 for 8");
  if (args.shape.tokens <= 1) return launch_few<1>(args, stream);
  if (args.shape.tokens <= 2) return launch_few<2>(args, stream);
  if (args.shape.tokens <= 4) return launch_few<4>(args, stream);
  if (args.shape.tokens <= 8) return launch_few<8>(args, stream);
  if (args.shape.tokens <= 16) return launch_walk_down<16>(args, stream);
  launch_walk_down<32>(args, stream);
}

}  // namespace strictbench::dw_gemm
