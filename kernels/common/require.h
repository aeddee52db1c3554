/// Argument checks at an operator's boundary.
#pragma once
#include <stdexcept>
#include <string>

namespace strictbench {

/// Throws std::invalid_argument with `rule`, which names the argument and what must hold.
inline void require(bool holds, const char* rule) {
  if (!holds) throw std::invalid_argument(rule);
}

constexpr long long ceil_div(long long a, long long b) { return (a + b - 1) / b; }

}  // namespace strictbench
