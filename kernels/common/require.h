/// Argument checks at an operator's boundary.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
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

/// Bytes [data + first, data + end); nothing where they do not lie in [0, 2^63), as all addresses do.
inline std::optional<Extent> addressed(const void* data, std::int64_t first, std::int64_t end) {
  const auto address = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(data));
  if (address < 0 || __builtin_add_overflow(address, first, &first) || first < 0 ||
      __builtin_add_overflow(address, end, &end))
    return std::nullopt;
  return Extent{.data = reinterpret_cast<const void*>(first), .bytes = static_cast<std::size_t>(end - first)};
}

/// The bytes of [rows, cols] at `data`, whose rows lie `stride` elements apart. Throws std::invalid_argument
/// with `rule` where they end beyond all addresses. Sizes must not be negative.
inline Extent require_addressed(const void* data, std::int64_t rows, std::int64_t cols, std::int64_t stride,
                                std::size_t element_bytes, const char* rule) {
  if (rows == 0 || cols == 0) return {.data = data, .bytes = 0};
  std::int64_t end = 0;
  const bool counted = !__builtin_mul_overflow(rows - 1, stride, &end) &&
                       !__builtin_add_overflow(end, cols, &end) &&
                       !__builtin_mul_overflow(end, static_cast<std::int64_t>(element_bytes), &end);
  const auto found = counted ? addressed(data, 0, end) : std::nullopt;
  require(found.has_value(), rule);
  return *found;
}

/// Throws std::invalid_argument with `rule` if the two share a byte, or one of them ends beyond all
/// addresses.
inline void require_apart(Extent a, Extent b, const char* rule) {
  const auto a_first = reinterpret_cast<std::uintptr_t>(a.data);
  const auto b_first = reinterpret_cast<std::uintptr_t>(b.data);
  const auto a_end = a_first + a.bytes;
  const auto b_end = b_first + b.bytes;
  require(a_end >= a_first && b_end >= b_first, rule);
  require(a.bytes == 0 || b.bytes == 0 || a_end <= b_first || b_end <= a_first, rule);
}

constexpr long long ceil_div(long long a, long long b) { return (a + b - 1) / b; }

/// The most blocks of a CUDA grid along its first and its second side.
inline constexpr long long grid_x = 2147483647;
inline constexpr long long grid_y = 65535;

/// Blocks of `block` that cover `n`. Throws std::invalid_argument with `rule` if they pass `limit`.
inline unsigned grid_blocks(long long n, long long block, long long limit, const char* rule) {
  const long long blocks = n / block + (n % block != 0);  // whatever n: ceil_div's sum may pass 2^63
  require(blocks <= limit, rule);
  return static_cast<unsigned>(blocks);
}

}  // namespace strictbench
