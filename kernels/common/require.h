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

/// The most blocks of a CUDA grid along its first and its second side.
inline constexpr long long grid_x = 2147483647;
inline constexpr long long grid_y = 65535;

/// Blocks of `block` that cover `n`. Throws std::invalid_argument with `rule` if they pass `limit`.
inline unsigned grid_blocks(long long n, long long block, long long limit, const char* rule) {
  const long long blocks = ceil_div(n, block);
  require(blocks <= limit, rule);
  return static_cast<unsigned>(blocks);
}

}  // namespace strictbench
