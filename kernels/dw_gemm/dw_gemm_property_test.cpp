#include "kernels/common/test_draw.h"
#include "kernels/dw_gemm/test_inputs.h"

namespace strictbench::dw_gemm {
namespace {

using test::bits;
using test::bits_any_nan;
using test::Draw;

/// About a third of the draws for each path of `new`.
Shape any_shape(Draw& draw) {
  switch (draw.between(0, 2)) {
    case 0:
      return {draw.between(1, 31), draw.size(1, 300), draw.size(1, 300)};
    case 1:
      return {32 * draw.size(1, 12), draw.size(1, 150), 64 * draw.size(1, 3)};
    default:
      return {draw.between(32, 200), draw.size(1, 150), draw.size(1, 150)};
  }
}

TEST(DwGemmProperty, EveryVariantKeepsItsClaimOnAnyShape) {
  test::for_all_draws("dw_gemm", 60, [](Draw& draw) {
    const Shape shape = any_shape(draw);
    const bool cancelling = draw.flip();
    const Inputs normal = normal_inputs(shape, draw.key());
    const Inputs strict = cancelling ? cancelling_inputs(shape, draw.key()) : normal;
    const Inputs whole = wide_integer_inputs(shape, draw.key());
    const Inputs special = special_inputs(shape, draw.key(), draw.flip() ? 1.0f : 0x1p-133f);
    for (const auto& variant : variants) {
      if (!can_run(variant, shape)) continue;
      SCOPED_TRACE(text(variant, shape));
      const auto oracle = [&](const Inputs& inputs) {
        return whole_oracle(shape, inputs, tree(variant, shape));
      };
      if (variant.name == "cublas") {
        // Of few elements one that cancels may be off by itself: the K-tree rounds to bf16 in between.
        if (shape.in * shape.out < 256) continue;
        ASSERT_LE(test::relative_l2(run(variant, shape, normal), oracle(normal)), 0.02);
        continue;
      }
      ASSERT_EQ(bits(run(variant, shape, whole)), bits(oracle(whole)));
      const auto sign = zeros(variant, shape);
      ASSERT_EQ(bits_any_nan(run(variant, shape, special), sign), bits_any_nan(oracle(special), sign));
      if (is_strict(variant, shape)) {
        ASSERT_EQ(bits(run(variant, shape, strict)), bits(oracle(strict)));
        continue;
      }
      const auto got = run(variant, shape, normal);
      ASSERT_LE(test::relative_l2(got, oracle(normal)), test::tensor_core_tolerance(shape.out * shape.in));
      ASSERT_LE(test::worst_row(got, oracle(normal), shape.in), test::tensor_core_tolerance(shape.in));
    }
  });
}

}  // namespace
}  // namespace strictbench::dw_gemm
