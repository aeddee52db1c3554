#include "kernels/rmsnorm_dweight/rmsnorm_dweight.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "kernels/common/test_draw.h"
#include "kernels/common/test_special.h"
#include "kernels/rmsnorm_dweight/test_arguments.h"
#include "kernels/row_fold/row_fold.h"

namespace strictbench::rmsnorm_dweight {
namespace {

using test::Arguments;
using test::bits;
using test::Draw;
using test::expect_all_variants;
using test::half_mask;
using test::random_arguments;

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

template <class T>
class RmsnormDweight : public testing::Test {};
using ElementTypes = testing::Types<float, Bf16, Fp16>;
TYPED_TEST_SUITE(RmsnormDweight, ElementTypes);

// The definition --------------------------------------------------------------------------------------------

TEST(RmsnormDweightOracle, SumsContributionsDownTheColumns) {
  Arguments<float> two{.shape = {2, 2}, .dy_stride = 2, .x_stride = 2};
  two.dy = {1, 2, 3, 4};
  two.x = {10, 20, 30, 40};
  two.rstd = {0.5f, 2};
  EXPECT_EQ(oracle(two.args()), (std::vector<float>{5 + 180, 20 + 320}));
  two.mask = {1, 0};
  EXPECT_EQ(oracle(two.args()), (std::vector<float>{5, 20}));
  two.mask = {3, -1};
  EXPECT_EQ(oracle(two.args()), (std::vector<float>{15 - 180, 60 - 320}));
}

TEST(RmsnormDweightOracle, AddsInAscendingOrder) {
  Arguments<float> four{.shape = {4, 1}, .dy_stride = 1, .x_stride = 1};
  four.dy = {1e20f, 1, -1e20f, 1};
  four.x = four.rstd = {1, 1, 1, 1};
  EXPECT_EQ(oracle(four.args()), std::vector<float>{1});
}

/// How many columns of some masked arguments get other bits from this step than from the definition.
int columns_that_differ(float (*step)(float acc, float dy, float x, float rstd, float mask)) {
  auto host = random_arguments<float>({50, 100}, random_key("definition"));
  for (std::uint64_t r = 0; r < 50; ++r) host.mask.push_back(random_normal(random_key("mask"), r));
  const auto expected = bits(oracle(host.args()));
  int differ = 0;
  for (std::size_t c = 0; c < 100; ++c) {
    float acc = 0;
    for (std::size_t r = 0; r < 50; ++r)
      acc = step(acc, host.dy[r * 100 + c], host.x[r * 100 + c], host.rstd[r], host.mask[r]);
    differ += std::bit_cast<std::uint32_t>(acc) != expected[c];
  }
  return differ;
}

TEST(RmsnormDweightOracle, OrderOfFactorsAndFusionShowInTheBits) {
  using F = float;
  EXPECT_EQ(columns_that_differ([](F acc, F dy, F x, F rstd, F m) { return acc + ((dy * x) * rstd) * m; }),
            0);
  EXPECT_GT(columns_that_differ([](F acc, F dy, F x, F rstd, F m) { return acc + (dy * (x * rstd)) * m; }),
            25);
  EXPECT_GT(columns_that_differ([](F acc, F dy, F x, F rstd, F m) { return acc + (dy * x) * (rstd * m); }),
            25);
  EXPECT_GT(columns_that_differ([](F acc, F dy, F x, F rstd, F m) { return acc + ((dy * m) * x) * rstd; }),
            25);
  EXPECT_GT(
      columns_that_differ([](F acc, F dy, F x, F rstd, F m) { return std::fma((dy * x) * rstd, m, acc); }),
      25);
}

TYPED_TEST(RmsnormDweight, OrderOfRowsShowsInTheBitsOfTheTestArguments) {
  auto host = random_arguments<TypeParam>({100, 64}, random_key("order"));
  const auto forward = bits(oracle(host.args()));
  Args upside_down = host.args();
  upside_down.dy = host.dy.data() + 99 * 64;
  upside_down.x = host.x.data() + 99 * 64;
  upside_down.dy_stride = upside_down.x_stride = -64;
  std::reverse(host.rstd.begin(), host.rstd.end());
  const auto backward = bits(oracle(upside_down));
  int differ = 0;
  for (std::size_t c = 0; c < forward.size(); ++c) differ += forward[c] != backward[c];
  EXPECT_GT(differ, 48);  // else a reordered kernel could pass
}

// The variants ----------------------------------------------------------------------------------------------

TYPED_TEST(RmsnormDweight, EveryVariantHasTheOraclesBits) {
  for (const Shape& shape : {Shape{1, 1}, {1, 128}, {2, 257}, {7, 64}, {100, 300}, {513, 33}}) {
    auto host = random_arguments<TypeParam>(shape, random_key("some"));
    expect_all_variants(host);
    host.mask = half_mask(shape.rows, random_key("mask"));
    expect_all_variants(host);
    expect_all_variants(random_arguments<TypeParam>(shape, random_key("gaps"), 3, 8));
  }
}

TYPED_TEST(RmsnormDweight, AMaskOfAnyValuesRoundsOnceMore) {
  auto host = random_arguments<TypeParam>({40, 100}, random_key("weights"));
  for (std::uint64_t r = 0; r < 40; ++r) host.mask.push_back(random_normal(random_key("weights"), r));
  expect_all_variants(host);
}

TYPED_TEST(RmsnormDweight, AMaskMultipliesSoNansAndInfinitiesGoThroughIt) {
  auto host = random_arguments<TypeParam>({3, 6}, random_key("nan"));
  host.mask = {1, 0, 1};
  host.dy[6] = rounded<TypeParam>(nan);
  host.x[7] = rounded<TypeParam>(nan);
  host.dy[8] = rounded<TypeParam>(inf);
  const auto dweight = expect_all_variants(host);
  for (const std::size_t c : {0u, 1u, 2u}) EXPECT_TRUE(std::isnan(dweight[c])) << c;
  for (const std::size_t c : {3u, 4u, 5u}) EXPECT_FALSE(std::isnan(dweight[c])) << c;
  host.rstd[1] = inf;  // of a masked row: every column
  for (const float sum : expect_all_variants(host)) EXPECT_TRUE(std::isnan(sum));
}

TYPED_TEST(RmsnormDweight, SignedZerosSubnormalsAndInfinitiesKeepTheDefinitionsBits) {
  const float tiny = dtype_of<TypeParam> == Dtype::fp16 ? 0x1p-24f : 0x1p-133f;  // subnormal, but for fp32's
  Arguments<TypeParam> host{.shape = {2, 5}, .dy_stride = 5, .x_stride = 5};
  for (const float dy : {-0.0f, tiny, inf, inf, tiny, -0.0f, tiny, 1.0f, -inf, -tiny})
    host.dy.push_back(rounded<TypeParam>(dy));
  host.x.assign(10, rounded<TypeParam>(1));
  host.x[4] = rounded<TypeParam>(0.5f);
  host.rstd = {1, 1};
  auto sums = expect_all_variants(host);
  EXPECT_EQ(bits(sums)[0], 0u);  // +0 + -0 is +0
  EXPECT_EQ(sums[1], 2 * tiny);
  EXPECT_EQ(sums[2], inf);
  EXPECT_TRUE(std::isnan(sums[3]));
  EXPECT_EQ(sums[4], -0.5f * tiny);
  host.mask = {1, -0.0f};
  sums = expect_all_variants(host);
  EXPECT_EQ(sums[1], tiny);
}

TYPED_TEST(RmsnormDweight, ContributionsOfOnesAreARowFold) {
  const auto host = [] {
    auto made = random_arguments<TypeParam>({60, 90}, random_key("fold"));
    made.x.assign(made.x.size(), rounded<TypeParam>(1));
    made.rstd.assign(made.rstd.size(), 1);
    return made;
  }();
  EXPECT_EQ(bits(expect_all_variants(host)),
            bits(row_fold::oracle(row_fold::matrix(dtype_of<TypeParam>, host.dy.data(), 60, 90))));
}

TYPED_TEST(RmsnormDweight, NoRowsGiveZerosAndNoColumnsNothing) {
  const auto zeros = expect_all_variants(random_arguments<TypeParam>({0, 300}, 1));
  EXPECT_EQ(bits(zeros), std::vector<std::uint32_t>(300, 0));
  EXPECT_TRUE(expect_all_variants(random_arguments<TypeParam>({5, 0}, 1)).empty());
  EXPECT_TRUE(expect_all_variants(random_arguments<TypeParam>({0, 0}, 1)).empty());
}

TEST(RmsnormDweightProperty, EveryVariantHasTheOraclesBits) {
  test::for_all_draws("rmsnorm_dweight", 150, [](Draw& draw) {
    const Shape shape{draw.size_by_class(200), draw.size_by_class(600)};
    with_type(draw.pick({Dtype::fp32, Dtype::bf16, Dtype::fp16}), [&]<class T>() {
      auto host = random_arguments<T>(shape, draw.key(), draw.size(0, 9), draw.size(0, 9));
      switch (draw.between(0, 2)) {
        case 1:
          host.mask = half_mask(shape.rows, draw.key());
          break;
        case 2:
          host.mask = row_fold::test::wide_values<float>(draw.key(), shape.rows);
          break;
      }
      test::mix_in_specials(draw, host.dy);
      test::mix_in_specials(draw, host.x);
      if (draw.between(0, 3) == 0) test::mix_in_specials(draw, host.rstd);
      if (draw.between(0, 3) == 0) test::mix_in_specials(draw, host.mask);
      expect_all_variants(host);
    });
  });
}

TEST(RmsnormDweight, MoreRowsThanAGridIsHigh) {
  const auto host = random_arguments<Bf16>({65535 + 70, 3}, random_key("high"));
  const auto expected = oracle(host.args());
  for (const Device device : test::devices()) {
    test::Array<Bf16> dy(device, host.dy);
    test::Array<Bf16> x(device, host.x);
    test::Array<float> rstd(device, host.rstd);
    test::Array<float> contributions(device, host.dy.size());
    test::Array<float> dweight(device, 3);
    for (const auto& variant : variants) {
      if (variant.device != device || variant.name != "new") continue;  // legacy: 65605 launches
      Args args = host.args();
      args.dy = dy.data();
      args.x = x.data();
      args.rstd = rstd.data();
      args.contributions = contributions.data();
      args.dweight = dweight.data();
      variant.launch(args, nullptr);
      row_fold::test::expect_same(dweight.values(), expected);
    }
  }
}

}  // namespace
}  // namespace strictbench::rmsnorm_dweight
