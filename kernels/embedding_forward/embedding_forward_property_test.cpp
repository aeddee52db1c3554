/// What must hold for whatever shapes, types, alignments and ids are drawn.
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/common/test_draw.h"
#include "kernels/embedding_forward/test_case.h"

namespace strictbench::embedding_forward {
namespace {

TEST(EmbeddingForwardProperty, EveryVariantCopiesRowsBitForBit) {
  test::for_all_draws("embedding_forward", 300, [](test::Draw& draw) {
    const std::int64_t unit = draw.pick<std::int64_t>({1, 4, 8});  // often a whole number of pieces
    Case c{.shape = {draw.size_by_class(150), draw.size_by_class(150), unit * draw.size_by_class(800 / unit)},
           .ids = {},
           .dtype = draw.pick({Dtype::fp32, Dtype::bf16, Dtype::fp16}),
           .wide = draw.flip(),
           .id_type = draw.pick({IdType::int64, IdType::int32}),
           .lead = draw.flip() ? 0 : draw.between(1, 9),
           .key = draw.key()};
    const std::int64_t last = std::max<std::int64_t>(draw.flip() ? c.shape.vocab : 3, 1) - 1;
    for (std::int64_t t = 0; t < c.shape.tokens; ++t) c.ids.push_back(draw.between(0, last));
    if (draw.flip() && c.shape.tokens > 0)
      for (std::int64_t n = draw.size(1, 4); n > 0; --n) {
        std::int64_t& id = c.ids[static_cast<std::size_t>(draw.between(0, c.shape.tokens - 1))];
        id = c.id_type == IdType::int32
                 ? draw.pick<std::int64_t>({-1, c.shape.vocab, 2'000'000'000, -2'000'000'000})
                 : draw.pick<std::int64_t>({-1, c.shape.vocab, test::same_lower_half(draw, id),
                                            static_cast<std::int64_t>(draw.key())});
      }
    expect_all_variants(c);
  });
}

}  // namespace
}  // namespace strictbench::embedding_forward
