#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <vector>

#include "kernels/common/dtype.h"
#include "kernels/common/random.h"
#include "kernels/common/require.h"

namespace strictbench {
namespace {

TEST(Bf16, RoundsToNearestTiesToEven) {
  EXPECT_EQ(to_bf16(1.0f).bits, 0x3f80);
  EXPECT_EQ(to_bf16(std::bit_cast<float>(0x3f808000u)).bits, 0x3f80);  // a tie, down to even
  EXPECT_EQ(to_bf16(std::bit_cast<float>(0x3f818000u)).bits, 0x3f82);  // a tie, up to even
  EXPECT_EQ(to_bf16(std::bit_cast<float>(0x3f808001u)).bits, 0x3f81);
  EXPECT_EQ(to_bf16(-0.0f).bits, 0x8000);
  EXPECT_EQ(to_bf16(std::numeric_limits<float>::max()).bits, 0x7f80);  // rounds up to infinity
  EXPECT_EQ(to_bf16(std::numeric_limits<float>::denorm_min()).bits, 0x0000);
  EXPECT_EQ(to_bf16(std::numeric_limits<float>::quiet_NaN()).bits, 0x7fff);
  EXPECT_EQ(to_bf16(std::bit_cast<float>(0xff800001u)).bits, 0x7fff);  // never a NaN cut down to infinity
}

TEST(Bf16, EveryPatternSurvivesTheRoundTrip) {
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const Bf16 x{static_cast<std::uint16_t>(bits)};
    if (!std::isnan(to_float(x))) {
      EXPECT_EQ(to_bf16(to_float(x)).bits, bits);
    }
  }
}

TEST(Fp16, RoundsToNearestTiesToEven) {
  EXPECT_EQ(to_fp16(1.0f).bits, 0x3c00);
  EXPECT_EQ(to_fp16(1.0f + 0x1p-11f).bits, 0x3c00);      // a tie, down to even
  EXPECT_EQ(to_fp16(1.0f + 3 * 0x1p-11f).bits, 0x3c02);  // a tie, up to even
  EXPECT_EQ(to_fp16(1.0f + 0x1p-11f + 0x1p-20f).bits, 0x3c01);
  EXPECT_EQ(to_fp16(-0.0f).bits, 0x8000);
  EXPECT_EQ(to_fp16(65504.0f).bits, 0x7bff);
  EXPECT_EQ(to_fp16(std::nextafter(65520.0f, 0.0f)).bits, 0x7bff);
  EXPECT_EQ(to_fp16(-65520.0f).bits, 0xfc00);  // half a step beyond the largest: infinity
  EXPECT_EQ(to_fp16(std::numeric_limits<float>::infinity()).bits, 0x7c00);
  EXPECT_EQ(to_fp16(0x1p-24f).bits, 0x0001);  // subnormals are kept
  EXPECT_EQ(to_fp16(0x1p-25f).bits, 0x0000);  // a tie, down to even
  EXPECT_EQ(to_fp16(-3 * 0x1p-25f).bits, 0x8002);
  EXPECT_EQ(to_fp16(std::nextafter(0x1p-14f, 0.0f)).bits, 0x0400);  // up to the least normal
  EXPECT_EQ(to_fp16(std::numeric_limits<float>::quiet_NaN()).bits, 0x7fff);
  EXPECT_EQ(to_fp16(std::bit_cast<float>(0xff800001u)).bits, 0x7fff);
}

TEST(Fp16, EveryPatternSurvivesTheRoundTrip) {
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const Fp16 x{static_cast<std::uint16_t>(bits)};
    const bool nan = (bits & 0x7fffu) > 0x7c00u;
    EXPECT_EQ(std::isnan(to_float(x)), nan) << bits;
    if (!nan) {
      EXPECT_EQ(to_fp16(to_float(x)).bits, bits);
    }
  }
  EXPECT_EQ(to_float(Fp16{0x0001}), 0x1p-24f);
  EXPECT_EQ(to_float(Fp16{0xc000}), -2.0f);
}

TEST(Poison, IsANanInFp16ThatConversionsDoNotMake) {
  EXPECT_TRUE(std::isnan(to_float(Fp16{poison16})));
  EXPECT_NE(to_fp16(to_float(Fp16{poison16})).bits, poison16);
}

TEST(Poison, IsASignallingNanThatRoundingDoesNotMake) {
  EXPECT_TRUE(std::isnan(to_float(Bf16{poison16})));
  EXPECT_EQ(poison16 & 0x0040, 0);        // the quiet bit of bf16
  EXPECT_EQ(poison32 & 0x00400000u, 0u);  // and of fp32
}

TEST(Random, IsAFunctionOfKeyAndIndex) {
  const std::uint64_t key = random_key("row_fold/rows:64/cols:128/dtype:fp32/rows");
  EXPECT_EQ(random_normal(key, 7), random_normal(key, 7));
  EXPECT_NE(random_normal(key, 7), random_normal(key, 8));
  EXPECT_NE(random_normal(key, 7), random_normal(random_key("row_fold/rows:64/cols:128/dtype:fp32/row"), 7));
  // Pinned: a change of the generator changes every input, and so the meaning of every baseline.
  EXPECT_EQ(std::bit_cast<std::uint32_t>(random_normal(random_key("pinned"), 0)), 0xbf586728u);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(random_normal(random_key("pinned"), 1'000'000'007)), 0x3f4a08a5u);
  // Also in bench/peers/pytorch_test.py, whose numbers must be these.
  EXPECT_EQ(random_distinct(random_key("pinned"), 6, 10), (std::vector<std::int64_t>{4, 9, 6, 0, 2, 8}));
  EXPECT_EQ(random_zipf(random_key("pinned"), 8, 151936),
            (std::vector<std::int64_t>{3, 23, 4170, 1450, 1, 1401, 19772, 4}));
}

TEST(Random, IsAboutNormalAndUsesAllOfTheSignificand) {
  const std::uint64_t key = random_key("moments");
  constexpr int n = 200000;
  double sum = 0;
  double squares = 0;
  int within_one = 0;
  int low_bit = 0;
  for (int i = 0; i < n; ++i) {
    const float x = random_normal(key, static_cast<std::uint64_t>(i));
    sum += x;
    squares += static_cast<double>(x) * x;
    within_one += std::fabs(x) < 1.1547f;
    low_bit += static_cast<int>(std::bit_cast<std::uint32_t>(x) & 1u);
  }
  EXPECT_NEAR(sum / n, 0.0, 0.01);
  EXPECT_NEAR(std::sqrt(squares / n), 1.1547, 0.01);              // four uniforms: sqrt(4/12) * 2
  EXPECT_NEAR(static_cast<double>(within_one) / n, 0.683, 0.02);  // one standard deviation
  EXPECT_NEAR(static_cast<double>(low_bit) / n, 0.5, 0.02);       // no fixed grid: order shows in sums
}

TEST(RandomDistinct, GivesDifferentValuesInRange) {
  for (const std::int64_t n : {1, 5, 100, 151936}) {
    const std::int64_t count = std::min<std::int64_t>(n, 100);
    const auto values = random_distinct(random_key("ids"), count, n);
    const std::set<std::int64_t> different(values.begin(), values.end());
    EXPECT_EQ(different.size(), static_cast<std::size_t>(count));
    EXPECT_GE(*different.begin(), 0);
    EXPECT_LT(*different.rbegin(), n);
  }
  EXPECT_THROW(random_distinct(1, 6, 5), std::invalid_argument);
}

TEST(RandomZipf, FollowsTheLaw) {
  constexpr std::int64_t n = 1000;
  constexpr std::int64_t count = 200000;
  std::vector<int> hits(n);
  for (const std::int64_t v : random_zipf(random_key("ids"), count, n))
    ++hits.at(static_cast<std::size_t>(v));
  double harmonic = 0;
  for (int v = 1; v <= n; ++v) harmonic += 1.0 / v;
  for (const std::size_t v : {0u, 1u, 9u, 99u}) {
    const double expected = count / harmonic / static_cast<double>(v + 1);
    EXPECT_NEAR(hits[v], expected, 5 * std::sqrt(expected)) << v;
  }
  EXPECT_EQ(random_zipf(1, 3, 1), (std::vector<std::int64_t>{0, 0, 0}));
  EXPECT_THROW(random_zipf(1, 1, 0), std::invalid_argument);
  EXPECT_THROW(random_zipf(1, -1, 5), std::invalid_argument);
}

TEST(Require, FindsOverlapAndMisalignment) {
  char bytes[16] = {};
  EXPECT_NO_THROW(require_apart({bytes, 8}, {bytes + 8, 8}, "apart"));
  EXPECT_NO_THROW(require_apart({bytes, 0}, {bytes, 8}, "apart"));
  EXPECT_THROW(require_apart({bytes, 9}, {bytes + 8, 8}, "apart"), std::invalid_argument);
  EXPECT_THROW(require_apart({bytes + 4, 2}, {bytes, 16}, "apart"), std::invalid_argument);
  EXPECT_THROW(require_apart({bytes, SIZE_MAX}, {bytes + 8, 8}, "apart"), std::invalid_argument);
  EXPECT_THROW(require_apart({bytes, 8}, {bytes + 8, SIZE_MAX - 8}, "apart"), std::invalid_argument);
  EXPECT_THROW(require_apart({bytes, 0}, {bytes, SIZE_MAX}, "apart"), std::invalid_argument);
  alignas(4) const float x = 0;
  EXPECT_NO_THROW(require_aligned(&x, 4, "aligned"));
  EXPECT_THROW(require_aligned(reinterpret_cast<const char*>(&x) + 2, 4, "aligned"), std::invalid_argument);
}

TEST(Require, AddressesEndAtTwoToThe63) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const auto* const data = reinterpret_cast<const char*>(1000);
  const auto* const high = reinterpret_cast<const char*>(std::uintptr_t{1} << 63);
  const Extent found = addressed(data, -10, 20).value();
  EXPECT_EQ(found.data, data - 10);
  EXPECT_EQ(found.bytes, 30u);
  EXPECT_TRUE(addressed(data, -1000, 0).has_value());
  EXPECT_FALSE(addressed(data, -1001, 0).has_value());
  EXPECT_TRUE(addressed(data, 0, most - 1000).has_value());
  EXPECT_FALSE(addressed(data, 0, most - 999).has_value());
  EXPECT_FALSE(addressed(high, 0, 1).has_value());
  EXPECT_FALSE(addressed(high, -1, 1).has_value());
}

TEST(Require, BytesOfAMatrixMustBeAddresses) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const auto* const data = reinterpret_cast<const char*>(1000);
  const auto bytes = [&](std::int64_t rows, std::int64_t cols, std::int64_t stride) {
    return require_addressed(data, rows, cols, stride, 4, "fits").bytes;
  };
  EXPECT_EQ(bytes(3, 5, 7), (2 * 7 + 5) * 4u);
  EXPECT_EQ(bytes(0, most, most), 0u);
  EXPECT_EQ(bytes(most, 0, most), 0u);
  EXPECT_EQ(bytes(1, 5, most), 20u);                                              // nothing walks the stride
  EXPECT_THROW(bytes(3, 1, most), std::invalid_argument);                         // the product
  EXPECT_THROW(bytes(2, 2, most), std::invalid_argument);                         // the sum
  EXPECT_THROW(bytes((std::int64_t{1} << 62) + 1, 1, 1), std::invalid_argument);  // times four
  EXPECT_THROW(bytes((std::int64_t{1} << 61) - 100, 1, 1), std::invalid_argument);  // beyond the last address
}

TEST(Require, BlocksOfAGridAreCountedWithoutOverflow) {
  EXPECT_EQ(grid_blocks(0, 128, grid_y, "grid"), 0u);
  EXPECT_EQ(grid_blocks(129, 128, grid_y, "grid"), 2u);
  EXPECT_EQ(grid_blocks(grid_y * 128, 128, grid_y, "grid"), 65535u);
  EXPECT_THROW(grid_blocks(grid_y * 128 + 1, 128, grid_y, "grid"), std::invalid_argument);
  EXPECT_THROW(grid_blocks(std::numeric_limits<long long>::max(), 128, grid_x, "grid"),
               std::invalid_argument);
}

}  // namespace
}  // namespace strictbench
