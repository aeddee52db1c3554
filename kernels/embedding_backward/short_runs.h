/// Warps that add short runs, many rows under way at once. Included by *.cu only.
#pragma once
#include "kernels/embedding_backward/runs.h"

namespace strictbench::embedding_backward {
namespace {

constexpr int depth = 12;               // rows that a warp has under way
constexpr std::uint32_t nowhere = ~0u;  // no offset: cuts_evenly() sees to it

/// A warp adds the short runs that start in [first, first + window), a piece of each row a lane, from
/// `column` on. The rows lie behind each other in the order of the sort, whichever run they belong to: so
/// many of them are under way at once, and a change of id only decides when to store. Offsets are counted in
/// pieces of a lane, so that 32 bits hold them.
template <class Grad, class Weight, class Index>
__device__ void add_short_runs(const Job<Grad, Weight, Index>& job, int first, int window,
                               std::int64_t column) {
  constexpr int n = piece<Grad>;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const auto tokens = static_cast<int>(job.shape.tokens);
  const std::int64_t h = column + lane * n;
  const bool inside = h < job.shape.hidden;

  // 32 places of the order, one a lane: each one's id, and where its row lies, in pieces of a lane.
  struct Places {
    Index id;
    std::uint32_t row;
  };
  const auto pieces_apart = static_cast<std::uint32_t>(job.grad_stride / n);
  const auto look = [&](int base) {
    const int at = min(base + lane, tokens - 1);
    return Places{job.ids[at], static_cast<std::uint32_t>(job.positions[at]) * pieces_apart};
  };
  using Piece = uint4;
  // From words, each taken apart by a shift or a mask: of a struct of elements every one is shifted twice.
  const auto element = [](const Piece& p, int i) {
    const std::uint32_t words[4] = {p.x, p.y, p.z, p.w};
    if constexpr (sizeof(Grad) == 4)
      return __uint_as_float(words[i]);
    else
      return to_float(Grad{static_cast<std::uint16_t>(i % 2 ? words[i / 2] >> 16 : words[i / 2])});
  };
  const auto* const pieces = reinterpret_cast<const Piece*>(job.grad + h);
  const int at = first + lane;
  Places here = look(first);  // with what is around them, all under way at once
  const Index before = job.ids[min(max(at - 1, 0), tokens - 1)];
  const Index far = job.ids[min(at + job.long_run, tokens - 1)];
  // No row lies nowhere; asked here, or the compiler begins to load where rows lie only behind the vote.
  const unsigned changes =
      __ballot_sync(0xffffffffu, at >= tokens || at == 0 || before != here.id || here.row == nowhere);
  const unsigned far_same = __ballot_sync(0xffffffffu, at + job.long_run < tokens && far == here.id);
  const int there = min(tokens - first, window);
  const unsigned starts = changes & (0xffffffffu >> (32 - there));
  if (starts == 0) return;
  int from = __ffs(static_cast<int>(starts)) - 1;
  const int last = 31 - __clz(static_cast<int>(starts));
  const bool last_is_long = far_same >> last & 1u;
  unsigned behind = last_is_long ? 1u << last : there < 32 ? changes & (0xffffffffu << there) : 0;

  float acc[n] = {};
  const Index id = here.id;  // of the first 32 places; what lies behind them is the last run's
  const std::uint32_t sum_at =
      job.in_range(id) ? static_cast<std::uint32_t>(id) * static_cast<std::uint32_t>(job.shape.hidden / n)
                       : nowhere;
  std::uint32_t to_sum = __shfl_sync(0xffffffffu, sum_at, from);  // where acc belongs
  const auto store = [&] {
    if (inside && to_sum != nowhere) store_rounded(job.dweight + h + std::int64_t{to_sum} * n, acc);
  };
  unsigned stores = starts & (starts - 1);  // all but the first: there the sum before it is whole
  int base = first;
  if (behind != 0 && __ffs(static_cast<int>(behind)) - 1 == from) return;
  while (true) {
    const int to = behind != 0 ? __ffs(static_cast<int>(behind)) - 1 : 32;
    const Places next = behind != 0 ? Places{} : look(base + 32);
    for (; from < to; from += depth) {
      const int there = to - from;
      const unsigned next_runs = stores >> from;
      Piece rows[depth];
#pragma unroll
      for (int k = 0; k < depth; ++k) {
        const std::uint32_t row = __shfl_sync(0xffffffffu, here.row, from + k);
        if (k < there && inside) rows[k] = pieces[row];
      }
#pragma unroll
      for (int k = 0; k < depth; ++k) {
        if (k >= there) break;
        const bool next_run = next_runs >> k & 1u;
        if (next_run) {
          store();
          to_sum = __shfl_sync(0xffffffffu, sum_at, from + k);
#pragma unroll
          for (int i = 0; i < n; ++i) acc[i] = 0.0f;
        }
#pragma unroll
        for (int i = 0; i < n; ++i) acc[i] = __fadd_rn(acc[i], element(rows[k], i));
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
