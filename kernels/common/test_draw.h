/// For tests: properties that must hold for whatever shapes, types, strides and patterns are drawn.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <optional>
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
  /// In [0, hi], one class of sizes about as often as another: none, one, a few, around the 64 and 128 where
  /// blocks and steps end, and all above.
  std::int64_t size_by_class(std::int64_t hi) {
    const std::int64_t classed = [&] {
      switch (between(0, 11)) {
        case 0:
          return std::int64_t{0};
        case 1:
          return std::int64_t{1};
        case 2:
        case 3:
        case 4:
          return between(2, 16);
        case 5:
        case 6:
          return between(62, 66);
        case 7:
        case 8:
          return between(126, 130);
        default:
          return between(std::min<std::int64_t>(hi, 131), hi);
      }
    }();
    return std::min(classed, hi);
  }
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

/// The number in the environment variable `name`, nothing where it is not set. Throws std::invalid_argument
/// for anything but a whole number of at least `least`: a typing error must not make a test do less.
inline std::optional<std::uint64_t> number_from_environment(const char* name, std::uint64_t least) {
  const char* const given = std::getenv(name);
  if (given == nullptr) return std::nullopt;
  std::uint64_t number = 0;
  const char* const end = given + std::strlen(given);
  const auto [read_to, error] = std::from_chars(given, end, number);
  if (read_to != end || error != std::errc{} || number < least)
    throw std::invalid_argument(std::string(name) + " is '" + given + "', not a whole number" +
                                (least > 0 ? " of at least " + std::to_string(least) : ""));
  return number;
}

/// STRICTBENCH_SEED where it is set, else another one each time; printed when first asked for.
inline std::uint64_t seed() {
  static const std::uint64_t value = [] {
    const std::uint64_t chosen =
        number_from_environment("STRICTBENCH_SEED", 0).value_or(std::random_device{}());
    std::printf("[   SEED   ] the draws of this run come again with STRICTBENCH_SEED=%llu\n",
                static_cast<unsigned long long>(chosen));
    return chosen;
  }();
  return value;
}

/// STRICTBENCH_DRAWS where it is set: the most cases that any property is tried on. Under a tool that makes
/// every launch a hundred times dearer, a few draws of each must do.
inline int most_draws() {
  constexpr std::uint64_t all = 1'000'000;
  return static_cast<int>(std::min(number_from_environment("STRICTBENCH_DRAWS", 1).value_or(all), all));
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
