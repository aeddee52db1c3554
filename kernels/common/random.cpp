#include "kernels/common/random.h"

#include <algorithm>
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

std::vector<std::int64_t> random_zipf(std::uint64_t key, std::int64_t count, std::int64_t n) {
  if (count < 0 || n <= 0)
    throw std::invalid_argument("random_zipf: " + std::to_string(count) + " values of " + std::to_string(n));
  std::vector<double> up_to;  // the weight of all values up to and including v
  up_to.reserve(static_cast<std::size_t>(n));
  double sum = 0;
  for (std::int64_t v = 0; v < n; ++v) up_to.push_back(sum += 1.0 / static_cast<double>(v + 1));
  std::vector<std::int64_t> values;
  values.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    const double share = static_cast<double>(mix(key + static_cast<std::uint64_t>(i)) >> 11) * 0x1p-53;
    const auto found = std::upper_bound(up_to.begin(), up_to.end(), share * sum);
    values.push_back(std::min<std::int64_t>(found - up_to.begin(), n - 1));
  }
  return values;
}

}  // namespace strictbench
