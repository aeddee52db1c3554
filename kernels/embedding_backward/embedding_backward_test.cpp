#include "kernels/embedding_backward/embedding_backward.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "kernels/common/random.h"
#include "kernels/embedding_backward/test_case.h"

namespace strictbench::embedding_backward {
namespace {

using test::bits;

TEST(EmbeddingBackwardOracle, AddsInAscendingOrderOfPosition) {
  EXPECT_EQ(oracle({3, 9, 1}, {7, 7, 7}, {-1e20f, 1e20f, 3.0f}).at(7), std::vector{3.0f});
  EXPECT_EQ(oracle({3, 9, 1}, {7, 7, 7}, {3.0f, -1e20f, 1e20f}).at(7), std::vector{0.0f});
}

TEST(EmbeddingBackwardOracle, DropsIdsOutOfRange) {
  const Sums sums = oracle({4, 3, 1}, {-1, 2, 3, 0}, {1, 1, 1, 1});
  EXPECT_EQ(sums.size(), 2u);
  EXPECT_TRUE(sums.contains(0) && sums.contains(2));
}

TEST(EmbeddingBackwardOracle, OrdersAgreeOnlyWhereHitsAreFew) {
  const Shape shape{0, 10, 1};
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
  EXPECT_FALSE(orders_agree(shape, std::vector<std::int64_t>(200, 9)));
}

TEST(EmbeddingBackwardOracle, TheOrderShowsInEveryType) {
  for (const Dtype grad_type : test::dtypes)
    for (const Dtype weight_type : test::dtypes) {
      const Shape shape{300, 400, 8};
      Case equal{.shape = shape,
                 .ids = std::vector<std::int64_t>(300, 1),
                 .grad = some_grad(shape, grad_type),
                 .grad_type = grad_type,
                 .weight_type = weight_type};
      EXPECT_NE(ascending(equal), step_tree(equal)) << text(equal);
      Case backward = equal;
      for (std::int64_t t = 0; t < shape.tokens; ++t)
        std::copy_n(equal.grad.begin() + t * shape.hidden, shape.hidden,
                    backward.grad.begin() + (shape.tokens - 1 - t) * shape.hidden);
      EXPECT_NE(ascending(equal), ascending(backward)) << text(equal);  // else a reordered kernel could pass
      equal.ids = random_distinct(random_key("ids"), shape.tokens, shape.vocab);
      EXPECT_TRUE(orders_agree(shape, equal.ids));
      EXPECT_EQ(ascending(equal), step_tree(equal)) << text(equal);
    }
}

TEST(EmbeddingBackward, EveryVariantHasItsOraclesBits) {
  for (const Shape& shape :
       {Shape{1, 1, 1}, {8, 50, 64}, {63, 20, 127}, {64, 5, 128}, {65, 300, 129}, {200, 7, 33}}) {
    Case c{.shape = shape, .ids = some_ids(shape), .grad = some_grad(shape)};
    expect_all_variants(c);
    c.extra_stride = 3;
    expect_all_variants(c);
    c.ids.assign(c.ids.size(), shape.vocab - 1);
    expect_all_variants(c);
    c.ids = some_ids(shape);
    c.ids[0] = -5;  // dropped, by every variant
    c.ids[c.ids.size() / 2] = shape.vocab;
    expect_all_variants(c);
  }
}

TEST(EmbeddingBackward, TypesMixFreely) {
  const Shape shape{70, 6, 20};
  for (const IdType id_type : {IdType::int64, IdType::int32})
    for (const Dtype grad_type : test::dtypes)
      for (const Dtype weight_type : test::dtypes)
        expect_all_variants({.shape = shape,
                             .ids = some_ids(shape),
                             .grad = some_grad(shape, grad_type),
                             .id_type = id_type,
                             .grad_type = grad_type,
                             .weight_type = weight_type,
                             .extra_stride = 1});
}

/// Runs as long as given, of ids with gaps between them, their positions drawn.
std::vector<std::int64_t> ids_in_runs(std::initializer_list<std::int64_t> lengths) {
  std::vector<std::int64_t> ids;
  for (std::int64_t id = 1; const std::int64_t length : lengths) {
    ids.insert(ids.end(), static_cast<std::size_t>(length), id);
    id += 1 + length % 3;
  }
  for (std::size_t i = ids.size(); i > 1; --i)
    std::swap(ids[i - 1], ids[random_below(random_key("runs"), i, i)]);
  return ids;
}

std::vector<std::int64_t> runs_of_many_lengths() {
  return ids_in_runs({1,   2,   15, 16,   17, 18, 31, 32, 33, 1,  1,  64, 65, 127, 128, 129, 300,
                      5,   700, 16, 1500, 17, 3,  95, 96, 97, 98, 96, 97, 47, 48,  49,  191, 192,
                      193, 97,  97, 97,   97, 97, 97, 97, 97, 97, 97, 97, 97, 12,  13,  97,  2500});
}

/// What counts as long depends on how many tokens there are.
std::vector<std::int64_t> few_runs() {
  return ids_in_runs({1, 33, 33, 33, 33, 32, 31, 34, 2, 64, 65, 47, 3, 300, 17, 16, 12, 33, 33});
}
std::vector<std::int64_t> more_runs() {
  return ids_in_runs({65, 65,  65, 65, 64, 63, 66, 1,  2,  128, 129, 127, 33, 32,
                      96, 900, 97, 11, 65, 65, 65, 13, 14, 65,  64,  1,   24, 25});
}

class EmbeddingBackwardRuns : public testing::TestWithParam<Dtype> {};

TEST_P(EmbeddingBackwardRuns, OfAnyLength) {
  for (const auto& ids : {few_runs(), more_runs(), runs_of_many_lengths()}) {
    const Shape shape{static_cast<std::int64_t>(ids.size()), 120, 136};
    for (const Dtype weight_type : test::dtypes)
      expect_all_variants({.shape = shape,
                           .ids = ids,
                           .grad = some_grad(shape, GetParam()),
                           .grad_type = GetParam(),
                           .weight_type = weight_type,
                           .extra_stride = 8});
  }
}
INSTANTIATE_TEST_SUITE_P(EmbeddingBackward, EmbeddingBackwardRuns, testing::ValuesIn(test::dtypes),
                         [](const auto& type) { return std::string(name_of(type.param)); });

/// A row takes several pieces of a thread, or blocks; many places for so wide a row, several long runs a
/// block.
TEST(EmbeddingBackward, RunsInRowsOfAnyWidth) {
  const std::vector<std::int64_t> ids = runs_of_many_lengths();
  for (const auto& [tokens, hidden] :
       {std::pair{400, 40}, std::pair{3500, 1032}, std::pair{400, 2048}, std::pair{400, 4104}}) {
    const Shape shape{tokens, 120, hidden};
    std::vector<std::int64_t> some(ids.begin(), ids.begin() + tokens);
    expect_all_variants({.shape = shape, .ids = some, .grad = some_grad(shape)});
    some.assign(some.size(), 7);
    expect_all_variants({.shape = shape, .ids = some, .grad = some_grad(shape)});
  }
}

/// Up to 1,024 tokens are read whole, 512 of them at once; more are searched: 64 places at once, or the 48
/// nearest and 16 over the rest. What they part the answers into, one less and one more, in one round and in
/// several; runs that end the order and runs that do not.
TEST(EmbeddingBackward, AsManyTokensAsASearchLooksAt) {
  for (const std::int64_t searched :
       {32, 64, 512, 1024, 65, 65 * 65, 48 + 16 * 64, 48 + 16 * 65, 48 + 16 * 80, 48 + 16 * 256})
    for (const std::int64_t more : {-1, 0, 1, 2})  // a run's end is searched for behind its first place
      for (const std::int64_t behind : {0, 40}) {
        const std::int64_t tokens = searched + more;
        const Shape shape{tokens + behind, tokens + behind + 1, 8};
        Case c{.shape = shape, .ids = {}, .grad = some_grad(shape)};
        c.ids.assign(static_cast<std::size_t>(shape.tokens), 0);
        std::iota(c.ids.begin() + tokens, c.ids.end(), 1);
        expect_all_variants(c, Legacy::left_out);
        std::iota(c.ids.begin(), c.ids.end(), 0);
        expect_all_variants(c, Legacy::left_out);
      }
}

/// Rows so wide that one block has all long runs of its strip: those of one stage each, more than a ring has
/// slots; as many tokens as are read whole, and one more; places that look like a long run's between such.
TEST(EmbeddingBackward, ManyLongRunsOfABlock) {
  std::vector<std::int64_t> just_long(1024);
  for (std::size_t i = 0; i < just_long.size(); ++i) just_long[i] = static_cast<std::int64_t>(i / 33);
  std::vector<std::int64_t> mixed;
  for (std::int64_t id = 0; mixed.size() < 3500; ++id)
    mixed.insert(mixed.end(), id % 3 == 1 ? 50 : id % 7 == 0 ? 300 : 97, id);
  for (const std::int64_t tokens : {513, 1023, 1024}) {
    const Shape shape{tokens, 40, 8200};
    std::vector<std::int64_t> some(just_long.begin(), just_long.begin() + tokens);
    expect_all_variants({.shape = shape, .ids = some, .grad = some_grad(shape)}, Legacy::left_out);
  }
  for (const std::int64_t tokens : {1000, 1025, 3500}) {
    const Shape shape{tokens, 60, 4136};
    std::vector<std::int64_t> some(mixed.begin(), mixed.begin() + tokens);
    expect_all_variants({.shape = shape, .ids = some, .grad = some_grad(shape)}, Legacy::left_out);
  }
}

/// Ids that no row belongs to, before and behind the others in the order, as many as make a long run.
TEST(EmbeddingBackward, LongRunsOfIdsOutOfRangeAreDropped) {
  for (const std::int64_t length : {100, 700, 3000})
    for (const auto& [first, last] : {std::pair{-5, 3}, std::pair{0, 40}, std::pair{-1, 12}}) {
      const Shape shape{2 * length + 1, 12, 136};
      Case c{.shape = shape, .ids = {}, .grad = some_grad(shape)};
      for (std::int64_t i = 0; i < shape.tokens; ++i) c.ids.push_back(i % 2 == 0 ? first : last);
      c.ids[1] = 11;
      expect_all_variants(c, Legacy::left_out);
    }
}

TEST(EmbeddingBackward, TheFarthestIdsOfATypeAreDropped) {
  const std::vector<float> grad{1, 2, 3, 4};
  expect_all_variants(
      {{4, 3, 1},
       {std::numeric_limits<std::int32_t>::min(), 2, std::numeric_limits<std::int32_t>::max(), 2},
       grad,
       IdType::int32});
  expect_all_variants(
      {{4, 3, 1},
       {std::numeric_limits<std::int64_t>::min(), 2, std::numeric_limits<std::int64_t>::max(), 2},
       grad});
}

TEST(EmbeddingBackward, NoTokensGiveZerosAndNoElementsNothing) {
  for (const Dtype weight_type : test::dtypes)
    expect_all_variants({.shape = {0, 30, 40}, .ids = {}, .grad = {}, .weight_type = weight_type});
  expect_all_variants({.shape = {2, 3, 0}, .ids = {1, 2}, .grad = {}});
  expect_all_variants({.shape = {2, 0, 1}, .ids = {0, 1}, .grad = {1, 2}});
}

TEST(EmbeddingBackward, UnusedRowsArePositiveZero) {
  for (const Dtype dtype : test::dtypes) {
    const Shape shape{2 * 5, 128, 64};  // ids of (2, 5), flattened
    const Case c{.shape = shape,
                 .ids = some_ids(shape),
                 .grad = some_grad(shape, dtype),
                 .grad_type = dtype,
                 .weight_type = dtype};
    for (const auto& variant : whole_variants) {
      if (variant.device != Device::cpu && test::devices().size() < 2) continue;
      SCOPED_TRACE(std::string(variant.name) + " on " + test::text(variant.device));
      OnDevice on(variant.device, c);
      const auto got = test::bits(dtype, on.run(variant.launch, false));
      for (std::int64_t v = 0; v < shape.vocab; ++v) {
        if (std::find(c.ids.begin(), c.ids.end(), v) != c.ids.end()) continue;
        for (std::int64_t h = 0; h < shape.hidden; ++h)
          ASSERT_EQ(got[static_cast<std::size_t>(v * shape.hidden + h)], 0u) << "row " << v;
      }
    }
  }
}

TEST(EmbeddingBackward, NegativeZeroGradientsGivePositiveZero) {
  const Case c{.shape = {3, 4, 2}, .ids = {1, 1, 2}, .grad = std::vector<float>(6, -0.0f)};
  expect_all_variants(c);
  EXPECT_EQ(bits(oracle(c.shape, c.ids, c.grad).at(1)), (std::vector<std::uint32_t>{0, 0}));
}

TEST(EmbeddingBackward, InfinitiesAndNansComeThroughAndSumsRoundOnce) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  for (const Dtype grad_type : test::dtypes)
    for (const Dtype weight_type : test::dtypes)
      expect_all_variants({.shape = {3, 4, 5},
                           .ids = {1, 1, 2},
                           .grad = {inf, nan, 60000 - 96, 0x1p-14f, 1,  //
                                    -inf, 1, 60000 - 96, 0x1p-14f, 0x1p-10f, inf, nan, -inf, -0.0f, 0},
                           .grad_type = grad_type == Dtype::bf16 ? Dtype::fp32 : grad_type,
                           .weight_type = weight_type});
}

TEST(EmbeddingBackward, SubnormalSumsAreKept) {
  for (const Dtype grad_type : test::dtypes)
    for (const Dtype weight_type : test::dtypes) {
      const float tiny = grad_type == Dtype::fp32   ? 0x1p-149f
                         : grad_type == Dtype::bf16 ? 0x1p-133f
                                                    : 0x1p-24f;
      const Case c{
          .shape = {4, 3, 3},
          .ids = {1, 1, 2, 1},
          .grad = {tiny, 63 * tiny, -tiny, 2 * tiny, tiny, tiny, tiny, tiny, tiny, -tiny, tiny, tiny},
          .grad_type = grad_type,
          .weight_type = weight_type};
      expect_all_variants(c);
      EXPECT_EQ(oracle(c.shape, c.ids, c.grad).at(1), (std::vector{2 * tiny, 65 * tiny, tiny}));
    }
}

}  // namespace
}  // namespace strictbench::embedding_backward
