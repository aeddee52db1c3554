/// Blocks that fold long runs: a hot id's chain of adds, kept fed. Included by *.cu only.
#pragma once
#include "kernels/embedding_backward/runs.h"

namespace strictbench::embedding_backward {
namespace {

/// The rows of a run, wherever they lie.
template <class Grad, class Index>
struct RunRows {
  static constexpr bool at_a_stride = false;
  const Index* positions;  // of the run's first row
  const Grad* grad;        // the block's first column
  std::int64_t stride;

  __device__ int place(int r) const { return static_cast<int>(positions[r]); }  // below 2^31, as tokens are
  __device__ const Grad* address(int position) const { return grad + position * stride; }
};

constexpr int copiers = threads / 32 - 1;
constexpr int boundaries = 32;  // looked at by one block: every long_run-th place of the order
/// 32 KB, so that four blocks of either kind fit a multiprocessor: of 16 reads a stage.
template <class Grad>
using Ring = strip::Ring<Grad, 1, 4, 1, 16 * strip::rows_at_once<Grad>>;

/// Block (strip, group) folds its strip of every long run whose first boundary lies in its group of them. A
/// run is long if more than `long_run` rows are in it: then a boundary, and half a window before or behind
/// it, lies in it too.
template <class Grad, class Weight, class Index>
__device__ void fold_long_runs(const Job<Grad, Weight, Index>& job, Ring<Grad>& ring, unsigned strip_index,
                               unsigned group) {
  __shared__ std::int64_t insides[boundaries];  // of runs that may be long
  __shared__ std::int64_t starts[boundaries];
  __shared__ std::int64_t ends[boundaries];
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t tokens = job.shape.tokens;

  // Every warp for itself, all four looks under way at once.
  const std::int64_t boundary = (std::int64_t{group} * boundaries + lane) * long_run;
  const auto id_at = [&](std::int64_t place) {
    return job.ids[min(max(place, std::int64_t{0}), tokens - 1)];
  };
  const Index id = id_at(boundary);
  const Index half_on = id_at(boundary + long_run / 2);
  const Index half_back = id_at(boundary - long_run / 2);
  const Index back = id_at(boundary - long_run);
  const bool mine = boundary < tokens && job.in_range(id) && (boundary == 0 || back != id) &&
                    (half_on == id || half_back == id);
  const unsigned all = __ballot_sync(0xffffffffu, mine);
  const int found = __popc(all);
  if (found == 0) return;
  if (warp == 0 && mine) insides[__popc(all & ((1u << lane) - 1))] = boundary;
  ring.init();  // and insides are there
  for (int k = warp; k < 2 * found; k += threads / 32) {
    const std::int64_t inside = insides[k / 2];
    const Index run = job.ids[inside];
    const bool before = k % 2 == 0;
    const std::int64_t place =
        first_not<8>(job.ids, before ? max(inside - long_run, std::int64_t{0}) : inside + 1,
                     before ? inside : tokens, [&](Index at) { return before ? at < run : at <= run; });
    if (lane == 0) (before ? starts : ends)[k / 2] = place;
  }
  __syncthreads();
  const std::int64_t first = std::int64_t{strip_index} * strip::columns;
  const int width = static_cast<int>(min(job.shape.hidden - first, std::int64_t{strip::columns}));
  unsigned stage = 0;  // the next run's first
  for (int k = 0; k < found; ++k) {
    const std::int64_t start = starts[k];
    const int rows = static_cast<int>(ends[k] - start);
    if (rows <= long_run) continue;  // add_short_runs() does it
    if (warp > 0) {
      strip::copy_rows<copiers>(
          ring, warp - 1, stage, rows, width,
          RunRows<Grad, Index>{job.positions + start, job.grad + first, job.grad_stride});
    } else {
      const std::int64_t row = static_cast<std::int64_t>(job.ids[start]);
      const float sum = strip::fold_rows(ring, 0, stage, rows);
      const int column = strip::column_of_lane<Grad>();
      if (column < width) job.dweight[row * job.shape.hidden + first + column] = rounded<Weight>(sum);
    }
    stage += strip::stages_of(ring, rows);
  }
}

}  // namespace
}  // namespace strictbench::embedding_backward
