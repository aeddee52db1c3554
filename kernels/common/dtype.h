/// Element types, their bits, and how fp32 becomes one of them. Usable on the host and, in *.cu, on the GPU.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <type_traits>

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

namespace strictbench {

enum class Dtype { fp32, bf16, fp16 };

constexpr std::size_t size_of(Dtype dtype) { return dtype == Dtype::fp32 ? 4 : 2; }
constexpr std::string_view name_of(Dtype dtype) {
  return dtype == Dtype::fp32 ? "fp32" : dtype == Dtype::bf16 ? "bf16" : "fp16";
}

/// A bf16 number by its bits: the upper half of an fp32.
struct Bf16 {
  std::uint16_t bits;
};

/// An IEEE binary16 number by its bits.
struct Fp16 {
  std::uint16_t bits;
};

constexpr float to_float(float x) { return x; }
constexpr float to_float(Bf16 x) { return std::bit_cast<float>(std::uint32_t{x.bits} << 16); }
constexpr float to_float(Fp16 x) {
#ifdef __CUDA_ARCH__
  if (!std::is_constant_evaluated()) return __half2float(__ushort_as_half(x.bits));
#endif
  const std::uint32_t sign = std::uint32_t{x.bits & 0x8000u} << 16;
  const std::uint32_t magnitude = x.bits & 0x7fffu;
  if (magnitude < 0x0400u) {  // zero or subnormal: a whole number of 2^-24
    const float value = static_cast<float>(magnitude) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
  }
  const std::uint32_t rebias = magnitude >= 0x7c00u ? 0x70000000u : 0x38000000u;  // infinity, NaN stay such
  return std::bit_cast<float>(sign | ((magnitude << 13) + rebias));
}

/// Rounds to nearest, ties to even. Every NaN becomes 0x7fff, as on the GPU.
constexpr Bf16 to_bf16(float x) {
#ifdef __CUDA_ARCH__
  if (!std::is_constant_evaluated()) return {__bfloat16_as_ushort(__float2bfloat16_rn(x))};
#endif
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return {0x7fff};
  return {static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}

/// Rounds to nearest, ties to even; 65520 and more becomes infinity, subnormals are kept. Every NaN becomes
/// 0x7fff, as on the GPU.
constexpr Fp16 to_fp16(float x) {
#ifdef __CUDA_ARCH__
  if (!std::is_constant_evaluated()) return {__half_as_ushort(__float2half_rn(x))};
#endif
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return {0x7fff};
  if (magnitude >= 0x477ff000u) return {static_cast<std::uint16_t>(sign | 0x7c00u)};
  if (magnitude < 0x38800000u) {
    // Under 2^-14: next to 0.5 the last bit of an fp32 is 2^-24, the unit of fp16's subnormals.
    const auto shifted = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f);
    return {static_cast<std::uint16_t>(sign | (shifted - 0x3f000000u))};
  }
  magnitude += 0x0fffu + ((magnitude >> 13) & 1u);
  return {static_cast<std::uint16_t>(sign | ((magnitude - 0x38000000u) >> 13))};
}

/// An fp32 as a T (float, Bf16 or Fp16), rounded to nearest, ties to even.
template <class T>
constexpr T rounded(float x) {
  if constexpr (std::is_same_v<T, Bf16>)
    return to_bf16(x);
  else if constexpr (std::is_same_v<T, Fp16>)
    return to_fp16(x);
  else
    return x;
}

template <class T>
inline constexpr Dtype dtype_of = std::is_same_v<T, Bf16>   ? Dtype::bf16
                                  : std::is_same_v<T, Fp16> ? Dtype::fp16
                                                            : Dtype::fp32;

/// Calls `work` with the element type of `dtype` as its template argument: with_type(d, [&]<class T>()
/// {...}). Throws std::invalid_argument for a value that is no dtype.
template <class Work>
decltype(auto) with_type(Dtype dtype, Work&& work) {
  switch (dtype) {
    case Dtype::fp32:
      return work.template operator()<float>();
    case Dtype::bf16:
      return work.template operator()<Bf16>();
    case Dtype::fp16:
      return work.template operator()<Fp16>();
  }
  throw std::invalid_argument("dtype must be fp32, bf16 or fp16");
}

/// Integer types of token ids.
enum class IdType { int64, int32 };

constexpr std::size_t size_of(IdType type) { return type == IdType::int64 ? 8 : 4; }

/// As with_type of a Dtype: std::int64_t or std::int32_t.
template <class Work>
decltype(auto) with_type(IdType type, Work&& work) {
  switch (type) {
    case IdType::int64:
      return work.template operator()<std::int64_t>();
    case IdType::int32:
      return work.template operator()<std::int32_t>();
  }
  throw std::invalid_argument("ids must be int64 or int32");
}

/// The pattern outputs are filled with before a check: a NaN that no operation makes (signalling in bf16 and,
/// repeated, in fp32; in fp16 a NaN other than the one that every conversion gives). An element that still
/// holds it was never written.
constexpr std::uint16_t poison16 = 0x7fa5;
constexpr std::uint32_t poison32 = 0x7fa57fa5;

}  // namespace strictbench
