/// tuned: one launch of two kinds of blocks. Long runs of equal ids go strip by strip of 32 columns through a
/// ring in shared memory (kernels/common/strip_fold.h); a warp takes the short ones of a window of the order,
/// 12 rows under way whichever run they belong to. For the whole backward a second launch, on the heels of
/// the first, zeroes the rows that no id names (zero_rows.h), and the sort is one of few launches
/// (chunk_sort.h).
///
/// A hot id is a chain of adds of 4 cycles each, so it must be spread over the chip and kept fed; all other
/// rows are bounded by memory, and few tokens by loads that wait for each other: where a run begins and ends,
/// where its rows lie, the rows. Of up to 1,024 tokens every block of long runs reads the order whole, so
/// that it waits for two, from 513 tokens on for three. No row is written twice. Rows that pieces of 16 bytes
/// do not cut evenly, or that lie elsewhere than at multiples of them, take `new`'s kernels.
///
/// Tried and did not pay (H200, bf16; us at hidden 4096 where no other is named, of
/// calls in a graph, each beside the version of its day).
/// Short runs:
/// - rows through shared memory by cp.async: 32,768 distinct ids took 166 instead of 144;
/// - 8 rows under way and five blocks a multiprocessor: 4,096 ids by Zipf at hidden 1024 9.0 instead of 8.3,
///   distinct ids 2 % faster; 16 rows: a quarter of the sizes 2 % faster, as many slower;
/// - groups of rows that take turns (2 x 8, 3 x 4, 4 x 4): 4,096 ids by Zipf at hidden 2048 7.2 instead of
///   7.4, but 512 distinct ids 3.4 instead of 3.15;
/// - pieces of 8 bytes, with 16 or 24 rows under way: 4,096 ids by Zipf at hidden 1024 4.56 and 5.02 instead
///   of 5.15, distinct ids 4.56 and 4.90 instead of 4.27;
/// - windows of other lengths than here, from 2 to 28 places.
///
/// Long runs, the first four lines when 32,768 equal ids took 115 (now 88):
/// - a launch of its own beside the short ones, by programmatic dependent launch: equal ids 96, but 6 instead
///   of 4 for 512 and 125 by Zipf: what is fast for a chain, a ring of 128 KB, leaves others no cache;
/// - bulk copies of 64 bytes a row: equal ids 355; 256 threads: 117;
/// - all copying warps on one stage: equal ids 144;
/// - the first stage by all copying warps: 4 % slower; rows fetched to the L2 ahead: 2 % slower;
/// - a ring of 48 KB: 4,096 distinct ids 22.8 instead of 19.9, by Zipf 16.0 instead of 14.5; of 64 KB: by
///   Zipf 20 % slower;
/// - stages of 64 rows for all: 4,096 equal ids 14.1 instead of 13.4; of 128 for all: 512 equal ids 4.1
///   instead of 3.8;
/// - fewer rows a long run (48 instead of 64) for 4,096 ids by Zipf at hidden 1024: 4.9 instead of 5.2, but
///   distinct ids 4.31 instead of 4.27, and at hidden 4096 15.4 instead of 14.5.
///
/// What holds 4,096 ids by Zipf at hidden 1024 up (5.2): long runs alone take 3.7, short ones alone 5.0,
/// since a warp adds a run of up to 64 rows by 12 at a time, each of which waits for memory. Where more than
/// 32 rows are a long run these are 4.4 and 3.8, but 5.0 together: of 840 blocks only 528 fit at once.
#include <algorithm>
#include <optional>

#include "kernels/common/cuda_error.h"
#include "kernels/common/require.h"
#include "kernels/embedding_backward/dispatch.h"
#include "kernels/embedding_backward/long_runs.h"
#include "kernels/embedding_backward/short_runs.h"
#include "kernels/embedding_backward/zero_rows.h"

namespace strictbench::embedding_backward {
namespace {

/// How many blocks of each kind, in this order: long runs first, since they may take longest.
struct Blocks {
  unsigned long_runs;  // strips x groups
  unsigned strips;     // of a row
  unsigned groups;     // of boundaries
  unsigned parts;      // of a row, of which each is a block of short runs
  int window;          // places, of a block of short runs
};

struct Plan {
  Blocks blocks;
  unsigned grid;
  int long_run;  // more rows than these are a long run
};

template <bool few, class Grad, class Weight, class Index>
__global__ void __launch_bounds__(threads, 4)
    add_runs(const __grid_constant__ Job<Grad, Weight, Index> job, const __grid_constant__ Blocks blocks) {
  extern __shared__ __align__(strip::line_bytes) unsigned char memory[];
  may_be_followed();
  unsigned block = blockIdx.x;
  if (block < blocks.long_runs) {
    const unsigned group = block / blocks.strips;
    fold_long_runs<few>(job, *reinterpret_cast<Ring<Grad, few>*>(memory), block - group * blocks.strips,
                        group, blocks.groups);
    return;
  }
  block -= blocks.long_runs;
  const unsigned window = block / blocks.parts;
  const std::int64_t column =
      std::int64_t{(block - window * blocks.parts) * (threads / 32) + threadIdx.x / 32} * warp_columns<Grad>;
  if (column < job.shape.hidden)
    add_short_runs(job, static_cast<int>(window) * blocks.window, blocks.window, column);
}

/// How a shape is cut, by sweeps on an H200 over hidden 1024 to 4096.
struct Cut {
  int window;              // places, of a block of short runs
  int long_run;            // more rows than these are a long run
  std::int64_t long_runs;  // blocks of long runs, or nearly, where there are so many boundaries
};

Cut cut(std::int64_t tokens, std::int64_t parts, std::int64_t strips) {
  const int window = tokens <= 8192 / parts ? 9 : 2 * depth;
  if (tokens <= 128) return {.window = 2, .long_run = 32, .long_runs = 256};
  if (tokens <= 1024) return {.window = window, .long_run = 32, .long_runs = 256};
  if (tokens <= 8192) return {.window = window, .long_run = 64, .long_runs = strips <= 32 ? 384 : 256};
  return {.window = window, .long_run = 96, .long_runs = 256};
}

/// None where a grid does not hold the blocks.
template <class Grad>
std::optional<Plan> plan(const Shape& shape) {
  const auto& [tokens, vocab, hidden] = shape;
  const std::int64_t strips = ceil_div(hidden, strip::columns);
  const std::int64_t parts = ceil_div(hidden, threads / 32 * warp_columns<Grad>);
  const auto [window, long_run, long_runs] = cut(tokens, parts, strips);
  const std::int64_t looks = tokens > long_run ? ceil_div(tokens, long_run) : 0;
  const auto groups =
      std::max<std::int64_t>(ceil_div(looks, boundaries), std::min(looks, long_runs / strips));
  const std::int64_t windows = ceil_div(tokens, window);
  // By division first: hidden may be so large that the products overflow.
  const auto fits = [](std::int64_t a, std::int64_t b) { return a == 0 || b <= grid_x / a; };
  if (!fits(groups, strips) || !fits(windows, parts) || groups * strips + windows * parts > grid_x)
    return std::nullopt;
  return Plan{.blocks = {.long_runs = static_cast<unsigned>(groups * strips),
                         .strips = static_cast<unsigned>(strips),
                         .groups = static_cast<unsigned>(groups),
                         .parts = static_cast<unsigned>(parts),
                         .window = window},
              .grid = static_cast<unsigned>(groups * strips + windows * parts),
              .long_run = long_run};
}

/// 16-byte pieces of rows, and counts of rows in int, of pieces in 32 bits: else the plain walk does it.
template <class Grad, class Weight>
bool cuts_evenly(const Args& args) {
  const auto aligned = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p) % 16 == 0; };
  constexpr std::int64_t n = std::max(piece<Grad>, static_cast<int>(16 / sizeof(Weight)));
  const auto& [tokens, vocab, hidden] = args.shape;
  const auto countable = [](std::int64_t rows, std::int64_t stride) {
    return rows <= std::int64_t{nowhere} / (stride / piece<Grad>);
  };
  return hidden % n == 0 && args.grad_stride % n == 0 && aligned(args.grad.data) &&
         aligned(args.dweight.data) && tokens < (std::int64_t{1} << 30) &&
         countable(tokens, args.grad_stride) && countable(vocab, hidden);
}

/// What a launch needs, or none where the plain walk must do it.
std::optional<Plan> plan(const Args& args) {
  std::optional<Plan> planned;
  with_types(args, [&]<class Id, class Grad, class Weight>() {
    if (cuts_evenly<Grad, Weight>(args)) planned = plan<Grad>(args.shape);
  });
  return planned;
}

/// ids and positions: sorted, [tokens].
template <class Grad, class Weight, class Index>
void launch(const Args& args, const Plan& planned, const Index* ids, const Index* positions, Stream stream) {
  const bool few = args.shape.tokens <= few_tokens;
  const auto kernel = few ? add_runs<true, Grad, Weight, Index> : add_runs<false, Grad, Weight, Index>;
  const int bytes = few ? sizeof(Ring<Grad, true>) : sizeof(Ring<Grad, false>);
  cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  kernel<<<planned.grid, threads, bytes, stream>>>({.shape = args.shape,
                                                    .ids = ids,
                                                    .positions = positions,
                                                    .grad = args.grad.as<Grad>(),
                                                    .grad_stride = args.grad_stride,
                                                    .dweight = args.dweight.as<Weight>(),
                                                    .long_run = planned.long_run},
                                                   planned.blocks);
  check_launch();
}

}  // namespace

void hot_and_cold_runs(const Args& args, Stream stream) {
  validate_sorted(args);
  const auto& [tokens, vocab, hidden] = args.shape;
  if (tokens == 0 || vocab == 0 || hidden == 0) return;
  const std::optional<Plan> planned = plan(args);
  if (!planned) return sorted_segments(args, stream);
  with_types(args, [&]<class Id, class Grad, class Weight>() {
    launch<Grad, Weight>(args, *planned, args.sorted.ids, args.sorted.positions, stream);
  });
}

void hot_and_cold_whole(const Args& args, Stream stream) {
  validate_sort(args, nullptr);
  const auto& [tokens, vocab, hidden] = args.shape;
  if (tokens == 0 || vocab == 0 || hidden == 0 || vocab > grid_x) return sorted_whole(args, stream);
  const std::optional<Plan> planned = plan(args);
  if (!planned) return sorted_whole(args, stream);
  const NarrowOrder order = sort_ids_narrow(args, stream);
  with_types(args, [&]<class Id, class Grad, class Weight>() {
    launch<Grad, Weight>(args, *planned, order.ids, order.positions, stream);
    zero_unused_rows(args.shape, order.ids, args.dweight.as<Weight>(), stream);
  });
}

}  // namespace strictbench::embedding_backward
