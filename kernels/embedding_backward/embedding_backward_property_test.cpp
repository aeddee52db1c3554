/// What must hold for whatever shapes, types, strides and patterns of ids are drawn.
#include <gtest/gtest.h>

#include "kernels/common/random.h"
#include "kernels/common/test_draw.h"
#include "kernels/embedding_backward/test_case.h"

namespace strictbench::embedding_backward {
namespace {

Case drawn(test::Draw& draw) {
  const Shape shape{draw.size(0, 200), draw.size(1, 60), draw.size(1, 300)};
  Case c{.shape = shape,
         .ids = {},
         .grad = {},
         .id_type = draw.pick({IdType::int64, IdType::int32}),
         .grad_type = draw.pick({Dtype::fp32, Dtype::bf16, Dtype::fp16}),
         .weight_type = draw.pick({Dtype::fp32, Dtype::bf16, Dtype::fp16}),
         .extra_stride = draw.flip() ? 0 : draw.size(1, 40)};
  enum Pattern { distinct, few, equal, zipf, uniform };
  const auto below = [&](std::int64_t n) {
    for (std::int64_t t = 0; t < shape.tokens; ++t) c.ids.push_back(draw.between(0, n - 1));
  };
  switch (draw.pick({distinct, few, equal, zipf, uniform})) {
    case distinct:
      c.shape.vocab = std::max(shape.vocab, shape.tokens);
      c.ids = random_distinct(draw.key(), shape.tokens, c.shape.vocab);
      break;
    case few:
      below(std::min<std::int64_t>(shape.vocab, 3));
      break;
    case equal:
      c.ids.assign(static_cast<std::size_t>(shape.tokens), draw.between(0, shape.vocab - 1));
      break;
    case zipf:
      c.ids = random_zipf(draw.key(), shape.tokens, shape.vocab);
      break;
    case uniform:
      below(shape.vocab);
  }
  if (draw.flip() && shape.tokens > 0)
    for (std::int64_t n = draw.size(1, 5); n > 0; --n)
      c.ids[static_cast<std::size_t>(draw.between(0, shape.tokens - 1))] =
          draw.pick<std::int64_t>({-1, -1'000'000, c.shape.vocab, 2'000'000'000});
  c.grad = test::cancelling_values(draw.key(), shape.tokens, shape.hidden, c.grad_type);
  return c;
}

TEST(EmbeddingBackwardProperty, EveryVariantHasItsOraclesBits) {
  test::for_all_draws("embedding_backward", 200, [](test::Draw& draw) {
    const Case c = drawn(draw);
    expect_all_variants(c);
    if (orders_agree(c.shape, c.ids)) {
      EXPECT_EQ(ascending(c), step_tree(c)) << text(c);
    }
  });
}

TEST(EmbeddingBackwardProperty, KeyedRowsGiveTheSameBitsInAnyOrderOfArrival) {
  test::for_all_draws("embedding_backward keys", 120, [](test::Draw& draw) {
    Case c = drawn(draw);
    const auto tokens = c.shape.tokens;
    // Different keys, so that any permutation is the same set of keyed rows; some negative.
    for (const std::int64_t key : random_distinct(draw.key(), tokens, 3 * tokens + 1))
      c.keys.push_back((key - tokens / 2) * 1'000'003);
    expect_all_variants(c);
    Case other = c;
    const auto order = random_distinct(draw.key(), tokens, tokens);
    for (std::size_t i = 0; i < order.size(); ++i) {
      const auto t = static_cast<std::size_t>(order[i]);
      other.ids[i] = c.ids[t];
      other.keys[i] = c.keys[t];
      std::copy_n(c.grad.begin() + order[i] * c.shape.hidden, c.shape.hidden,
                  other.grad.begin() + static_cast<std::int64_t>(i) * c.shape.hidden);
    }
    EXPECT_EQ(ascending(c), ascending(other)) << text(c);
    expect_all_variants(other);
  });
}

TEST(EmbeddingBackwardProperty, EqualKeysKeepTheirOrderOfArrival) {
  test::for_all_draws("embedding_backward equal keys", 120, [](test::Draw& draw) {
    Case c = drawn(draw);
    for (std::int64_t t = 0; t < c.shape.tokens; ++t) c.keys.push_back(draw.between(-1, 4));
    expect_all_variants(c);
  });
}

}  // namespace
}  // namespace strictbench::embedding_backward
