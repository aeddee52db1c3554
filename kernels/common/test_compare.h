/// For tests: how results are held to what was expected, beside the equality of all bits.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/common/dtype.h"

namespace strictbench::test {

enum class Zeros { keep_their_sign, are_one };

/// The bits, every NaN but the poison as one and the same, since devices make different ones; where asked, -0
/// as +0, for orders of addition that leave a zero's sign to the hardware.
inline std::vector<std::uint16_t> bits_any_nan(const std::vector<Bf16>& values,
                                               Zeros zeros = Zeros::keep_their_sign) {
  std::vector<std::uint16_t> all;
  for (const Bf16 value : values) {
    const bool is_nan = (value.bits & 0x7fffu) > 0x7f80u && value.bits != poison16;
    const bool is_zero = (value.bits & 0x7fffu) == 0;
    all.push_back(is_nan ? 0x7fff : is_zero && zeros == Zeros::are_one ? 0 : value.bits);
  }
  return all;
}

/// How many elements have other bits.
inline std::int64_t differing(const std::vector<Bf16>& left, const std::vector<Bf16>& right) {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < right.size(); ++i) count += left.at(i).bits != right[i].bits;
  return count;
}

/// |got - expected| / |expected| over all elements. NaN if any element is one.
inline double relative_l2(std::span<const Bf16> got, std::span<const Bf16> expected) {
  double error = 0;
  double size = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double e = to_float(expected[i]);
    const double g = i < got.size() ? to_float(got[i]) : std::nan("");
    error += (g - e) * (g - e);
    size += e * e;
  }
  return std::sqrt(error / size);
}

/// The largest error of a row, against what a row of that length has on average: a row may be short or small
/// by chance, and a fault in one row must not drown in the others. NaN if any element is one.
inline double worst_row(std::span<const Bf16> got, std::span<const Bf16> expected, std::int64_t cols) {
  double size = 0;
  for (const Bf16 e : expected) size += double{to_float(e)} * to_float(e);
  const double rows = static_cast<double>(expected.size()) / static_cast<double>(cols);
  double worst = 0;
  for (std::size_t first = 0; first < expected.size(); first += static_cast<std::size_t>(cols)) {
    double error = 0;
    for (std::size_t i = first; i < first + static_cast<std::size_t>(cols); ++i) {
      const double e = to_float(expected[i]);
      const double g = i < got.size() ? to_float(got[i]) : std::nan("");
      error += (g - e) * (g - e);
    }
    const double relative = std::sqrt(error * rows / size);
    if (!(relative <= worst)) worst = relative;
    if (std::isnan(worst)) return worst;
  }
  return worst;
}

/// What the tensor cores' own inner order may cost `count` normally distributed elements: seldom does a
/// rounding go the other way (relative L2 errors of 2e-5 were seen on an H200), but among few elements a
/// single one weighs up to 2^-5 of their mean size.
inline double tensor_core_tolerance(std::int64_t count) {
  return std::max(0.0005, 0x1p-5 / std::sqrt(static_cast<double>(count)));
}

}  // namespace strictbench::test
