/// What must hold for whatever shapes, types, strides and patterns of ids are drawn.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "kernels/common/random.h"
#include "kernels/common/test_draw.h"
#include "kernels/common/test_special.h"
#include "kernels/embedding_backward/test_case.h"

namespace strictbench::embedding_backward {
namespace {

/// Any int64: uniform over all 64 bits, of few bits, or at an end of the range.
std::int64_t any_int64(test::Draw& draw) {
  using Limits = std::numeric_limits<std::int64_t>;
  switch (draw.between(0, 3)) {
    case 0:
      return draw.between(-3, 3);
    case 1:
      return draw.pick({Limits::min(), Limits::min() + 1, Limits::max() - 1, Limits::max()});
    default:
      return static_cast<std::int64_t>(draw.key());
  }
}

/// The same, now and then with the lower 32 bits of `id`, which a sort or a comparison of int32 takes for it.
std::int64_t out_of_range(test::Draw& draw, std::int64_t id, std::int64_t vocab) {
  const std::int64_t drawn = draw.flip() ? any_int64(draw) : test::same_lower_half(draw, id);
  return drawn >= 0 && drawn < vocab ? draw.pick<std::int64_t>({-1 - drawn, vocab + drawn}) : drawn;
}

std::vector<std::int64_t> drawn_ids(test::Draw& draw, std::int64_t tokens, std::int64_t vocab) {
  enum Pattern { distinct, few, equal, zipf, uniform };
  const Pattern pattern = draw.pick({distinct, few, equal, zipf, uniform});
  if (pattern == zipf) return random_zipf(draw.key(), tokens, vocab);
  if (pattern == distinct && tokens <= vocab) return random_distinct(draw.key(), tokens, vocab);
  const std::int64_t last = pattern == few ? std::min<std::int64_t>(vocab, 3) - 1 : vocab - 1;
  const std::int64_t same = draw.between(0, last);
  std::vector<std::int64_t> ids;
  for (std::int64_t t = 0; t < tokens; ++t) ids.push_back(pattern == equal ? same : draw.between(0, last));
  return ids;
}

Case drawn(test::Draw& draw) {
  const Shape shape{draw.size_by_class(300), draw.size_by_class(200), draw.size_by_class(300)};
  Case c{.shape = shape,
         .ids = drawn_ids(draw, shape.tokens, std::max<std::int64_t>(shape.vocab, 1)),
         .grad = {},
         .id_type = draw.pick({IdType::int64, IdType::int32}),
         .grad_type = draw.pick({Dtype::fp32, Dtype::bf16, Dtype::fp16}),
         .weight_type = draw.pick({Dtype::fp32, Dtype::bf16, Dtype::fp16}),
         .extra_stride = draw.flip() ? 0 : draw.size(1, 40)};
  if (draw.flip() && shape.tokens > 0)
    for (std::int64_t n = draw.size(1, 1 + shape.tokens / 4); n > 0; --n) {
      std::int64_t& id = c.ids[static_cast<std::size_t>(draw.between(0, shape.tokens - 1))];
      id = out_of_range(draw, id, shape.vocab);
    }
  if (c.id_type == IdType::int32)  // what does not fit goes to an end of the range
    for (std::int64_t& id : c.ids)
      id = std::clamp<std::int64_t>(id, std::numeric_limits<std::int32_t>::min(),
                                    std::numeric_limits<std::int32_t>::max());
  c.grad = test::cancelling_values(draw.key(), shape.tokens, shape.hidden, c.grad_type);
  test::mix_in_specials(draw, c.grad_type, c.grad);
  return c;
}

/// `count` different keys, negative ones among them; which of two comes first may show in any of 64 bits.
std::vector<std::int64_t> distinct_keys(test::Draw& draw, std::int64_t count) {
  std::set<std::int64_t> different;
  const std::int64_t shift = draw.pick<std::int64_t>({0, 20, 32, 53});  // equal below: 32 bits do not tell
  while (static_cast<std::int64_t>(different.size()) < count) {
    const std::int64_t key = draw.flip() ? any_int64(draw) : draw.between(-count, 3 * count) << shift;
    different.insert(key < 0 && draw.between(0, 3) > 0 ? ~key : key);
  }
  const std::vector<std::int64_t> ascending_keys(different.begin(), different.end());
  std::vector<std::int64_t> keys;
  for (const std::int64_t i : random_distinct(draw.key(), count, count))
    keys.push_back(ascending_keys[static_cast<std::size_t>(i)]);
  return keys;
}

std::vector<std::uint32_t> any_nan(const Case& c, const std::vector<std::byte>& dweight) {
  return test::bits_any_nan(c.weight_type, dweight);
}

TEST(EmbeddingBackwardProperty, EveryVariantHasItsOraclesBits) {
  test::for_all_draws("embedding_backward", 200, [](test::Draw& draw) {
    const Case c = drawn(draw);
    expect_all_variants(c);
    if (orders_agree(c.shape, c.ids)) {
      EXPECT_EQ(any_nan(c, ascending(c)), any_nan(c, step_tree(c))) << text(c);
    }
  });
}

TEST(EmbeddingBackwardProperty, KeyedRowsGiveTheSameBitsInAnyOrderOfArrival) {
  test::for_all_draws("embedding_backward keys", 200, [](test::Draw& draw) {
    Case c = drawn(draw);
    const auto tokens = c.shape.tokens;
    c.keys = distinct_keys(draw, tokens);  // so that any permutation is the same set of keyed rows
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
    EXPECT_EQ(any_nan(c, ascending(c)), any_nan(c, ascending(other))) << text(c);
    expect_all_variants(other);
  });
}

TEST(EmbeddingBackwardProperty, EqualKeysKeepTheirOrderOfArrival) {
  test::for_all_draws("embedding_backward equal keys", 200, [](test::Draw& draw) {
    Case c = drawn(draw);
    std::vector<std::int64_t> few;
    for (int i = 0; i < 5; ++i) few.push_back(any_int64(draw));
    for (std::int64_t t = 0; t < c.shape.tokens; ++t)
      c.keys.push_back(draw.flip() ? draw.between(-1, 4) << 32
                                   : few[static_cast<std::size_t>(draw.between(0, 4))]);
    expect_all_variants(c);
  });
}

}  // namespace
}  // namespace strictbench::embedding_backward
