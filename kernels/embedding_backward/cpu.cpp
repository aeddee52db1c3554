/// The pair's idea on a CPU: who looks for whom.
///
/// cpu_vocab_grid       every row of the vocabulary scans all tokens for its id: vocab x tokens comparisons
/// cpu_sorted_segments  the sorted ids are walked once; each run of equal ids is one output row
#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "kernels/embedding_backward/embedding_backward.h"

namespace strictbench::embedding_backward {
namespace {

/// One output element by the published order: a tree inside each step of 64 tokens, the steps in order.
float scan_tokens(const Args& args, std::int64_t v, std::int64_t h) {
  float acc = 0.0f;
  for (std::int64_t first = 0; first < args.shape.tokens; first += step_tokens) {
    const std::int64_t last = std::min(first + step_tokens, args.shape.tokens);
    std::array<float, static_cast<std::size_t>(step_tokens)> lane{};
    for (std::int64_t t = first; t < last; ++t)
      if (args.ids[t] == v)
        lane[static_cast<std::size_t>(t - first)] = to_float(args.grad[t * args.grad_stride + h]);
    for (std::size_t stride = lane.size() / 2; stride > 0; stride /= 2)
      for (std::size_t i = 0; i < stride; ++i) lane[i] = lane[i] + lane[i + stride];
    acc = acc + lane[0];
  }
  return acc;
}

}  // namespace

void cpu_vocab_grid(const Args& args, Stream) {
  validate(args);
  for (std::int64_t v = 0; v < args.shape.vocab; ++v)
    for (std::int64_t h = 0; h < args.shape.hidden; ++h)
      args.dweight[v * args.shape.hidden + h] = to_bf16(scan_tokens(args, v, h));
}

void cpu_sort_ids(const Args& args, Stream) {
  validate(args);
  const auto [ids, positions, workspace, workspace_bytes] = args.sorted;
  std::iota(positions, positions + args.shape.tokens, std::int64_t{0});
  std::stable_sort(positions, positions + args.shape.tokens,
                   [&](std::int64_t a, std::int64_t b) { return args.ids[a] < args.ids[b]; });
  for (std::int64_t i = 0; i < args.shape.tokens; ++i) ids[i] = args.ids[positions[i]];
}

void cpu_sorted_segments(const Args& args, Stream) {
  validate(args);
  const auto& [tokens, vocab, hidden] = args.shape;
  std::vector<float> acc(static_cast<std::size_t>(hidden));
  for (std::int64_t first = 0; first < tokens;) {
    const std::int64_t id = args.sorted.ids[first];
    std::int64_t last = first;
    std::fill(acc.begin(), acc.end(), +0.0f);
    for (; last < tokens && args.sorted.ids[last] == id; ++last) {
      const Bf16* row = args.grad + args.sorted.positions[last] * args.grad_stride;
      for (std::size_t h = 0; h < acc.size(); ++h) acc[h] = acc[h] + to_float(row[h]);
    }
    if (id >= 0 && id < vocab)
      std::transform(acc.begin(), acc.end(), args.dweight + id * hidden, [](float x) { return to_bf16(x); });
    first = last;
  }
}

}  // namespace strictbench::embedding_backward
