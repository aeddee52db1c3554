/// Warps that add short runs, many rows under way at once. Included by *.cu only.
#pragma once
#include "kernels/embedding_backward/runs.h"

namespace strictbench::embedding_backward {
namespace {

constexpr int depth = 12;  // rows that a warp has under way

/// A warp adds the short runs that start in [first, first + window), a piece of each row a lane, from
/// `column` on. The rows lie behind each other in the order of the sort, whichever run they belong to: so
/// many of them are under way at once, and a change of id only decides when to store.
template <class Grad, class Weight, class Index>
__device__ void add_short_runs(const Job<Grad, Weight, Index>& job, std::int64_t first, int window,
                               std::int64_t column) {
  constexpr int n = piece<Grad>;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t tokens = job.shape.tokens;
  const std::int64_t h = column + lane * n;
  const bool inside = h < job.shape.hidden;

  // 32 places of the order, one a lane: each one's id, and where its row lies.
  struct Places {
    Index id;
    int position;
  };
  const auto look = [&](std::int64_t base) {
    const std::int64_t at = min(base + lane, tokens - 1);
    return Places{job.ids[at], static_cast<int>(job.positions[at])};
  };
  const std::int64_t at = first + lane;
  Places here = look(first);  // with what is around them, all under way at once
  const Index before = job.ids[min(max(at - 1, std::int64_t{0}), tokens - 1)];
  const Index far = job.ids[min(at + long_run, tokens - 1)];
  const unsigned changes = __ballot_sync(0xffffffffu, at >= tokens || at == 0 || before != here.id);
  const unsigned far_same = __ballot_sync(0xffffffffu, at + long_run < tokens && far == here.id);
  const auto there = static_cast<int>(min(tokens - first, std::int64_t{window}));
  const unsigned starts = changes & (0xffffffffu >> (32 - there));
  if (starts == 0) return;
  int from = __ffs(static_cast<int>(starts)) - 1;
  const int last = 31 - __clz(static_cast<int>(starts));
  const bool last_is_long = far_same >> last & 1u;
  unsigned behind = last_is_long ? 1u << last : there < 32 ? changes & (0xffffffffu << there) : 0;

  float acc[n] = {};
  const Index id = here.id;  // of the first 32 places; what lies behind them is the last run's
  int run = from;            // whose sum acc is
  const auto store = [&] {
    const Index row = __shfl_sync(0xffffffffu, id, run);
    if (!inside || !job.in_range(row)) return;
    store_rounded(job.dweight + static_cast<std::int64_t>(row) * job.shape.hidden + h, acc);
  };
  unsigned stores = starts & (starts - 1);  // all but the first: there the sum before it is whole
  std::int64_t base = first;
  if (behind != 0 && __ffs(static_cast<int>(behind)) - 1 == from) return;
  while (true) {
    const int to = behind != 0 ? __ffs(static_cast<int>(behind)) - 1 : 32;
    const Places next = behind != 0 ? Places{} : look(base + 32);
    for (; from < to; from += depth) {
      Several<Grad, n> rows[depth];
#pragma unroll
      for (int k = 0; k < depth; ++k) {
        const std::int64_t place = __shfl_sync(0xffffffffu, here.position, from + k);
        if (from + k < to && inside)
          rows[k] = *reinterpret_cast<const Several<Grad, n>*>(job.grad + place * job.grad_stride + h);
      }
#pragma unroll
      for (int k = 0; k < depth; ++k) {
        if (from + k >= to) break;
        if (stores >> (from + k) & 1u) {
          store();
          run = from + k;
#pragma unroll
          for (int i = 0; i < n; ++i) acc[i] = 0.0f;
        }
#pragma unroll
        for (int i = 0; i < n; ++i) acc[i] = __fadd_rn(acc[i], to_float(rows[k].elements[i]));
      }
    }
    if (behind != 0) break;
    base += 32;
    from = 0;
    here = next;
    const Index last_id = __shfl_sync(0xffffffffu, id, last);
    behind = __ballot_sync(0xffffffffu, base + lane >= tokens || here.id != last_id);
    stores = 0;
  }
  store();
}

}  // namespace
}  // namespace strictbench::embedding_backward
