/// The trees and what goes through them: leaves and joins of the K-tree in every variant, special values.
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "kernels/dw_gemm/test_inputs.h"

namespace strictbench::dw_gemm {
namespace {

using test::bits;
using test::bits_any_nan;

/// The leaves of the tree over [lo, hi) in order, each with the nodes that recursion completes after it.
void walk(std::int64_t lo, std::int64_t hi, std::vector<Leaf>& leaves) {
  if (hi - lo <= leaf_tokens) return leaves.push_back({lo, hi, 0});
  const std::int64_t mid = lo + (hi - lo) / 2;
  walk(lo, mid, leaves);
  walk(mid, hi, leaves);
  ++leaves.back().sums_after;
}

TEST(DwGemmKTree, LeavesAreThoseOfTheRecursionAndFitTheStack) {
  std::vector<std::int64_t> some;
  for (std::int64_t tokens = 1; tokens <= 300; ++tokens) some.push_back(tokens);
  some.insert(some.end(), {2047, 2048, 2049, 5000, 65537, naive_side});
  for (const std::int64_t tokens : some) {
    std::vector<Leaf> leaves;
    walk(0, tokens, leaves);
    int depth = 0;
    for (const Leaf& leaf : leaves)
      for (const std::int64_t t : {leaf.first, leaf.last - 1}) {
        const Leaf found = leaf_of(t, tokens);
        ASSERT_EQ(found.first, leaf.first) << t << " of " << tokens;
        ASSERT_EQ(found.last, leaf.last) << t << " of " << tokens;
        ASSERT_EQ(found.sums_after, leaf.sums_after) << t << " of " << tokens;
        if (t != leaf.first || leaf.last == tokens) continue;
        depth += 1 - leaf.sums_after;
        ASSERT_GE(depth, 1);
        ASSERT_LE(depth, 15);
      }
    ASSERT_EQ(leaves.back().sums_after, depth);
  }
}

/// k_tree_on_stack of the GPU, step for step.
TEST(DwGemmKTree, AStackOfSumsHasTheBitsOfTheRecursion) {
  for (const std::int64_t tokens : {33, 100, 2049, 5000}) {
    const Shape shape{tokens, 3, 2};
    const Inputs inputs = cancelling_inputs(shape);
    const auto expected = whole_oracle(shape, inputs);
    for (std::int64_t o = 0; o < shape.out; ++o)
      for (std::int64_t i = 0; i < shape.in; ++i) {
        std::vector<float> waiting;
        for (std::int64_t t = 0; t < tokens; t = leaf_of(t, tokens).last) {
          const Leaf leaf = leaf_of(t, tokens);
          float sum = +0.0f;
          for (std::int64_t at = leaf.first; at < leaf.last; ++at)
            sum += to_float(inputs.dy[static_cast<std::size_t>(at * shape.out + o)]) *
                   to_float(inputs.x[static_cast<std::size_t>(at * shape.in + i)]);
          sum = to_float(to_bf16(sum));
          for (int left = leaf.sums_after; left > 0; --left) {
            sum = to_float(to_bf16(waiting.back() + sum));
            waiting.pop_back();
          }
          waiting.push_back(sum);
        }
        ASSERT_EQ(waiting.size(), 1u);
        EXPECT_EQ(to_bf16(waiting[0]).bits, expected[static_cast<std::size_t>(o * shape.in + i)].bits);
      }
  }
}

TEST(DwGemmKTree, AnyNumberOfTokensHasTheOraclesBits) {
  for (const std::int64_t tokens : {2047, 2048, 2049, 5000})
    for (const std::int64_t out : {3, 64}) {
      const Shape shape{tokens, 5, out};
      const Inputs cancelling = cancelling_inputs(shape);
      const Inputs whole = wide_integer_inputs(shape, random_key("whole"));
      for (const auto& variant : variants) {
        if (variant.name == "cublas" || !can_run(variant, shape)) continue;
        SCOPED_TRACE(text(variant, shape));
        const auto of = tree(variant, shape);
        EXPECT_EQ(bits(run(variant, shape, whole)), bits(whole_oracle(shape, whole, of)));
        if (is_strict(variant, shape)) {
          EXPECT_EQ(bits(run(variant, shape, cancelling)), bits(whole_oracle(shape, cancelling, of)));
        }
      }
    }
}

TEST(DwGemmKTree, RoundingsAndTreeShowInTheBitsOfEveryVariant) {
  for (const std::int64_t tiles : {3, 5, 7, 12, 96}) {
    const Shape shape{32 * tiles, 40, 64};
    const Inputs inputs = wide_integer_inputs(shape, random_key("whole"));
    const auto of_tiles = whole_oracle(shape, inputs, Tree::tiles);
    const auto of_tokens = whole_oracle(shape, inputs, Tree::tokens);
    EXPECT_GT(test::differing(of_tiles, of_tokens), 500) << tiles;  // of 2560
    for (const auto& variant : variants) {
      if (variant.name == "cublas" || !can_run(variant, shape)) continue;
      const auto& expected = tree(variant, shape) == Tree::tiles ? of_tiles : of_tokens;
      EXPECT_EQ(bits(run(variant, shape, inputs)), bits(expected)) << text(variant, shape);
    }
  }
}

TEST(DwGemmKTree, SpecialValuesGoThrough) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float least = 0x1p-133f;  // the least bf16
  struct Case {
    float dy, x;         // of one token; of the others dY is zero and X one
    std::uint16_t bits;  // of one leaf; 0x7fff: any NaN
  };
  const Case cases[] = {{0, nan, 0x7fff},        {nan, 0, 0x7fff},        {0, inf, 0x7fff},
                        {-0.0f, -inf, 0x7fff},   {inf, -0.0f, 0x7fff},    {1, inf, 0x7f80},
                        {-2, inf, 0xff80},       {inf, -inf, 0xff80},     {1, least, 0x0001},
                        {-1, 3 * least, 0x8003}, {least, 0x1p6f, 0x0040}, {-least, 0x1p7f, 0x8080},
                        {0, -1, 0x0000},         {-0.0f, 1, 0x0000},      {-0x1p-70f, 0x1p-65f, 0x8000}};
  for (const std::int64_t tokens : {1, 31, 32, 33, 96, 2049})
    for (const Case& c : cases) {
      const Shape shape{tokens, 3, 64};
      const std::int64_t at = tokens / 2;
      const Inputs inputs = inputs_of(
          shape, [&](std::int64_t t, std::int64_t) { return t == at ? c.x : 1.0f; },
          [&](std::int64_t t, std::int64_t) { return t == at ? c.dy : 0.0f; });
      // Sums begin at +0, so that a zero is +0, but for a leaf so small and negative that it rounds to -0;
      // which, joined with the +0 of another leaf, is +0.
      const bool joined = tokens > leaf_tokens && c.bits == 0x8000;
      const std::vector<Bf16> expected(static_cast<std::size_t>(shape.in * shape.out),
                                       Bf16{joined ? std::uint16_t{0} : c.bits});
      for (const auto& variant : variants) {
        if (variant.name == "cublas" || !can_run(variant, shape)) continue;
        const auto sign = zeros(variant, shape);
        EXPECT_EQ(bits_any_nan(run(variant, shape, inputs), sign), bits_any_nan(expected, sign))
            << text(variant, shape) << ": " << c.dy << " * " << c.x;
      }
    }
}

}  // namespace
}  // namespace strictbench::dw_gemm
