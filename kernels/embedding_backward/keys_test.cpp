/// The canonical form: rows that carry keys.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "kernels/common/random.h"
#include "kernels/embedding_backward/test_case.h"

namespace strictbench::embedding_backward {
namespace {

using test::bits;

TEST(EmbeddingBackwardKeys, RowsGoInKeyOrderHoweverTheyArrive) {
  Case c{.shape = {3, 9, 1}, .ids = {7, 7, 7}, .grad = {3.0f, -1e20f, 1e20f}, .grad_type = Dtype::fp32};
  c.weight_type = Dtype::fp32;
  EXPECT_EQ(bits(Dtype::fp32, ascending(c))[7], 0u);  // as they arrive, the 3 is swallowed
  c.keys = {20, 5, 11};
  EXPECT_EQ(bits(Dtype::fp32, ascending(c))[7], std::bit_cast<std::uint32_t>(3.0f));
  expect_all_variants(c);
}

TEST(EmbeddingBackwardKeys, NegativeKeysAreDroppedAndEqualOnesKeepTheirOrder) {
  EXPECT_EQ(canonical_order({4, -1, 0, 4, std::numeric_limits<std::int64_t>::min(), 0}),
            (std::vector<std::int64_t>{2, 5, 0, 3}));
  Case c{.shape = {4, 3, 1}, .ids = {1, 1, 1, 1}, .grad = {-1e20f, 1e20f, 3.0f, 5.0f}};
  c.grad_type = c.weight_type = Dtype::fp32;
  c.keys = {6, 6, 6, -2};
  EXPECT_EQ(bits(Dtype::fp32, ascending(c))[1], std::bit_cast<std::uint32_t>(3.0f));
  expect_all_variants(c);
  c.keys = {-1, -1, -1, -1};
  expect_all_variants(c);
}

TEST(EmbeddingBackwardKeys, AnyPermutationOrChunkingGivesTheSameBits) {
  const Shape shape{120, 5, 17};
  Case c{.shape = shape, .ids = {}, .grad = some_grad(shape)};
  for (std::int64_t t = 0; t < shape.tokens; ++t) {  // rows that cancel share an id and are dropped together
    c.ids.push_back(t / 3 % shape.vocab);
    c.keys.push_back(t / 3 % 4 == 0 ? -1 - t : 1000 * t);
  }
  const auto arriving = [&](const std::vector<std::int64_t>& order) {
    Case other = c;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const auto t = static_cast<std::size_t>(order[i]);
      other.ids[i] = c.ids[t];
      other.keys[i] = c.keys[t];
      std::copy_n(c.grad.begin() + order[i] * shape.hidden, shape.hidden,
                  other.grad.begin() + static_cast<std::int64_t>(i) * shape.hidden);
    }
    return other;
  };
  std::vector<std::int64_t> chunks;  // of 32 rows, the last one first
  for (std::int64_t first = 96; first >= 0; first -= 32)
    for (std::int64_t t = first; t < std::min<std::int64_t>(first + 32, shape.tokens); ++t)
      chunks.push_back(t);
  const std::vector<Case> arrivals{
      c, arriving(random_distinct(random_key("order"), shape.tokens, shape.tokens)), arriving(chunks)};
  for (const Case& other : arrivals) {
    EXPECT_EQ(ascending(other), ascending(c));
    expect_all_variants(other);
  }
  Case otherwise = arrivals[1];
  otherwise.keys = {};
  EXPECT_NE(ascending(otherwise), ascending(c));
  for (std::int64_t& key : otherwise.keys = c.keys) key = key < 0 ? key : 1'000'000 - key;
  otherwise.ids = c.ids;
  otherwise.grad = c.grad;
  EXPECT_NE(ascending(otherwise), ascending(c));  // else their order would not show
}

}  // namespace
}  // namespace strictbench::embedding_backward
