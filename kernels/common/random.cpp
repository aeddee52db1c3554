#include "kernels/common/random.h"

#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>

namespace strictbench {

std::vector<std::int64_t> random_distinct(std::uint64_t key, std::int64_t count, std::int64_t n) {
  if (count < 0 || count > n)
    throw std::invalid_argument("random_distinct: " + std::to_string(count) + " different values of " +
                                std::to_string(n));
  // Fisher-Yates, keeping only the places that moved: n may be a vocabulary, count a handful.
  std::unordered_map<std::int64_t, std::int64_t> moved;
  const auto at = [&](std::int64_t i) {
    const auto found = moved.find(i);
    return found == moved.end() ? i : found->second;
  };
  std::vector<std::int64_t> values;
  values.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    const auto left = static_cast<std::uint64_t>(n - i);
    const std::int64_t j =
        i + static_cast<std::int64_t>(random_below(key, static_cast<std::uint64_t>(i), left));
    values.push_back(at(j));
    moved[j] = at(i);
  }
  return values;
}

}  // namespace strictbench
