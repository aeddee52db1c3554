/// For tests: the numbers at the edges of a type, where kernels that agree elsewhere differ.
#pragma once
#include <cstdint>
#include <vector>

#include "kernels/common/dtype.h"
#include "kernels/common/test_draw.h"
#include "kernels/common/typed.h"

namespace strictbench::test {

/// The bits of T, the sign apart, that divide its numbers from each other.
template <Element T>
struct Edges {
  static constexpr int fraction_bits = dtype_of<T> == Dtype::fp32 ? 23 : dtype_of<T> == Dtype::bf16 ? 7 : 10;
  static constexpr std::uint32_t least_normal = 1u << fraction_bits;
  static constexpr std::uint32_t infinity = dtype_of<T> == Dtype::fp32   ? 0x7f800000u
                                            : dtype_of<T> == Dtype::bf16 ? 0x7f80u
                                                                         : 0x7c00u;
  static constexpr std::uint32_t quiet_nan = infinity + least_normal / 2;
  static constexpr std::uint32_t sign = 1u << (8 * sizeof(T) - 1);
};

template <Element T>
T from_bits(std::uint32_t bits) {
  if constexpr (dtype_of<T> == Dtype::fp32)
    return std::bit_cast<float>(bits);
  else
    return {static_cast<std::uint16_t>(bits)};
}

/// Of either sign, uniform.
template <Element T>
T subnormal_value(Draw& draw) {
  const auto magnitude = static_cast<std::uint32_t>(draw.between(1, Edges<T>::least_normal - 1));
  return from_bits<T>(magnitude | (draw.flip() ? Edges<T>::sign : 0u));
}

/// A zero, the least, the greatest or any subnormal, the least or the greatest normal or infinity, of either
/// sign, or NaN.
template <Element T>
T special_value(Draw& draw) {
  using E = Edges<T>;
  const std::uint32_t sign = draw.flip() ? E::sign : 0u;
  const std::uint32_t magnitude = draw.pick({0u, 1u, E::least_normal - 1,
                                             static_cast<std::uint32_t>(draw.between(1, E::least_normal - 1)),
                                             E::least_normal, E::infinity - 1, E::infinity, E::quiet_nan});
  return from_bits<T>(magnitude == E::quiet_nan ? magnitude : magnitude | sign);
}

/// Leaves the values as they are, or makes a few or a quarter of them special, or all of them subnormal: only
/// sums that stay small show whether subnormals are flushed.
template <Element T>
void mix_in_specials(Draw& draw, std::vector<T>& values) {
  enum Mix { none, few, quarter, subnormal };
  const Mix mix = draw.pick({none, none, few, quarter, subnormal});
  if (values.empty() || mix == none) return;
  if (mix == few)
    for (std::int64_t n = draw.between(1, 20); n > 0; --n)
      values[static_cast<std::size_t>(draw.between(0, static_cast<std::int64_t>(values.size()) - 1))] =
          special_value<T>(draw);
  else
    for (T& value : values)
      if (mix == subnormal)
        value = subnormal_value<T>(draw);
      else if (draw.between(0, 3) == 0)
        value = special_value<T>(draw);
}

/// The same for numbers that are each exact in `dtype`, and stay so.
inline void mix_in_specials(Draw& draw, Dtype dtype, std::vector<float>& values) {
  with_type(dtype, [&]<class T>() {
    std::vector<T> typed;
    for (const float value : values) typed.push_back(rounded<T>(value));
    mix_in_specials(draw, typed);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = to_float(typed[i]);
  });
}

/// Another int64 whose lower 32 bits are those of `x`: what handles ids or keys as int32 takes the two for
/// one.
inline std::int64_t same_lower_half(Draw& draw, std::int64_t x) {
  constexpr std::uint64_t lower = 0xffffffffu;
  return static_cast<std::int64_t>((draw.key() & ~lower) | (static_cast<std::uint64_t>(x) & lower));
}

}  // namespace strictbench::test
