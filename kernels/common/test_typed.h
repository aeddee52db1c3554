/// For tests: values of a type known only when the test runs, as bytes.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/common/dtype.h"
#include "kernels/common/random.h"
#include "kernels/common/test_array.h"

namespace strictbench::test {

inline constexpr Dtype dtypes[] = {Dtype::fp32, Dtype::bf16, Dtype::fp16};

/// The values, each rounded once to `dtype`.
inline std::vector<std::byte> encoded(Dtype dtype, const std::vector<float>& values) {
  return with_type(dtype, [&]<class T>() {
    std::vector<std::byte> bytes(values.size() * sizeof(T));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const T value = rounded<T>(values[i]);
      std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof value);
    }
    return bytes;
  });
}

/// `count` elements full of poison.
inline std::vector<std::byte> poisoned_bytes(Dtype dtype, std::size_t count) {
  std::vector<std::byte> bytes(count * size_of(dtype));
  for (std::size_t b = 0; b < bytes.size(); b += sizeof poison16)
    std::memcpy(bytes.data() + b, &poison16, sizeof poison16);
  return bytes;
}

/// The elements' bits.
inline std::vector<std::uint32_t> bits(Dtype dtype, const std::vector<std::byte>& bytes) {
  std::vector<std::uint32_t> all(bytes.size() / size_of(dtype));
  for (std::size_t i = 0; i < all.size(); ++i)
    std::memcpy(&all[i], bytes.data() + i * size_of(dtype), size_of(dtype));
  return all;
}

enum class Poison { stays, is_a_nan };

/// The bits, every NaN as one and the same, since devices make different ones. Poison stays what it is, so
/// that an element that was never written shows; in bits that are expected it is a NaN as any other.
inline std::vector<std::uint32_t> bits_any_nan(Dtype dtype, const std::vector<std::byte>& bytes,
                                               Poison poison = Poison::stays) {
  std::vector<std::uint32_t> all = bits(dtype, bytes);
  const bool wide = dtype == Dtype::fp32;
  const std::uint32_t infinity = wide ? 0x7f800000u : dtype == Dtype::bf16 ? 0x7f80u : 0x7c00u;
  for (std::uint32_t& x : all)
    if ((x & (wide ? 0x7fffffffu : 0x7fffu)) > infinity &&
        (poison == Poison::is_a_nan || x != (wide ? poison32 : std::uint32_t{poison16})))
      x = wide ? 0x7fffffffu : 0x7fffu;
  return all;
}

/// Rows as cancelling_rows has them, exact in `dtype` (their largest values fit fp16, their smallest are no
/// subnormals of it), so that the order of addition shows in every type.
inline std::vector<float> cancelling_values(std::uint64_t key, std::int64_t rows, std::int64_t cols,
                                            Dtype dtype) {
  std::vector<float> values;
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < cols; ++c) {
      const auto at = [&](std::int64_t row) {
        return random_normal(key, static_cast<std::uint64_t>(row * cols + c));
      };
      const float large = at(rows + r / 3) * 0x1p13f;
      const float value = r % 3 == 0 ? at(r) * 0x1p-9f : r % 3 == 1 ? large : -large;
      values.push_back(with_type(dtype, [&]<class T>() { return to_float(rounded<T>(value)); }));
    }
  return values;
}

/// Expects that `call` throws std::invalid_argument with `part` in its message.
template <class Call>
void expect_refusal(const Call& call, const std::string& part) {
  try {
    call();
    ADD_FAILURE() << "accepted, where this was expected: " << part;
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

}  // namespace strictbench::test
