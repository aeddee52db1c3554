/// The pair's idea on a CPU: who looks for whom.
///
/// cpu_vocab_grid       every row of the vocabulary scans all tokens for its id: vocab x tokens comparisons
/// cpu_sorted_segments  the sorted ids are walked once; each run of equal ids is one output row
#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <vector>

#include "kernels/common/require.h"
#include "kernels/embedding_backward/dispatch.h"

namespace strictbench::embedding_backward {
namespace {

/// One output element by the published order: a tree inside each step of 64 tokens, the steps in order.
template <class Id, class Grad>
float scan_tokens(const Args& args, std::int64_t v, std::int64_t h) {
  const Id* const ids = args.ids.as<Id>();
  const Grad* const grad = args.grad.as<Grad>();
  float acc = 0.0f;
  for (std::int64_t first = 0; first < args.shape.tokens; first += step_tokens) {
    const std::int64_t last = std::min(first + step_tokens, args.shape.tokens);
    std::array<float, static_cast<std::size_t>(step_tokens)> lane{};
    for (std::int64_t t = first; t < last; ++t)
      if (ids[t] == v) lane[static_cast<std::size_t>(t - first)] = to_float(grad[t * args.grad_stride + h]);
    for (std::size_t stride = lane.size() / 2; stride > 0; stride /= 2)
      for (std::size_t i = 0; i < stride; ++i) lane[i] = lane[i] + lane[i + stride];
    acc = acc + lane[0];
  }
  return acc;
}

template <class Grad, class Weight>
void walk_runs(const Args& args) {
  const auto& [tokens, vocab, hidden] = args.shape;
  std::vector<float> acc(static_cast<std::size_t>(hidden));
  for (std::int64_t first = 0; first < tokens;) {
    const std::int64_t id = args.sorted.ids[first];
    const bool kept = id >= 0 && id < vocab;
    std::int64_t last = first;
    std::fill(acc.begin(), acc.end(), +0.0f);
    for (; last < tokens && args.sorted.ids[last] == id; ++last) {
      if (!kept) continue;
      const Grad* const row = args.grad.as<Grad>() + args.sorted.positions[last] * args.grad_stride;
      for (std::size_t h = 0; h < acc.size(); ++h) acc[h] = acc[h] + to_float(row[h]);
    }
    if (kept)
      std::transform(acc.begin(), acc.end(), args.dweight.as<Weight>() + id * hidden,
                     [](float x) { return rounded<Weight>(x); });
    first = last;
  }
}

/// Positions sorted, stably, by the id that each has in the canonical form, and then by key.
template <class IdOf, class KeyOf>
void sort_positions(const Args& args, const IdOf& id_of, const KeyOf& key_of) {
  const SortedIds& sorted = args.sorted;
  std::iota(sorted.positions, sorted.positions + args.shape.tokens, std::int64_t{0});
  std::stable_sort(sorted.positions, sorted.positions + args.shape.tokens,
                   [&](std::int64_t a, std::int64_t b) {
                     return id_of(a) != id_of(b) ? id_of(a) < id_of(b) : key_of(a) < key_of(b);
                   });
  std::transform(sorted.positions, sorted.positions + args.shape.tokens, sorted.ids, id_of);
}

}  // namespace

void cpu_vocab_grid(const Args& args, Stream) {
  validate(args);
  if (args.shape.hidden == 0) return;  // else a walk over all of vocab, which may be any number
  with_types(args, [&]<class Id, class Grad, class Weight>() {
    for (std::int64_t v = 0; v < args.shape.vocab; ++v)
      for (std::int64_t h = 0; h < args.shape.hidden; ++h)
        args.dweight.as<Weight>()[v * args.shape.hidden + h] =
            rounded<Weight>(scan_tokens<Id, Grad>(args, v, h));
  });
}

void cpu_sort_ids(const Args& args, Stream) {
  validate_sort(args, nullptr);
  with_type(args.ids.type, [&]<class Id>() {
    const Id* const ids = args.ids.as<Id>();
    sort_positions(
        args, [&](std::int64_t t) { return std::int64_t{ids[t]}; }, [](std::int64_t) { return 0; });
  });
}

void cpu_sort_ids_by_key(const Args& args, const std::int64_t* keys, Stream) {
  require(keys != nullptr || args.shape.tokens == 0, "embedding_backward: keys must not be null");
  validate_sort(args, keys);
  with_type(args.ids.type, [&]<class Id>() {
    const Id* const ids = args.ids.as<Id>();
    sort_positions(
        args, [&](std::int64_t t) { return keys[t] < 0 ? std::int64_t{-1} : std::int64_t{ids[t]}; },
        [&](std::int64_t t) { return keys[t]; });
  });
}

void cpu_sorted_segments(const Args& args, Stream) {
  validate_sorted(args);
  if (args.shape.vocab == 0 || args.shape.hidden == 0) return;
  with_types(args, [&]<class Id, class Grad, class Weight>() { walk_runs<Grad, Weight>(args); });
}

void cpu_sorted_whole(const Args& args, Stream stream) {
  cpu_sort_ids(args, stream);
  const auto elements = static_cast<std::size_t>(args.shape.vocab * args.shape.hidden);
  if (elements > 0) std::memset(args.dweight.data, 0, elements * size_of(args.dweight.dtype));
  cpu_sorted_segments(args, stream);
}

}  // namespace strictbench::embedding_backward
