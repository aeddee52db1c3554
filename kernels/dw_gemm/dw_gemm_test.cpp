#include "kernels/dw_gemm/dw_gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <span>
#include <string>

#include "kernels/dw_gemm/test_inputs.h"

namespace strictbench::dw_gemm {
namespace {

using test::bits;
using test::bits_any_nan;

std::vector<Bf16> all_bf16(std::initializer_list<float> values) {
  std::vector<Bf16> all;
  for (const float value : values) all.push_back(to_bf16(value));
  return all;
}

TEST(DwGemmOracle, IsTheOuterProductOfOneToken) {
  EXPECT_EQ(bits(whole_oracle({1, 2, 3}, {all_bf16({2, 3}), all_bf16({10, 20, 30})})),
            bits(all_bf16({20, 30, 40, 60, 60, 90})));
}

TEST(DwGemmOracle, RoundsOncePerLeafAndOncePerNode) {
  // 1 + 32 * 2^-9: exact in fp32, and a leaf of 33 would round once; the tree of 33 tokens (16 + 17) rounds
  // each half: 1 + 15 * 2^-9 -> 1 + 2^-5 (bf16 has 2^-7 steps), 17 * 2^-9 stays, their sum rounds again.
  std::vector<Bf16> x(33, to_bf16(0x1p-9f));
  x[0] = to_bf16(1.0f);
  const std::vector<Bf16> dy(33, to_bf16(1.0f));
  const float left = to_float(to_bf16(1.0f + 15 * 0x1p-9f));
  const float right = to_float(to_bf16(17 * 0x1p-9f));
  EXPECT_EQ(bits(whole_oracle({33, 1, 1}, {x, dy})), bits({to_bf16(left + right)}));
  EXPECT_NE(left, 1.0f + 15 * 0x1p-9f);  // the inner rounding is real
}

TEST(DwGemmOracle, OrderOfTokensShows) {
  const auto forward = whole_oracle({4, 1, 1}, {all_bf16({1e20f, 1, -1e20f, 1}), all_bf16({1, 1, 1, 1})});
  EXPECT_EQ(to_float(forward[0]), 1.0f);
  const auto other = whole_oracle({4, 1, 1}, {all_bf16({1e20f, -1e20f, 1, 1}), all_bf16({1, 1, 1, 1})});
  EXPECT_EQ(to_float(other[0]), 2.0f);
}

TEST(DwGemmOracle, OrderOfTokensShowsInMostElementsOfTheTestInputs) {
  const Shape shape{31, 20, 10};
  const Inputs inputs = cancelling_inputs(shape);
  Inputs reversed;
  for (std::int64_t t = shape.tokens; t-- > 0;) {
    reversed.x.insert(reversed.x.end(), inputs.x.begin() + t * shape.in,
                      inputs.x.begin() + (t + 1) * shape.in);
    reversed.dy.insert(reversed.dy.end(), inputs.dy.begin() + t * shape.out,
                       inputs.dy.begin() + (t + 1) * shape.out);
  }
  const auto forward = bits(whole_oracle(shape, inputs));
  const auto backward = bits(whole_oracle(shape, reversed));
  int differ = 0;
  for (std::size_t i = 0; i < forward.size(); ++i) differ += forward[i] != backward[i];
  EXPECT_GT(differ, 150);  // of 200; else a reordered kernel could pass
}

TEST(DwGemmOracle, TreesAreOneWhereTilesDivideEvenlyAndElseDiffer) {
  for (const std::int64_t tokens : {1, 31, 32, 64, 128, 96, 100, 160}) {
    const Shape shape{tokens, 20, 10};
    const Inputs inputs = normal_inputs(shape);
    const auto tiles = bits(whole_oracle(shape, inputs, Tree::tiles));
    const bool one = tokens <= 32 || tokens == 64 || tokens == 128;
    EXPECT_EQ(bits(whole_oracle(shape, inputs)) == tiles, one) << tokens;
  }
}

TEST(DwGemmOracle, ProductsAndSumsAreRoundedApart) {
  // In units of the least fp32, 2^-149: 32767, then half a unit, which alone is rounded away, then 1. The sum
  // is half of the least bf16, a tie that goes to zero. Fused multiply-adds come to 32769.
  const Shape shape{3, 1, 1};
  const Inputs tiny{.x = all_bf16({217 * 0x1p-75f, 0x1p-75f, 0x1p-75f}),
                    .dy = all_bf16({151 * 0x1p-74f, 0x1p-75f, 0x1p-74f})};
  EXPECT_EQ(bits(whole_oracle(shape, tiny)), (std::vector<std::uint16_t>{0x0000}));
  float fused = 0.0f;
  for (std::size_t t = 0; t < 3; ++t) fused = std::fma(to_float(tiny.dy[t]), to_float(tiny.x[t]), fused);
  EXPECT_EQ(to_bf16(fused).bits, 0x0001);  // so a kernel that fuses could not pass
  // A product that overflows alone stays infinite.
  const Inputs huge{.x = all_bf16({-0x1p127f, 0x1p64f, 0}), .dy = all_bf16({1, 0x1p64f, 1})};
  EXPECT_EQ(bits(whole_oracle(shape, huge)), (std::vector<std::uint16_t>{0x7f80}));
  for (const auto& variant : variants)
    for (const Inputs& inputs : {tiny, huge})
      if (can_run(variant, shape) && is_strict(variant, shape)) {
        EXPECT_EQ(bits(run(variant, shape, inputs)), bits(whole_oracle(shape, inputs))) << variant.name;
      }
}

/// Exponents drawn from `exponents`, mantissas and signs at random.
Inputs inputs_with(const Shape& shape, std::span<const int> exponents, std::uint64_t key) {
  const auto some = [&](std::uint64_t from, std::int64_t count) {
    std::vector<Bf16> values;
    for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(count); ++i) {
      const int exponent = exponents[random_below(from, 2 * i, exponents.size())];
      const auto mantissa = static_cast<float>(random_below(from, 2 * i + 1, 256)) - 128;  // of either sign
      values.push_back(to_bf16(std::ldexp((mantissa < 0 ? -1.0f : 1.0f) + mantissa / 128, exponent)));
    }
    return values;
  };
  return {.x = some(key, shape.tokens * shape.in), .dy = some(mix(key), shape.tokens * shape.out)};
}

/// A kernel may fuse a product that is exact; these are exact, just so, and no more.
TEST(DwGemm, ProductsAtBothEndsOfTheRange) {
  const std::vector<std::vector<int>> ranges = {{-59, -60, -58},       {-59, -60, -75}, {-75, -67, -66, -70},
                                                {63, 62, 60},          {63, 64, 62},    {64, 63, -64},
                                                {-126, -127, -130, 0}, {127, 0, 1}};
  for (const Shape& shape : {Shape{1, 136, 72},
                             {2, 8, 40},
                             {3, 136, 72},
                             {8, 256, 24},
                             {9, 136, 136},
                             {16, 136, 72},
                             {17, 72, 136},
                             {31, 136, 72},
                             {32, 24, 200},
                             {33, 136, 72},
                             {70, 72, 64},
                             {300, 16, 24},
                             {31, 131, 67}})
    for (const auto& range : ranges) {
      const Inputs inputs = inputs_with(shape, range, random_key("edges"));
      for (const auto& variant : variants) {
        if (!can_run(variant, shape) || !is_strict(variant, shape)) continue;
        SCOPED_TRACE(text(variant, shape) + ", exponents from " + std::to_string(range[0]));
        EXPECT_EQ(bits_any_nan(run(variant, shape, inputs)),
                  bits_any_nan(whole_oracle(shape, inputs, tree(variant, shape))));
      }
    }
}

/// So many rows that a block of the streaming kernel stages several pieces of dY, one after the other, and so
/// many columns that it ends amid a block.
TEST(DwGemm, ManyRowsToABlock) {
  if (test::devices().size() < 2) GTEST_SKIP() << "needs a GPU";
  for (const Shape& shape : {Shape{16, 1032, 9000}, {17, 520, 17000}, {31, 520, 17000}}) {
    const Inputs inputs = cancelling_inputs(shape, random_key("many rows"));
    const auto expected = bits(whole_oracle(shape, inputs));
    for (const auto& variant : variants)
      if (variant.device == Device::cuda && variant.name == "tuned" && can_run(variant, shape)) {
        EXPECT_EQ(bits(run(variant, shape, inputs)), expected) << text(variant, shape);
      }
  }
}

/// `tuned` takes as many rows as `new`, whose blocks have more of them.
TEST(DwGemmLarge, MoreRowsThanTheStreamingKernelsGridHolds) {
  if (test::devices().size() < 2) GTEST_SKIP() << "needs a GPU";
  EXPECT_EQ(most_streamed_rows(4) * 2, most_streamed_rows(5));
  for (const std::int64_t tokens : {1, 8, 31}) {
    const Shape shape{tokens, 8, std::min(most_streamed_rows(tokens), 2 * most_streamed_rows(1)) + 8};
    const Inputs inputs = cancelling_inputs(shape, random_key("rows past the grid"));
    const auto expected = bits(whole_oracle(shape, inputs));
    for (const auto& variant : variants)
      if (variant.device == Device::cuda && (variant.name == "tuned" || variant.name == "new")) {
        EXPECT_TRUE(bits(run(variant, shape, inputs)) == expected) << text(variant, shape);
      }
  }
}

TEST(DwGemm, PathFollowsThePublishedCode) {
  for (const std::int64_t tokens : {1, 2, 8, 15, 16, 30, 31})
    EXPECT_EQ(path_of({tokens, 7, 64}), Path::tiled) << tokens;
  for (const std::int64_t tokens : {32, 64, 96, 128, 4096}) {
    EXPECT_EQ(path_of({tokens, 7, 64}), Path::tensor_core) << tokens;
    EXPECT_EQ(path_of({tokens, 64, 65}), Path::legacy) << tokens;
  }
  for (const std::int64_t tokens : {33, 48, 63, 65, 100, 127})
    EXPECT_EQ(path_of({tokens, 64, 64}), Path::legacy) << tokens;
}

constexpr Shape shapes[] = {
    {1, 1, 1},     {1, 128, 128}, {2, 130, 127}, {8, 96, 200},   {15, 16, 17},  {16, 257, 5}, {30, 129, 130},
    {31, 70, 65},  {32, 40, 33},  {33, 20, 19},  {100, 17, 16},  {128, 96, 64}, {32, 70, 64}, {80, 130, 129},
    {48, 33, 128}, {64, 33, 128}, {96, 31, 64},  {160, 129, 64}, {96, 64, 65},  {128, 8, 1},  {33, 64, 64}};

TEST(DwGemm, EveryStrictVariantHasTheOraclesBits) {
  for (const Shape& shape : shapes)
    for (const Inputs& inputs : {cancelling_inputs(shape), normal_inputs(shape)})
      for (const auto& variant : variants) {
        if (!can_run(variant, shape) || !is_strict(variant, shape)) continue;
        SCOPED_TRACE(text(variant, shape));
        EXPECT_EQ(bits(run(variant, shape, inputs)), bits(whole_oracle(shape, inputs, tree(variant, shape))));
      }
}

TEST(DwGemm, OthersAreCloseToTheOracle) {
  for (const Shape& shape : shapes)
    for (const auto& variant : variants) {
      if (!can_run(variant, shape) || is_strict(variant, shape)) continue;
      SCOPED_TRACE(text(variant, shape));
      const Inputs inputs = normal_inputs(shape);
      const auto got = run(variant, shape, inputs);
      if (variant.name == "cublas") {
        EXPECT_LE(test::relative_l2(got, whole_oracle(shape, inputs)), 0.02);
        continue;
      }
      const auto expected = whole_oracle(shape, inputs, tree(variant, shape));
      EXPECT_LE(test::relative_l2(got, expected), test::tensor_core_tolerance(shape.out * shape.in));
      EXPECT_LE(test::worst_row(got, expected, shape.in), test::tensor_core_tolerance(shape.in));
      EXPECT_EQ(bits(run(variant, shape, inputs)), bits(got));
    }
}

TEST(DwGemm, WholeNumbersAreExactInEveryVariant) {
  for (const Shape& shape : shapes) {
    const auto x = tile_tree_gemm::small_integers("x");
    const auto dy = tile_tree_gemm::small_integers("dy");
    const Inputs inputs = inputs_of(shape, x, dy);
    std::vector<Bf16> expected;
    for (std::int64_t o = 0; o < shape.out; ++o)
      for (std::int64_t i = 0; i < shape.in; ++i) {
        float sum = 0.0f;
        for (std::int64_t t = 0; t < shape.tokens; ++t) sum += dy(t, o) * x(t, i);
        expected.push_back(to_bf16(sum));
      }
    for (const auto& variant : variants)
      if (can_run(variant, shape)) {
        EXPECT_EQ(bits(run(variant, shape, inputs)), bits(expected)) << text(variant, shape);
      }
  }
}

/// Rows [out_first, out_last) and columns [in_first, in_last) of dW, computed from these alone.
TEST(DwGemm, TensorCorePathIsBatchInvariant) {
  const Shape shape{96, 75, 192};
  const Inputs inputs = normal_inputs(shape);
  struct Part {
    std::int64_t in_first, in_last, out_first, out_last;
  };
  for (const auto& variant : variants) {
    if (variant.name != "new" || !can_run(variant, shape)) continue;
    const auto whole = run(variant, shape, inputs);
    for (const Part& part : {Part{0, 75, 0, 64}, {0, 75, 37, 101}, {1, 2, 128, 192}, {13, 74, 9, 137}}) {
      const Shape small{shape.tokens, part.in_last - part.in_first, part.out_last - part.out_first};
      ASSERT_EQ(path_of(small), Path::tensor_core);
      const auto columns = [&](const std::vector<Bf16>& from, std::int64_t width, std::int64_t first,
                               std::int64_t last) {
        std::vector<Bf16> some;
        for (auto row = from.begin(); row != from.end(); row += width)
          some.insert(some.end(), row + first, row + last);
        return some;
      };
      const auto got = run(variant, small,
                           {.x = columns(inputs.x, shape.in, part.in_first, part.in_last),
                            .dy = columns(inputs.dy, shape.out, part.out_first, part.out_last)});
      const auto all_columns = columns(whole, shape.in, part.in_first, part.in_last);
      const std::vector<Bf16> expected(all_columns.begin() + part.out_first * small.in,
                                       all_columns.begin() + part.out_last * small.in);
      EXPECT_EQ(bits(got), bits(expected)) << text(variant, small);
    }
  }
}

}  // namespace
}  // namespace strictbench::dw_gemm
