#include "kernels/common/test_draw.h"
#include "kernels/dw_gemm/test_inputs.h"
#include "kernels/tile_tree_gemm/test_matrix.h"

namespace strictbench::dw_gemm {
namespace {

using test::bits;
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
    const Inputs strict = cancelling ? cancelling_inputs(shape) : normal;
    for (const auto& variant : variants) {
      if (!can_run(variant, shape)) continue;
      SCOPED_TRACE(text(variant, shape));
      if (is_strict(variant, shape)) {
        ASSERT_EQ(bits(run(variant, shape, strict)), bits(whole_oracle(shape, strict, tree(variant, shape))));
        continue;
      }
      const double tolerance = variant.name == "cublas" ? 0.02 : 0.01;
      const auto got = run(variant, shape, normal);
      ASSERT_LE(tile_tree_gemm::relative_l2(got, whole_oracle(shape, normal)), tolerance);
    }
  });
}

}  // namespace
}  // namespace strictbench::dw_gemm
