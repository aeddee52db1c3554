/// Argument checks at an operator's boundary.
#pragma once
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace strictbench {

/// Throws std::invalid_argument with `rule`, which names the argument and what must hold.
inline void require(bool holds, const char* rule) {
  if (!holds) throw std::invalid_argument(rule);
}

/// Throws std::invalid_argument with `rule` unless `data` is a multiple of `alignment` bytes.
inline void require_aligned(const void* data, std::size_t alignment, const char* rule) {
  require(reinterpret_cast<std::uintptr_t>(data) % alignment == 0, rule);
}

/// Bytes [data, data + bytes) of host or device memory.
struct Extent {
  const void* data;
  std::size_t bytes;
};

/// Throws std::invalid_argument with `rule` if the two share a byte.
inline void require_apart(Extent a, Extent b, const char* rule) {
  const auto a_first = reinterpret_cast<std::uintptr_t>(a.data);
  const auto b_first = reinterpret_cast<std::uintptr_t>(b.data);
  require(a.bytes == 0 || b.bytes == 0 || a_first + a.bytes <= b_first || b_first + b.bytes <= a_first, rule);
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
