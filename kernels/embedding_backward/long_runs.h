/// Blocks that fold long runs: a hot id's chain of adds, kept fed. Included by *.cu only.
#pragma once
#include "kernels/embedding_backward/runs.h"

namespace strictbench::embedding_backward {
namespace {

constexpr int copiers = threads / 32 - 1;
constexpr int boundaries = 32;  // every `long_run`-th place of the order; at most so many to a block
/// Tokens of an order that a block reads whole: a bit of a lane's word each.
constexpr int few_tokens = 1024;

/// 32 KB, so that four blocks of either kind fit a multiprocessor and leave it a cache. Few tokens feel the
/// first stage, and more of them every stage's end.
template <class Grad, bool few>
inline constexpr int stage_rows = few || sizeof(Grad) == 4 ? 64 : 128;
template <class Grad, bool few>
using Ring =
    strip::Ring<Grad, 1, 32768 / (stage_rows<Grad, few> * strip::columns * static_cast<int>(sizeof(Grad))),
                stage_rows<Grad, few>>;

struct LongRun {
  int start;  // its first place in the order
  int rows;   // 0 where it turned out not to be long
};

/// What copying warp `copier` does: every `copiers`-th stage of all the runs' rows, `width` columns of each
/// from `grad` on. Stages of all runs take turns, so that runs of one stage do not all fall to one warp.
/// position_at(place) loads where the row of a place of the order lies.
template <class Ring, class Grad, class PositionAt>
__device__ void copy_runs(Ring& ring, int copier, const LongRun* runs, int count, PositionAt position_at,
                          const Grad* grad, std::int64_t grad_stride, int width) {
  // Or one could meet a barrier two rounds behind, whose parity is the same.
  static_assert(copiers <= Ring::stages);
  using Lanes = strip::Pieces<Grad, 1>;
  const Lanes lanes(width);
  constexpr int rows = Ring::stage_rows;
  const int lane = static_cast<int>(threadIdx.x) % 32;

  // Where rows lie is looked up two of this warp's stages ahead, whichever run they are of: a lane for each
  // of 32 rows at a time.
  constexpr int looks = rows / 32;
  const auto pieces_apart = static_cast<std::uint32_t>(grad_stride / piece<Grad>);
  const bool inside = lanes.column < width;
  const auto* const pieces = reinterpret_cast<const uint4*>(grad + (inside ? lanes.column : 0));
  struct Places {
    std::uint32_t of[looks];  // positions; no arithmetic with them where they are looked up, or it would wait
    int rows;                 // of the stage that there are; 0 behind the last one
  };
  int run = 0;
  LongRun here = runs[0];  // rows: the rest of it, from `start` on
  const auto forward = [&](int stages) {
    here.start += stages * rows;
    here.rows -= stages * rows;
    while (here.rows <= 0 && run < count) {
      const int stages_over = -here.rows / rows;  // that the next run's rows go to
      here = ++run < count ? runs[run] : LongRun{};
      here.start += stages_over * rows;
      here.rows -= stages_over * rows;
    }
  };
  const auto look_up = [&](Places& found) {
    found.rows = max(min(here.rows, rows), 0);
#pragma unroll
    for (int i = 0; i < looks; ++i) found.of[i] = position_at(here.start + i * 32 + lane);
  };
  typename Ring::Turn turn{static_cast<unsigned>(copier)};
  Places ahead[2];  // by turns, and never copied: a copy would wait for the look
  forward(copier);
  look_up(ahead[0]);
  forward(copiers);
  look_up(ahead[1]);
  while (true) {
#pragma unroll
    for (Places& now : ahead) {
      if (now.rows == 0) return;
      ring.wait_until_empty(turn);
#pragma unroll
      for (int look = 0; look < looks; ++look) {
#pragma unroll
        for (int i = 0; i < 32 / Lanes::rows_a_step; ++i) {
          const int r = i * Lanes::rows_a_step + lanes.row;
          const std::uint32_t row = __shfl_sync(0xffffffffu, now.of[look], r) * pieces_apart;
          strip::copy_piece(&ring.rows[turn.slot()][look * 32 + r][lanes.column], pieces + row,
                            inside && look * 32 + r < now.rows);
        }
      }
      ring.full[turn.slot()].arrive_after_copies();
      turn.number += copiers;
      forward(copiers);
      look_up(now);
    }
  }
}

/// How many long runs a group has, which it puts into `runs`; some may turn out to have no rows. By all warps
/// of a block, which then see them all. A run is long if more than `long_run` rows are in it: then a boundary
/// lies in it, and so does a place half a long run before or behind that. First looks at those, then
/// searches: three loads or more that wait for each other, of 4,096 tokens at most five. `meanwhile` is done
/// during the first.
template <class Grad, class Weight, class Index, class Meanwhile>
__device__ int search_long_runs(const Job<Grad, Weight, Index>& job, unsigned group, unsigned groups,
                                LongRun* runs, Meanwhile meanwhile) {
  __shared__ int insides[boundaries];  // of runs that may be long
  __shared__ int starts[boundaries];
  __shared__ int ends[boundaries];
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const auto tokens = static_cast<int>(job.shape.tokens);
  // Every warp for itself, all four looks under way at once.
  const int boundary = (lane * static_cast<int>(groups) + static_cast<int>(group)) * job.long_run;
  const auto id_at = [&](int place) { return job.ids[min(max(place, 0), tokens - 1)]; };
  const Index id = id_at(boundary);
  const Index half_on = id_at(boundary + job.long_run / 2);
  const Index half_back = id_at(boundary - job.long_run / 2);
  const Index back = id_at(boundary - job.long_run);
  meanwhile();
  // Places that there are not are the first or the last one, and say nothing. No && and no ||, or the
  // compiler loads what stands behind them when it knows what stands before.
  const bool first = (boundary < tokens) & job.in_range(id) & ((boundary == 0) | (back != id));
  const bool inside_on = (boundary + job.long_run / 2 < tokens) & (half_on == id);
  const bool inside_back = (boundary > 0) & (half_back == id);
  const bool mine = first & (inside_on | inside_back);
  const unsigned all = __ballot_sync(0xffffffffu, mine);
  const int found = __popc(all);
  if (found == 0) return 0;
  if (warp == 0 && mine) insides[__popc(all & ((1u << lane) - 1))] = boundary;
  __syncthreads();
  for (int k = warp; k < 2 * found; k += threads / 32) {
    const int inside = insides[k / 2];
    const Index run = job.ids[inside];
    const bool before = k % 2 == 0;
    const int place =
        first_not<2, 48>(job.ids, before ? max(inside - job.long_run, 0) : inside + 1,
                         before ? inside : tokens, [&](Index at) { return before ? at < run : at <= run; });
    if (lane == 0) (before ? starts : ends)[k / 2] = place;
  }
  __syncthreads();
  if (static_cast<int>(threadIdx.x) < found) {
    const int start = starts[threadIdx.x];
    const int rows = ends[threadIdx.x] - start;
    runs[threadIdx.x] = {.start = start,
                         .rows = rows > job.long_run ? rows : 0};  // else add_short_runs() does it
  }
  __syncthreads();
  return found;
}

/// The run that `place` lies in. Lane i's word tells of places 32 i to 32 i + 31: a bit stands
/// where a run starts. `some`: of which lanes the word is not 0. By all lanes of a warp.
__device__ inline LongRun run_around(int place, unsigned word, unsigned some) {
  const int lane = place / 32;
  const unsigned here = __shfl_sync(0xffffffffu, word, lane);
  const unsigned up_to = here & (0xffffffffu >> (31 - place % 32));
  const int start_lane = up_to != 0 ? lane : 31 - __clz(static_cast<int>(some & ((1u << lane) - 1)));
  const unsigned start_word = __shfl_sync(0xffffffffu, word, start_lane);
  const int start = start_lane * 32 + 31 - __clz(static_cast<int>(up_to != 0 ? up_to : start_word));
  const unsigned behind = here & (0xfffffffeu << (place % 32));
  const unsigned later = some & (0xfffffffeu << lane);
  const int end_lane = behind != 0 ? lane : __ffs(static_cast<int>(later)) - 1;
  const unsigned end_word = __shfl_sync(0xffffffffu, word, end_lane);
  const int end = behind == 0 && later == 0
                      ? few_tokens
                      : end_lane * 32 + __ffs(static_cast<int>(behind != 0 ? behind : end_word)) - 1;
  return {.start = start, .rows = end - start};
}

/// The same where the order is read whole, ids and `positions` at once: one load, or two behind each other
/// from 513 tokens on. Each warp finds them all for itself, into `runs` of its own; each has rows, but its id
/// may be out of range: to ask for it would be one more load.
template <class Grad, class Weight, class Index, class Meanwhile>
__device__ int find_long_runs(const Job<Grad, Weight, Index>& job, unsigned group, unsigned groups,
                              LongRun* runs, std::uint32_t* positions, Meanwhile meanwhile) {
  __shared__ unsigned
      changes[few_tokens / 32];  // a bit a place where the id does; past the end it always does
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const auto tokens = static_cast<int>(job.shape.tokens);
  constexpr int looks = 4;  // of a thread, all under way at once
#pragma unroll 1
  for (int from = 0; from < tokens; from += looks * threads) {
    Index id[looks];
    Index before[looks];
    std::uint32_t position[looks];
    const auto place = [&](int i) { return from + i * threads + static_cast<int>(threadIdx.x); };
#pragma unroll
    for (int i = 0; i < looks; ++i) {
      const int there = min(place(i), tokens - 1);
      id[i] = job.ids[there];
      before[i] = job.ids[max(there - 1, 0)];
      position[i] = static_cast<std::uint32_t>(job.positions[there]);
    }
    if (from == 0) meanwhile();
#pragma unroll
    for (int i = 0; i < looks; ++i) {
      const unsigned word =
          __ballot_sync(0xffffffffu, place(i) >= tokens || place(i) == 0 || id[i] != before[i]);
      positions[place(i)] = position[i];
      if (lane == 0) changes[place(i) / 32] = word;
    }
  }
  __syncthreads();
  const unsigned word = lane * 32 < tokens ? changes[lane] : 0xffffffffu;
  const unsigned some = __ballot_sync(0xffffffffu, word != 0);
  const int boundary = (lane * static_cast<int>(groups) + static_cast<int>(group)) * job.long_run;
  const LongRun run = run_around(min(boundary, few_tokens - 1), word, some);
  const bool mine = boundary < tokens && boundary - run.start < job.long_run && run.rows > job.long_run;
  const unsigned all = __ballot_sync(0xffffffffu, mine);
  if (mine) runs[__popc(all & ((1u << lane) - 1))] = run;
  __syncwarp();
  return __popc(all);
}

/// Block (strip, group) folds its strip of every long run whose first boundary is one of its group's: of
/// `groups` groups every `groups`-th, since hot ids are often neighbours and their runs then follow each
/// other.
template <bool few, class Grad, class Weight, class Index>
__device__ void fold_long_runs(const Job<Grad, Weight, Index>& job, Ring<Grad, few>& ring,
                               unsigned strip_index, unsigned group, unsigned groups) {
  __shared__ LongRun all_runs[few ? threads / 32 : 1][boundaries];  // a warp's own where it found them itself
  __shared__ std::uint32_t positions[few ? few_tokens : 1];
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const auto tokens = static_cast<int>(job.shape.tokens);
  const auto meanwhile = [&] {
    if (threadIdx.x == threads - 32) ring.init(1);
  };
  LongRun* const runs = all_runs[few ? warp : 0];
  int found = 0;
  if constexpr (few)
    found = find_long_runs(job, group, groups, runs, positions, meanwhile);
  else
    found = search_long_runs(job, group, groups, runs, meanwhile);
  if (found == 0) return;
  const std::int64_t first = std::int64_t{strip_index} * strip::columns;
  const int width = static_cast<int>(min(job.shape.hidden - first, std::int64_t{strip::columns}));
  if (warp > 0) {
    const auto position_at = [&](int place) {
      const int there = min(place, tokens - 1);
      if constexpr (few)
        return positions[there];
      else
        return static_cast<std::uint32_t>(job.positions[there]);
    };
    return copy_runs(ring, warp - 1, runs, found, position_at, job.grad + first, job.grad_stride, width);
  }
  typename Ring<Grad, few>::Turn turn;
  for (int k = 0; k < found; ++k) {
    const int rows = runs[k].rows;
    if (rows == 0) continue;
    const Index row = job.ids[runs[k].start];
    const float sum = strip::fold_rows<Grad>(ring, 0, turn, rows);
    const int column = strip::column_of_lane<Grad>();
    if (column < width && job.in_range(row))
      job.dweight[static_cast<std::int64_t>(row) * job.shape.hidden + first + column] = rounded<Weight>(sum);
  }
}

}  // namespace
}  // namespace strictbench::embedding_backward
