#include "kernels/embedding_backward/embedding_backward.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <span>
#include <utility>

#include "kernels/common/random.h"
#include "kernels/embedding_backward/test_case.h"

namespace strictbench::embedding_backward {
namespace {

using test::bits;

std::vector<std::int64_t> some_ids(const Shape& shape) {
  const auto key = random_key("any ids");
  std::vector<std::int64_t> ids;
  for (std::int64_t t = 0; t < shape.tokens; ++t)
    ids.push_back(static_cast<std::int64_t>(
        random_below(key, static_cast<std::uint64_t>(t), static_cast<std::uint64_t>(shape.vocab))));
  return ids;
}

std::vector<float> some_grad(const Shape& shape, Dtype dtype = Dtype::bf16) {
  return test::cancelling_values(random_key("grad"), shape.tokens, shape.hidden, dtype);
}

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

TEST(EmbeddingBackwardIds, TheHostsCheckNamesPositionValueAndRange) {
  const Shape shape{4, 3, 1};
  const std::vector<std::int64_t> wide{0, 2, 3, -1};
  const std::vector<std::int32_t> narrow{0, 2, -7, 3};
  const std::vector<std::int32_t> good{0, 2, 1, 0};
  test::expect_refusal([&] { validate_ids(shape, wide.data()); },
                       "embedding_backward: ids[2] is 3, outside [0, 3)");
  test::expect_refusal([&] { validate_ids(shape, narrow.data()); },
                       "embedding_backward: ids[2] is -7, outside [0, 3)");
  EXPECT_NO_THROW(validate_ids(shape, good.data()));
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

// Arguments ---------------------------------------------------------------------------------------------

/// Arguments that fit, of host memory that no refused launch reads.
struct Fitting {
  std::int64_t ids[4] = {};
  float grad[8] = {};
  float dweight[8] = {};
  std::int64_t sorted_ids[4] = {};
  std::int64_t positions[4] = {};
  Args args{.shape = {2, 2, 2},
            .ids = ids,
            .grad = grad,
            .grad_stride = 2,
            .dweight = dweight,
            .sorted = {sorted_ids, positions, nullptr, 0}};
};

template <class T>
T* one_byte_on(T* pointer) {
  return reinterpret_cast<T*>(reinterpret_cast<char*>(pointer) + 1);
}

TEST(EmbeddingBackward, RefusesArgumentsThatDoNotFitByName) {
  constexpr std::int64_t huge = std::int64_t{1} << 62;
  const std::vector<std::pair<std::string, std::function<void(Fitting&)>>> faults{
      {"shape.tokens", [](Fitting& f) { f.args.shape.tokens = -1; }},
      {"shape.vocab", [](Fitting& f) { f.args.shape.vocab = -1; }},
      {"shape.hidden", [](Fitting& f) { f.args.shape.hidden = -1; }},
      {"grad_stride", [](Fitting& f) { f.args.grad_stride = 1; }},
      {"shape.tokens * grad_stride", [](Fitting& f) { f.args.grad_stride = huge; }},
      {"shape.vocab * shape.hidden", [](Fitting& f) { f.args.shape.vocab = huge; }},
      {"ids must be int64", [](Fitting& f) { f.args.ids.type = static_cast<IdType>(9); }},
      {"grad must be fp32", [](Fitting& f) { f.args.grad.dtype = static_cast<Dtype>(9); }},
      {"dweight must be fp32", [](Fitting& f) { f.args.dweight.dtype = static_cast<Dtype>(9); }},
      {"ids must not be null", [](Fitting& f) { f.args.ids.data = nullptr; }},
      {"grad must not be null", [](Fitting& f) { f.args.grad.data = nullptr; }},
      {"dweight must not be null", [](Fitting& f) { f.args.dweight.data = nullptr; }},
      {"ids must be aligned", [](Fitting& f) { f.args.ids.data = one_byte_on(f.ids); }},
      {"grad must be aligned", [](Fitting& f) { f.args.grad.data = one_byte_on(f.grad); }},
      {"dweight must be aligned", [](Fitting& f) { f.args.dweight.data = one_byte_on(f.dweight); }},
      {"dweight must not overlap grad", [](Fitting& f) { f.args.dweight.data = f.grad + 3; }},
      {"dweight must not overlap ids", [](Fitting& f) { f.args.dweight.data = f.ids + 1; }}};
  const std::vector<std::pair<std::string, std::function<void(Fitting&)>>> sorted_faults{
      {"sorted.ids must not be null", [](Fitting& f) { f.args.sorted.ids = nullptr; }},
      {"sorted.positions must not be null", [](Fitting& f) { f.args.sorted.positions = nullptr; }},
      {"sorted.ids must be aligned", [](Fitting& f) { f.args.sorted.ids = one_byte_on(f.sorted_ids); }},
      {"sorted.positions must be aligned",
       [](Fitting& f) { f.args.sorted.positions = one_byte_on(f.positions); }},
      {"overlap sorted.ids", [](Fitting& f) { f.args.dweight.data = f.sorted_ids; }},
      {"overlap sorted.positions", [](Fitting& f) { f.args.dweight.data = f.positions; }}};
  const auto try_all = [](const auto& some, const std::string& what, const auto& launch) {
    for (const auto& [part, break_one] : some) {
      SCOPED_TRACE(what);
      Fitting f;
      break_one(f);
      test::expect_refusal([&] { launch(f.args); }, part);
    }
  };
  for (const Device device : test::devices())
    for (const std::span<const Variant<Args>> table : {std::span(variants), std::span(whole_variants)})
      for (const auto& variant : table) {
        if (variant.device != device) continue;
        const auto launch = [&](const Args& args) { variant.launch(args, nullptr); };
        try_all(faults, std::string(variant.name), launch);
        if (variant.name != "legacy") try_all(sorted_faults, std::string(variant.name), launch);
      }
  const std::vector<std::pair<std::string, std::function<void(Fitting&)>>> sort_faults{
      {"sorted.ids must not overlap sorted.positions",
       [](Fitting& f) { f.args.sorted.positions = f.sorted_ids + 1; }},
      {"sorted.ids must not overlap ids", [](Fitting& f) { f.args.sorted.ids = f.ids; }},
      {"sorted.positions must not overlap ids", [](Fitting& f) { f.args.sorted.positions = f.ids; }},
      {"sorted.workspace", [](Fitting& f) {
         f.args.sorted.workspace = f.grad;
         f.args.sorted.workspace_bytes = 8;
       }}};
  try_all(sort_faults, "cpu_sort_ids", [](const Args& args) { cpu_sort_ids(args, nullptr); });
  Fitting f;
  test::expect_refusal([&] { cpu_sort_ids_by_key(f.args, nullptr, nullptr); }, "keys must not be null");
  test::expect_refusal([&] { cpu_sort_ids_by_key(f.args, f.sorted_ids, nullptr); }, "must not overlap keys");
#ifdef STRICTBENCH_HAS_CUDA
  try_all(sort_faults, "sort_ids", [](const Args& args) { sort_ids(args, nullptr); });
  test::expect_refusal([&] { sort_ids_by_key(f.args, nullptr, nullptr); }, "keys must not be null");
#endif
}

}  // namespace
}  // namespace strictbench::embedding_backward
