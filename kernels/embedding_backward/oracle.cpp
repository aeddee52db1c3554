#include <algorithm>
#include <array>

#include "kernels/embedding_backward/embedding_backward.h"

namespace strictbench::embedding_backward {
namespace {

bool in_range(const Shape& shape, std::int64_t id) { return id >= 0 && id < shape.vocab; }

}  // namespace

Sums oracle(const Shape& shape, const std::vector<std::int64_t>& ids, const std::vector<float>& grad) {
  const auto hidden = static_cast<std::size_t>(shape.hidden);
  Sums sums;
  for (std::size_t t = 0; t < ids.size(); ++t) {
    if (!in_range(shape, ids[t])) continue;
    auto& acc = sums.try_emplace(ids[t], hidden, +0.0f).first->second;
    for (std::size_t h = 0; h < hidden; ++h) acc[h] = acc[h] + grad[t * hidden + h];
  }
  return sums;
}

Sums oracle_step_tree(const Shape& shape, const std::vector<std::int64_t>& ids,
                      const std::vector<float>& grad) {
  const auto hidden = static_cast<std::size_t>(shape.hidden);
  constexpr auto step = static_cast<std::size_t>(step_tokens);
  Sums sums;
  for (const std::int64_t id : ids)
    if (in_range(shape, id)) sums.try_emplace(id, hidden, +0.0f);
  for (auto& [id, acc] : sums)
    for (std::size_t h = 0; h < hidden; ++h)
      for (std::size_t first = 0; first < ids.size(); first += step) {
        std::array<float, step> lane{};
        for (std::size_t i = 0; i < step && first + i < ids.size(); ++i)
          if (ids[first + i] == id) lane[i] = grad[(first + i) * hidden + h];
        for (std::size_t stride = step / 2; stride > 0; stride /= 2)
          for (std::size_t i = 0; i < stride; ++i) lane[i] = lane[i] + lane[i + stride];
        acc[h] = acc[h] + lane[0];
      }
  return sums;
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

std::vector<std::int64_t> canonical_order(const std::vector<std::int64_t>& keys) {
  std::vector<std::int64_t> order;
  for (std::size_t t = 0; t < keys.size(); ++t)
    if (keys[t] >= 0) order.push_back(static_cast<std::int64_t>(t));
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return keys[static_cast<std::size_t>(a)] < keys[static_cast<std::size_t>(b)];
  });
  return order;
}

}  // namespace strictbench::embedding_backward
