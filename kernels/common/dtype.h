/// Element types and their bits.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace strictbench {

enum class Dtype { fp32, bf16 };

constexpr std::size_t size_of(Dtype dtype) { return dtype == Dtype::fp32 ? 4 : 2; }
constexpr std::string_view name_of(Dtype dtype) { return dtype == Dtype::fp32 ? "fp32" : "bf16"; }

/// A bf16 number by its bits: the upper half of an fp32.
struct Bf16 {
  std::uint16_t bits;
};

constexpr float to_float(Bf16 x) { return std::bit_cast<float>(std::uint32_t{x.bits} << 16); }

/// Rounds to nearest, ties to even. Every NaN becomes 0x7fff, as on the GPU.
constexpr Bf16 to_bf16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return {0x7fff};
  return {static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}

/// The pattern outputs are filled with before a check: a signalling NaN, which no operation produces, in
/// bf16 and (repeated) in fp32. An element that still holds it was never written.
constexpr std::uint16_t poison16 = 0x7fa5;
constexpr std::uint32_t poison32 = 0x7fa57fa5;

}  // namespace strictbench
