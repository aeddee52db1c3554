/// Blocks that fold long runs: a hot id's chain of adds, kept fed. Included by *.cu only.
#pragma once
#include <type_traits>

#include "kernels/embedding_backward/runs.h"

namespace strictbench::embedding_backward {
namespace {

constexpr int copiers = threads / 32 - 1;
constexpr int boundaries = 32;  // every `long_run`-th place of the order; at most so many to a block
/// 32 KB, so that four blocks of either kind fit a multiprocessor: of 16 reads a stage.
template <class Grad>
using Ring = strip::Ring<Grad, 1, 4, 1, 16 * strip::rows_at_once<Grad>>;

struct LongRun {
  int start;  // its first place in the order
  int rows;   // 0 where it turned out not to be long
};

/// What copying warp `copier` does: every `copiers`-th stage of all the runs' rows, `width` columns of each
/// from `grad` on. Stages of all runs take turns, so that runs of one stage do not all fall to one warp.
template <class Grad, class Weight, class Index>
__device__ void copy_runs(const Job<Grad, Weight, Index>& job, Ring<Grad>& ring, int copier,
                          const LongRun* runs, int count, const Grad* grad, int width) {
  // Or one could meet a barrier two rounds behind, whose parity is the same.
  static_assert(copiers <= std::extent_v<decltype(ring.full)>);
  using Lanes = strip::Pieces<Grad, 1>;
  const Lanes lanes(width);
  constexpr int stage_rows = Ring<Grad>::stage_rows;
  const int lane = static_cast<int>(threadIdx.x) % 32;

  // Where rows lie is looked up three of this warp's stages ahead, whichever run they are of: a lane for each
  // of 32 rows at a time.
  constexpr int looks = stage_rows / 32;
  const auto pieces_apart = static_cast<std::uint32_t>(job.grad_stride / piece<Grad>);
  const bool inside = lanes.column < width;
  const auto* const pieces = reinterpret_cast<const uint4*>(grad + (inside ? lanes.column : 0));
  struct Places {
    std::uint32_t of[looks];  // in pieces
    int rows;                 // of the stage that there are; 0 behind the last one
  };
  int run = 0;
  int from = 0;  // in the run
  const auto forward = [&](int stages) {
    from += stages * stage_rows;
    while (run < count && from >= runs[run].rows) {
      from -= static_cast<int>(Ring<Grad>::stages_of(runs[run].rows)) * stage_rows;
      ++run;
    }
  };
  const auto look_up = [&](Places& found) {
    found.rows = run < count ? min(runs[run].rows - from, stage_rows) : 0;
#pragma unroll
    for (int i = 0; i < looks; ++i) {
      found.of[i] = 0;
      if (i * 32 + lane < found.rows)
        found.of[i] =
            static_cast<std::uint32_t>(job.positions[runs[run].start + from + i * 32 + lane]) * pieces_apart;
    }
  };
  unsigned stage = static_cast<unsigned>(copier);
  Places now;
  Places next;
  Places then;
  forward(copier);
  look_up(now);
  forward(copiers);
  look_up(next);
  forward(copiers);
  look_up(then);
  while (now.rows > 0) {
    const int slot = ring.empty_slot(stage);
#pragma unroll
    for (int look = 0; look < looks; ++look) {
#pragma unroll
      for (int i = 0; i < 32 / Lanes::rows_a_step; ++i) {
        const int r = i * Lanes::rows_a_step + lanes.row;
        const std::uint32_t row = __shfl_sync(0xffffffffu, now.of[look], r);
        strip::copy_piece(&ring.rows[slot][look * 32 + r][lanes.column], pieces + row,
                          inside && look * 32 + r < now.rows);
      }
    }
    ring.full[slot].arrive_after_copies();
    stage += copiers;
    now = next;
    next = then;
    forward(copiers);
    look_up(then);
  }
}

/// Block (strip, group) folds its strip of every long run whose first boundary is one of its group's: of
/// `groups` groups every `groups`-th, since hot ids are often neighbours and their runs then follow each
/// other. A run is long if more than `long_run` rows are in it: then a boundary, and half a window before or
/// behind it, lies in it too.
template <class Grad, class Weight, class Index>
__device__ void fold_long_runs(const Job<Grad, Weight, Index>& job, Ring<Grad>& ring, unsigned strip_index,
                               unsigned group, unsigned groups) {
  __shared__ int insides[boundaries];  // of runs that may be long
  __shared__ int starts[boundaries];
  __shared__ int ends[boundaries];
  __shared__ LongRun runs[boundaries];
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
  const bool mine = boundary < tokens && job.in_range(id) && (boundary == 0 || back != id) &&
                    (half_on == id || half_back == id);
  const unsigned all = __ballot_sync(0xffffffffu, mine);
  const int found = __popc(all);
  if (found == 0) return;
  if (warp == 0 && mine) insides[__popc(all & ((1u << lane) - 1))] = boundary;
  ring.init(1);  // and insides are there
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
  const std::int64_t first = std::int64_t{strip_index} * strip::columns;
  const int width = static_cast<int>(min(job.shape.hidden - first, std::int64_t{strip::columns}));
  if (warp > 0) return copy_runs(job, ring, warp - 1, runs, found, job.grad + first, width);
  unsigned stage = 0;  // the next run's first
  for (int k = 0; k < found; ++k) {
    const int rows = runs[k].rows;
    if (rows == 0) continue;
    const auto row = static_cast<std::int64_t>(job.ids[runs[k].start]);
    const float sum = strip::fold_rows_by_halves(ring, stage, rows);
    const int column = strip::column_of_lane<Grad>();
    if (column < width) job.dweight[row * job.shape.hidden + first + column] = rounded<Weight>(sum);
    stage += Ring<Grad>::stages_of(rows);
  }
}

}  // namespace
}  // namespace strictbench::embedding_backward
