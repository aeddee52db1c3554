/// For tests: properties that must hold for whatever shapes, types, strides and patterns are drawn.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <random>
#include <stdexcept>
#include <string>

#include "kernels/common/random.h"

namespace strictbench::test {

/// One case's source of choices.
class Draw {
 public:
  explicit Draw(std::uint64_t key) : key_(key) {}

  /// Uniform in [lo, hi].
  std::int64_t between(std::int64_t lo, std::int64_t hi) {
    return lo +
           static_cast<std::int64_t>(random_below(key_, next_++, static_cast<std::uint64_t>(hi - lo + 1)));
  }
  /// In [lo, hi], small values far more often than large ones: edges are where faults are.
  std::int64_t size(std::int64_t lo, std::int64_t hi) { return between(lo, between(lo, between(lo, hi))); }
  bool flip() { return between(0, 1) == 1; }
  template <class T>
  T pick(std::initializer_list<T> from) {
    return from.begin()[between(0, static_cast<std::int64_t>(from.size()) - 1)];
  }
  /// A key for random_normal and its like.
  std::uint64_t key() { return mix(key_ ^ mix(next_++)); }

 private:
  std::uint64_t key_;
  std::uint64_t next_ = 0;
};

/// STRICTBENCH_SEED where it is set, else another one each time; printed when first asked for.
inline std::uint64_t seed() {
  static const std::uint64_t value = [] {
    std::uint64_t chosen = std::random_device{}();
    if (const char* const given = std::getenv("STRICTBENCH_SEED"); given != nullptr) {
      char* end = nullptr;
      errno = 0;
      chosen = std::strtoull(given, &end, 10);
      if (end == given || *end != '\0' || errno != 0)
        throw std::invalid_argument("STRICTBENCH_SEED is '" + std::string(given) + "', not a whole number");
    }
    std::printf("[   SEED   ] the draws of this run come again with STRICTBENCH_SEED=%llu\n",
                static_cast<unsigned long long>(chosen));
    return chosen;
  }();
  return value;
}

/// STRICTBENCH_DRAWS where it is set: the most cases that any property is tried on. Under a tool that makes
/// every launch a hundred times dearer, a few draws of each must do.
inline int most_draws() {
  const char* const given = std::getenv("STRICTBENCH_DRAWS");
  return given == nullptr ? 1'000'000 : std::atoi(given);
}

/// Runs `property(draw)` for `cases` drawn cases, up to the first that fails; a failure names seed and case.
template <class Property>
void for_all_draws(const char* name, int cases, const Property& property) {
  cases = std::min(cases, most_draws());
  for (int i = 0; i < cases && !testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE("STRICTBENCH_SEED=" + std::to_string(seed()) + ", case " + std::to_string(i));
    Draw draw(mix(random_key(name) ^ mix(seed() + static_cast<std::uint64_t>(i))));
    property(draw);
  }
}

}  // namespace strictbench::test
