#include "kernels/embedding_backward/embedding_backward.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/common/random.h"
#include "kernels/common/test_array.h"

namespace strictbench::embedding_backward {
namespace {

using test::bits;

std::vector<Bf16> some_grad(const Shape& shape) {
  return test::cancelling_rows("grad", shape.tokens, shape.hidden);
}

std::vector<std::uint16_t> whole(const Shape& shape, const Rows& rows) {
  std::vector<std::uint16_t> all(static_cast<std::size_t>(shape.vocab * shape.hidden), 0);  // +0
  for (const auto& [id, row] : rows) {
    const auto row_bits = bits(row);
    std::copy(row_bits.begin(), row_bits.end(), all.begin() + id * shape.hidden);
  }
  return all;
}

/// Every variant on every device; legacy against the step tree, the others against the ascending order.
void expect_all_variants(const Shape& shape, const std::vector<std::int64_t>& ids,
                         const std::vector<Bf16>& grad, std::int64_t extra_stride = 0) {
  const std::int64_t stride = shape.hidden + extra_stride;
  std::vector<Bf16> spread(static_cast<std::size_t>(shape.tokens * stride), Bf16{poison16});
  for (std::int64_t t = 0; t < shape.tokens; ++t)
    std::copy_n(grad.begin() + t * shape.hidden, shape.hidden, spread.begin() + t * stride);
  const auto ascending = whole(shape, oracle(shape, ids, grad));
  const auto step_tree = whole(shape, oracle_step_tree(shape, ids, grad));
  for (const Device device : test::devices()) {
    test::Array<std::int64_t> device_ids(device, ids);
    test::Array<std::int64_t> sorted_ids(device, ids.size());
    test::Array<std::int64_t> positions(device, ids.size());
    test::Array<Bf16> device_grad(device, spread);
    std::size_t workspace_bytes = 0;
#ifdef STRICTBENCH_HAS_CUDA
    if (device == Device::cuda) workspace_bytes = sort_workspace_bytes(shape.tokens);
#endif
    test::Array<char> workspace(device, std::vector<char>(workspace_bytes));
    for (const auto& variant : variants) {
      if (variant.device != device) continue;
      SCOPED_TRACE(std::string(variant.name) + " on " + test::text(device) + ", " +
                   std::to_string(shape.tokens) + " tokens, " + std::to_string(shape.vocab) + " x " +
                   std::to_string(shape.hidden));
      const bool legacy = variant.name == "legacy";
      const auto size = static_cast<std::size_t>(shape.vocab * shape.hidden);
      test::Array<Bf16> zeroed(device, std::vector<Bf16>(size));
      test::Array<Bf16> poisoned(device, size);
      test::Array<Bf16>& dweight = legacy ? poisoned : zeroed;
      const Args args{.shape = shape,
                      .ids = device_ids.data(),
                      .grad = device_grad.data(),
                      .grad_stride = stride,
                      .dweight = dweight.data(),
                      .sorted = {sorted_ids.data(), positions.data(), workspace.data(), workspace_bytes}};
      if (!legacy) {
#ifdef STRICTBENCH_HAS_CUDA
        if (device == Device::cuda) sort_ids(args, nullptr);
#endif
        if (device == Device::cpu) cpu_sort_ids(args, nullptr);
      }
      variant.launch(args, nullptr);
      EXPECT_EQ(bits(dweight.values()), legacy ? step_tree : ascending);
    }
  }
}

TEST(EmbeddingBackwardOracle, AddsInAscendingOrderOfPosition) {
  const std::vector<Bf16> grad{to_bf16(-1e20f), to_bf16(1e20f), to_bf16(3.0f)};
  EXPECT_EQ(bits(oracle({3, 9, 1}, {7, 7, 7}, grad).at(7)), bits({to_bf16(3.0f)}));
  const std::vector<Bf16> other{to_bf16(3.0f), to_bf16(-1e20f), to_bf16(1e20f)};
  EXPECT_EQ(bits(oracle({3, 9, 1}, {7, 7, 7}, other).at(7)), bits({to_bf16(0.0f)}));
}

TEST(EmbeddingBackwardOracle, DropsIdsOutOfRangeAndTheHostCheckNamesThem) {
  const Shape shape{4, 3, 1};
  const std::vector<std::int64_t> ids{-1, 2, 3, 0};
  const Rows rows = oracle(shape, ids, std::vector<Bf16>(4, to_bf16(1.0f)));
  EXPECT_EQ(rows.size(), 2u);
  EXPECT_TRUE(rows.contains(0) && rows.contains(2));
  try {
    validate_ids(shape, {0, 2, 3, -1});
    FAIL() << "accepted";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "embedding_backward: ids[2] is 3, outside [0, 3)");
  }
}

TEST(EmbeddingBackwardOracle, OrdersAgreeOnlyWhereHitsAreFew) {
  const Shape shape{0, 10, 1};
  std::vector<std::int64_t> ids(200, 9);
  const auto hits = [&](std::initializer_list<std::size_t> at) {
    std::vector<std::int64_t> some(200, -1);
    for (const std::size_t t : at) some[t] = 5;
    return some;
  };
  EXPECT_TRUE(orders_agree(shape, hits({3, 40})));        // two in the first step
  EXPECT_FALSE(orders_agree(shape, hits({3, 40, 41})));   // three in the first step
  EXPECT_TRUE(orders_agree(shape, hits({3, 70, 130})));   // one in each later step
  EXPECT_FALSE(orders_agree(shape, hits({3, 70, 71})));   // two in a later step
  EXPECT_TRUE(orders_agree(shape, hits({70, 71, 130})));  // its own first step is the second
  EXPECT_FALSE(orders_agree(shape, ids));
}

TEST(EmbeddingBackwardOracle, TheTwoOrdersDifferOnRepeatedIdsAndAgreeOnDistinctOnes) {
  const Shape shape{300, 400, 8};
  const auto grad = some_grad(shape);
  const auto distinct = random_distinct(random_key("ids"), shape.tokens, shape.vocab);
  EXPECT_TRUE(orders_agree(shape, distinct));
  EXPECT_EQ(whole(shape, oracle(shape, distinct, grad)),
            whole(shape, oracle_step_tree(shape, distinct, grad)));
  const std::vector<std::int64_t> equal(300, 1);
  EXPECT_NE(whole(shape, oracle(shape, equal, grad)), whole(shape, oracle_step_tree(shape, equal, grad)));
}

TEST(EmbeddingBackward, EveryVariantHasItsOraclesBits) {
  for (const Shape& shape :
       {Shape{1, 1, 1}, {8, 50, 64}, {63, 20, 127}, {64, 5, 128}, {65, 300, 129}, {200, 7, 33}}) {
    const auto grad = some_grad(shape);
    const auto key = random_key("any ids");
    std::vector<std::int64_t> any;
    for (std::int64_t t = 0; t < shape.tokens; ++t)
      any.push_back(static_cast<std::int64_t>(
          random_below(key, static_cast<std::uint64_t>(t), static_cast<std::uint64_t>(shape.vocab))));
    expect_all_variants(shape, any, grad);
    expect_all_variants(shape, any, grad, 3);
    expect_all_variants(shape, std::vector<std::int64_t>(any.size(), shape.vocab - 1), grad);
    any[0] = -5;  // dropped, by every variant
    any[any.size() / 2] = shape.vocab;
    expect_all_variants(shape, any, grad);
  }
}

TEST(EmbeddingBackward, NoTokensGiveZeros) { expect_all_variants({0, 30, 40}, {}, {}); }

TEST(EmbeddingBackward, NegativeZeroGradientsGivePositiveZero) {
  const Shape shape{3, 4, 2};
  expect_all_variants(shape, {1, 1, 2}, std::vector<Bf16>(6, to_bf16(-0.0f)));
  EXPECT_EQ(bits(oracle(shape, {1, 1, 2}, std::vector<Bf16>(6, to_bf16(-0.0f))).at(1)),
            (std::vector<std::uint16_t>{0, 0}));
}

TEST(EmbeddingBackward, RefusesArgumentsThatDoNotFit) {
  std::int64_t id = 0;
  Bf16 x{};
  const SortedIds sorted{&id, &id, nullptr, 0};
  for (const Device device : test::devices())
    for (const auto& variant : variants) {
      if (variant.device != device) continue;
      const auto launch = [&](const Args& args) { variant.launch(args, nullptr); };
      EXPECT_THROW(launch({{-1, 1, 1}, &id, &x, 1, &x, sorted}), std::invalid_argument);
      EXPECT_THROW(launch({{1, -1, 1}, &id, &x, 1, &x, sorted}), std::invalid_argument);
      EXPECT_THROW(launch({{1, 1, 2}, &id, &x, 1, &x, sorted}), std::invalid_argument);
      EXPECT_THROW(launch({{1, 1, 1}, nullptr, &x, 1, &x, sorted}), std::invalid_argument);
      EXPECT_THROW(launch({{1, 1, 1}, &id, nullptr, 1, &x, sorted}), std::invalid_argument);
      EXPECT_THROW(launch({{1, 1, 1}, &id, &x, 1, nullptr, sorted}), std::invalid_argument);
    }
}

}  // namespace
}  // namespace strictbench::embedding_backward
