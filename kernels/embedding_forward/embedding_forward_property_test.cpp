/// What must hold for whatever shapes, types, alignments and ids are drawn.
#include <gtest/gtest.h>

#include "kernels/common/test_draw.h"
#include "kernels/embedding_forward/test_case.h"

namespace strictbench::embedding_forward {
namespace {

TEST(EmbeddingForwardProperty, EveryVariantCopiesRowsBitForBit) {
  test::for_all_draws("embedding_forward", 150, [](test::Draw& draw) {
    const std::int64_t unit = draw.pick<std::int64_t>({1, 4, 8});  // often a whole number of pieces
    Case c{.shape = {draw.size(0, 80), draw.size(1, 60), unit * draw.size(0, 800 / unit)},
           .ids = {},
           .dtype = draw.pick({Dtype::fp32, Dtype::bf16, Dtype::fp16}),
           .wide = draw.flip(),
           .id_type = draw.pick({IdType::int64, IdType::int32}),
           .lead = draw.flip() ? 0 : draw.between(1, 9),
           .key = draw.key()};
    const std::int64_t values = draw.flip() ? c.shape.vocab : std::min<std::int64_t>(c.shape.vocab, 3);
    for (std::int64_t t = 0; t < c.shape.tokens; ++t) c.ids.push_back(draw.between(0, values - 1));
    if (draw.flip() && c.shape.tokens > 0)
      for (std::int64_t n = draw.size(1, 4); n > 0; --n)
        c.ids[static_cast<std::size_t>(draw.between(0, c.shape.tokens - 1))] =
            draw.pick<std::int64_t>({-1, c.shape.vocab, 2'000'000'000, -2'000'000'000});
    expect_all_variants(c);
  });
}

}  // namespace
}  // namespace strictbench::embedding_forward
