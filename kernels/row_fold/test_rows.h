/// For tests: rows whose sums show the order of addition, and every variant against the oracle.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/common/random.h"
#include "kernels/common/test_array.h"
#include "kernels/row_fold/row_fold.h"

namespace strictbench::row_fold::test {

using namespace strictbench::test;

/// Values of magnitudes near 2^-9 and 2^12 in turn by chance: their sums need more bits than an fp32 has, so
/// the order of addition shows even where each is exact in bf16 or fp16. All are finite in fp16.
template <class T>
std::vector<T> wide_values(std::uint64_t key, std::int64_t count) {
  std::vector<T> values;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::uint64_t>(i);
    values.push_back(
        rounded<T>(random_normal(key, at) * (random_below(~key, at, 2) == 0 ? 0x1p-9f : 0x1p12f)));
  }
  return values;
}

/// Bits equal, or both NaN and `got` not the poison, as the benchmark's check has it.
inline void expect_same(const std::vector<float>& got, const std::vector<float>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t c = 0; c < got.size(); ++c) {
    const auto got_bits = std::bit_cast<std::uint32_t>(got[c]);
    if (std::isnan(expected[c])) {
      EXPECT_TRUE(std::isnan(got[c]) && got_bits != poison32) << "column " << c;
    } else {
      EXPECT_EQ(got_bits, std::bit_cast<std::uint32_t>(expected[c])) << "column " << c;
    }
  }
}

/// A layout of these sizes and strides, its data and type still open.
inline Layout tensor(std::initializer_list<std::int64_t> sizes, std::initializer_list<std::int64_t> strides) {
  Layout layout{.rank = static_cast<int>(sizes.size())};
  std::copy(sizes.begin(), sizes.end(), layout.sizes);
  std::copy(strides.begin(), strides.end(), layout.strides);
  return layout;
}

inline std::string text(const Layout& layout) {
  std::ostringstream text;
  text << name_of(layout.dtype) << ", sizes and strides";
  for (int d = 0; d < layout.rank; ++d) text << ' ' << layout.sizes[d] << ':' << layout.strides[d];
  return text.str();
}

/// Or the test itself reads where nothing is.
template <class T>
void expect_within(const Layout& layout, const std::vector<T>& memory) {
  const Extent read = extent(layout).value();
  const auto first = reinterpret_cast<std::uintptr_t>(read.data);
  const auto start = reinterpret_cast<std::uintptr_t>(memory.data());
  ASSERT_TRUE(read.bytes == 0 || (first >= start && first + read.bytes <= start + memory.size() * sizeof(T)))
      << text(layout);
}

/// Every variant on every device has the oracle's bits on `layout`, whose elements lie in `memory` from
/// memory[origin] on; its data and dtype are filled in here. Gives the oracle's result.
template <class T>
std::vector<float> expect_all_variants(Layout layout, const std::vector<T>& memory, std::int64_t origin = 0) {
  layout.dtype = dtype_of<T>;
  layout.data = memory.data() + origin;
  expect_within(layout, memory);
  const std::vector<float> expected = oracle(layout);
  for (const Device device : devices()) {
    Array<T> in(device, memory);
    layout.data = in.data() + origin;
    for (const auto& variant : variants) {
      if (variant.device != device) continue;
      SCOPED_TRACE(std::string(variant.name) + " on " + strictbench::test::text(device) + ", " +
                   text(layout));
      Array<float> out(device, expected.size());
      variant.launch({.rows = layout, .out = out.data()}, nullptr);
      expect_same(out.values(), expected);
    }
  }
  return expected;
}

}  // namespace strictbench::row_fold::test
