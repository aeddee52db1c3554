/// tuned: one launch of three kinds of blocks. Long runs of equal ids go strip by strip of 32 columns through
/// a ring in shared memory (kernels/common/strip_fold.h); a warp takes the short ones of a window of the
/// order, 12 rows under way whichever run they belong to; for the whole backward the rest of the blocks zero
/// the rows that no id names, and a first part of the table is zeroed while the sort runs.
///
/// A hot id is a chain of adds of 4 cycles each, so it must be spread over the chip and kept fed; all other
/// rows are bounded by memory. No row behind the first part is written twice. The whole sorts 32-bit pairs by
/// the bits that an id of this vocabulary can have.
///
/// Tried and did not pay (H200, bf16; us at hidden 4096 where no other is named, by ten launches in a graph).
/// Short runs:
/// - rows through shared memory by cp.async: 32,768 distinct ids took 166 instead of 144;
/// - 8 rows under way and five blocks a multiprocessor: 4,096 ids by Zipf at hidden 1024 9.0 instead of 8.3,
///   distinct ids 2 % faster; 16 rows: no faster with four blocks, 32,768 by Zipf 121 instead of 111 with
///   three.
///
/// Long runs, the first four lines beside a ring not yet aligned (115 for 32,768 equal ids, 116 by Zipf):
/// - a launch of its own beside the short ones, by programmatic dependent launch: equal ids 96, but 6 instead
///   of 4 for 512 and 125 by Zipf: what is fast for a chain, a ring of 128 KB, leaves others no cache;
/// - bulk copies of 64 bytes a row: equal ids 355; 256 threads: 117;
/// - all copying warps on one stage: equal ids 144, though 512 of them 5.6 instead of 6.1;
/// - stages begun before the end of the run is known: no change;
/// - the first stage by all copying warps: 4 % slower; rows fetched to the L2 ahead: 2 % slower;
/// - batches of 64 rows: 13 % slower; a ring of 64 KB: by Zipf 20 % slower.
///
/// A search for every row to zero did not pay either: its reads outweigh the writes.
#include <algorithm>
#include <limits>
#include <optional>

#include "kernels/common/cuda_error.h"
#include "kernels/common/require.h"
#include "kernels/common/side_stream.h"
#include "kernels/embedding_backward/dispatch.h"
#include "kernels/embedding_backward/long_runs.h"
#include "kernels/embedding_backward/short_runs.h"

namespace strictbench::embedding_backward {
namespace {

constexpr std::int64_t zeroed_bytes = std::int64_t{64} << 10;  // of the table, by one block
constexpr int most_zeroed_rows = 32;
constexpr std::int64_t long_run_blocks = 256;  // or nearly, where there are so many boundaries
constexpr std::int64_t zeroed_while_sorting = std::int64_t{128} << 20;  // bytes
constexpr std::int64_t few_tokens = 8192;  // whose sort takes a quarter of the time

// Rows that no id names ----------------------------------------------------------------------------------

/// Zeroes those of `rows` rows of dweight from `first` on.
template <class Grad, class Weight, class Index>
__device__ void zero_unused_rows(const Job<Grad, Weight, Index>& job, std::int64_t first, int rows) {
  __shared__ std::int64_t range[2];  // of places, where their ids could stand
  __shared__ bool used[most_zeroed_rows];
  const int warp = static_cast<int>(threadIdx.x) / 32;
  if (warp < 2) {
    const std::int64_t row = warp == 0 ? first : first + rows;
    const std::int64_t place = first_not<2>(job.ids, 0, job.shape.tokens,
                                            [&](Index id) { return static_cast<std::int64_t>(id) < row; });
    if (threadIdx.x % 32 == 0) range[warp] = place;
  }
  __syncthreads();
  if (static_cast<int>(threadIdx.x) < rows) {
    const std::int64_t row = first + threadIdx.x;
    std::int64_t low = range[0];
    std::int64_t high = range[1];
    while (low < high) {
      const std::int64_t mid = low + (high - low) / 2;
      if (static_cast<std::int64_t>(job.ids[mid]) < row)
        low = mid + 1;
      else
        high = mid;
    }
    used[threadIdx.x] = low < range[1] && static_cast<std::int64_t>(job.ids[low]) == row;
  }
  __syncthreads();
  const std::int64_t row_pieces = job.shape.hidden * static_cast<std::int64_t>(sizeof(Weight)) / 16;
  for (int r = 0; r < rows && first + r < job.shape.vocab; ++r) {
    if (used[r]) continue;
    uint4* const row = reinterpret_cast<uint4*>(job.dweight + (first + r) * job.shape.hidden);
    for (std::int64_t i = threadIdx.x; i < row_pieces; i += threads) row[i] = uint4{0, 0, 0, 0};
  }
}

// The launch ---------------------------------------------------------------------------------------------

/// How many blocks of each kind, in this order: long runs first, since they may take longest.
struct Blocks {
  unsigned long_runs;   // strips x groups
  unsigned strips;      // of a row
  unsigned groups;      // of boundaries
  unsigned short_runs;  // windows x columns' parts
  unsigned parts;
  int window;       // places, of a block of short runs
  int zeroed_rows;  // by a block of the third kind
};

struct Plan {
  Blocks blocks;
  unsigned grid;
  std::int64_t zeros_from;  // rows from here on are zeroed where no id names them
};

template <class Grad, class Weight, class Index>
__global__ void __launch_bounds__(threads, 4)
    add_runs(const __grid_constant__ Job<Grad, Weight, Index> job, const __grid_constant__ Blocks blocks) {
  extern __shared__ __align__(strip::line_bytes) unsigned char memory[];
  unsigned block = blockIdx.x;
  if (block < blocks.long_runs) {
    const unsigned group = block / blocks.strips;
    return fold_long_runs(job, *reinterpret_cast<Ring<Grad>*>(memory), block - group * blocks.strips, group,
                          blocks.groups);
  }
  block -= blocks.long_runs;
  if (block < blocks.short_runs) {
    const unsigned window = block / blocks.parts;
    const std::int64_t column =
        std::int64_t{(block - window * blocks.parts) * (threads / 32) + threadIdx.x / 32} *
        warp_columns<Grad>;
    if (column < job.shape.hidden)
      add_short_runs(job, std::int64_t{window} * blocks.window, blocks.window, column);
    return;
  }
  zero_unused_rows(job, job.zeroed + std::int64_t{block - blocks.short_runs} * blocks.zeroed_rows,
                   blocks.zeroed_rows);
}

/// None where a grid does not hold the blocks.
template <class Grad, class Weight>
std::optional<Plan> plan(const Shape& shape, std::int64_t zeros_from) {
  const auto& [tokens, vocab, hidden] = shape;
  const std::int64_t strips = ceil_div(hidden, strip::columns);
  const std::int64_t parts = ceil_div(hidden, threads / 32 * warp_columns<Grad>);
  const int window = tokens <= 128 ? 4 : tokens <= 8192 / parts ? 9 : 2 * depth;  // the best of 3 to 28
  const std::int64_t looks = tokens > long_run ? ceil_div(tokens, long_run) : 0;
  const auto groups =
      std::max<std::int64_t>(ceil_div(looks, boundaries), std::min(looks, long_run_blocks / strips));
  const std::int64_t windows = ceil_div(tokens, window);
  const std::int64_t row_bytes = hidden * static_cast<std::int64_t>(sizeof(Weight));
  const auto zeroed_rows =
      static_cast<int>(std::clamp<std::int64_t>(zeroed_bytes / row_bytes, 1, most_zeroed_rows));
  const std::int64_t zeros = ceil_div(vocab - zeros_from, zeroed_rows);
  // By division first: hidden may be so large that the products overflow.
  const auto fits = [](std::int64_t a, std::int64_t b) { return a == 0 || b <= grid_x / a; };
  if (!fits(groups, strips) || !fits(windows, parts) || zeros > grid_x ||
      groups * strips + windows * parts + zeros > grid_x)
    return std::nullopt;
  return Plan{.blocks = {.long_runs = static_cast<unsigned>(groups * strips),
                         .strips = static_cast<unsigned>(strips),
                         .groups = static_cast<unsigned>(groups),
                         .short_runs = static_cast<unsigned>(windows * parts),
                         .parts = static_cast<unsigned>(parts),
                         .window = window,
                         .zeroed_rows = zeroed_rows},
              .grid = static_cast<unsigned>(groups * strips + windows * parts + zeros),
              .zeros_from = zeros_from};
}

/// 16-byte pieces of rows, and counts of rows in int: else the plain walk does it.
template <class Grad, class Weight>
bool cuts_evenly(const Args& args) {
  const auto aligned = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p) % 16 == 0; };
  constexpr std::int64_t n = std::max(piece<Grad>, static_cast<int>(16 / sizeof(Weight)));
  return args.shape.hidden % n == 0 && args.grad_stride % n == 0 && aligned(args.grad.data) &&
         aligned(args.dweight.data) && args.shape.tokens < (std::int64_t{1} << 30);
}

/// What a launch needs, or none where the plain walk must do it.
std::optional<Plan> plan(const Args& args, std::int64_t zeros_from) {
  std::optional<Plan> planned;
  with_types(args, [&]<class Id, class Grad, class Weight>() {
    if (cuts_evenly<Grad, Weight>(args)) planned = plan<Grad, Weight>(args.shape, zeros_from);
  });
  return planned;
}

/// ids and positions: sorted, [tokens].
template <class Grad, class Weight, class Index>
void launch(const Args& args, const Plan& planned, const Index* ids, const Index* positions, Stream stream) {
  const auto kernel = add_runs<Grad, Weight, Index>;
  constexpr int bytes = sizeof(Ring<Grad>);
  cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  kernel<<<planned.grid, threads, bytes, stream>>>({.shape = args.shape,
                                                    .ids = ids,
                                                    .positions = positions,
                                                    .grad = args.grad.as<Grad>(),
                                                    .grad_stride = args.grad_stride,
                                                    .dweight = args.dweight.as<Weight>(),
                                                    .zeroed = planned.zeros_from},
                                                   planned.blocks);
  check_launch();
}

}  // namespace

void hot_and_cold_runs(const Args& args, Stream stream) {
  validate_sorted(args);
  const auto& [tokens, vocab, hidden] = args.shape;
  if (tokens == 0 || vocab == 0 || hidden == 0) return;
  const std::optional<Plan> planned = plan(args, vocab);
  if (!planned) return sorted_segments(args, stream);
  with_types(args, [&]<class Id, class Grad, class Weight>() {
    launch<Grad, Weight>(args, *planned, args.sorted.ids, args.sorted.positions, stream);
  });
}

void hot_and_cold_whole(const Args& args, Stream stream) {
  validate_sort(args, nullptr);
  const auto& [tokens, vocab, hidden] = args.shape;
  if (tokens == 0 || vocab == 0 || hidden == 0 || vocab >= std::numeric_limits<std::uint32_t>::max())
    return sorted_whole(args, stream);
  // Zeroing needs no order where a row may be written twice: what memory does while ids are sorted is free.
  const std::int64_t row_bytes = hidden * static_cast<std::int64_t>(size_of(args.dweight.dtype));
  const std::int64_t bytes = tokens <= few_tokens ? zeroed_while_sorting / 4 : zeroed_while_sorting;
  const std::int64_t zeroed = std::min(vocab, bytes / row_bytes);
  const std::optional<Plan> planned = plan(args, zeroed);
  if (!planned) return sorted_whole(args, stream);
  validate_workspace(args);  // before anything is under way
  SideWork side(stream);
  cuda_check(cudaMemsetAsync(args.dweight.data, 0, static_cast<std::size_t>(zeroed * row_bytes), side.get()));
  const NarrowOrder order = sort_ids_narrow(args, stream);
  side.join();
  with_types(args, [&]<class Id, class Grad, class Weight>() {
    launch<Grad, Weight>(args, *planned, order.ids, order.positions, stream);
  });
}

}  // namespace strictbench::embedding_backward
