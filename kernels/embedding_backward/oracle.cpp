#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

#include "kernels/common/require.h"
#include "kernels/embedding_backward/embedding_backward.h"

namespace strictbench::embedding_backward {
namespace {

using Accumulators = std::map<std::int64_t, std::vector<float>>;

Rows rounded(const Accumulators& sums) {
  Rows rows;
  for (const auto& [id, sum] : sums) {
    auto& row = rows[id];
    row.reserve(sum.size());
    for (const float x : sum) row.push_back(to_bf16(x));
  }
  return rows;
}

bool in_range(const Shape& shape, std::int64_t id) { return id >= 0 && id < shape.vocab; }

}  // namespace

void validate(const Args& args) {
  const auto& [tokens, vocab, hidden] = args.shape;
  require(tokens >= 0, "embedding_backward: shape.tokens must not be negative");
  require(vocab >= 0, "embedding_backward: shape.vocab must not be negative");
  require(hidden >= 0, "embedding_backward: shape.hidden must not be negative");
  require(args.grad_stride >= hidden, "embedding_backward: grad_stride must be at least shape.hidden");
  require(args.ids != nullptr || tokens == 0, "embedding_backward: ids must not be null");
  require(args.grad != nullptr || tokens == 0 || hidden == 0, "embedding_backward: grad must not be null");
  require(args.dweight != nullptr || vocab == 0 || hidden == 0,
          "embedding_backward: dweight must not be null");
}

void validate_ids(const Shape& shape, const std::vector<std::int64_t>& ids) {
  for (std::size_t t = 0; t < ids.size(); ++t)
    if (!in_range(shape, ids[t]))
      throw std::invalid_argument("embedding_backward: ids[" + std::to_string(t) + "] is " +
                                  std::to_string(ids[t]) + ", outside [0, " + std::to_string(shape.vocab) +
                                  ")");
}

Rows oracle(const Shape& shape, const std::vector<std::int64_t>& ids, const std::vector<Bf16>& grad) {
  const auto hidden = static_cast<std::size_t>(shape.hidden);
  Accumulators sums;
  for (std::size_t t = 0; t < ids.size(); ++t) {
    if (!in_range(shape, ids[t])) continue;
    auto& acc = sums.try_emplace(ids[t], hidden, +0.0f).first->second;
    for (std::size_t h = 0; h < hidden; ++h) acc[h] = acc[h] + to_float(grad[t * hidden + h]);
  }
  return rounded(sums);
}

Rows oracle_step_tree(const Shape& shape, const std::vector<std::int64_t>& ids,
                      const std::vector<Bf16>& grad) {
  const auto hidden = static_cast<std::size_t>(shape.hidden);
  constexpr auto step = static_cast<std::size_t>(step_tokens);
  Accumulators sums;
  for (const std::int64_t id : ids)
    if (in_range(shape, id)) sums.try_emplace(id, hidden, +0.0f);
  for (auto& [id, acc] : sums)
    for (std::size_t h = 0; h < hidden; ++h)
      for (std::size_t first = 0; first < ids.size(); first += step) {
        std::array<float, step> lane{};
        for (std::size_t i = 0; i < step && first + i < ids.size(); ++i)
          if (ids[first + i] == id) lane[i] = to_float(grad[(first + i) * hidden + h]);
        for (std::size_t stride = step / 2; stride > 0; stride /= 2)
          for (std::size_t i = 0; i < stride; ++i) lane[i] = lane[i] + lane[i + stride];
        acc[h] = acc[h] + lane[0];
      }
  return rounded(sums);
}

bool orders_agree(const Shape& shape, const std::vector<std::int64_t>& ids) {
  struct Seen {
    std::size_t first_step;
    std::size_t step;
    int hits_in_step;
  };
  std::map<std::int64_t, Seen> seen;
  for (std::size_t t = 0; t < ids.size(); ++t) {
    if (!in_range(shape, ids[t])) continue;
    const std::size_t step = t / static_cast<std::size_t>(step_tokens);
    auto& s = seen.try_emplace(ids[t], Seen{step, step, 0}).first->second;
    s.hits_in_step = s.step == step ? s.hits_in_step + 1 : 1;
    s.step = step;
    if (s.hits_in_step > (step == s.first_step ? 2 : 1)) return false;
  }
  return true;
}

}  // namespace strictbench::embedding_backward
