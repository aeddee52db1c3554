#include <string>

#include "kernels/common/test_draw.h"
#include "kernels/tile_tree_gemm/test_matrix.h"

namespace strictbench::tile_tree_gemm {
namespace {

using test::bits;
using test::Draw;

Layout any_layout(Draw& draw) {
  return {.by_rows = draw.flip(),
          .gap = draw.pick<std::int64_t>({0, 0, 1, 8, 13}),
          .offset = draw.pick<std::int64_t>({0, 0, 1, 8})};
}

TEST(TileTreeGemmProperty, AnyShapeAndLayoutFollowsTheOracle) {
  test::for_all_draws("tile_tree_gemm", 60, [](Draw& draw) {
    const std::int64_t m = block_m * draw.size(1, 3);
    const std::int64_t n = draw.size(1, 150);
    const std::int64_t k = tile_k * draw.size(1, 13);
    const Layout a_layout = any_layout(draw);
    const Layout b_layout = any_layout(draw);
    // Whole numbers are exact in any order; of others the GPU's order inside a tile is the hardware's.
    const bool whole = draw.flip();
    const std::string name = std::to_string(draw.key());
    const auto values = [&](const std::string& which) {
      return whole ? small_integers((name + which).c_str()) : normal((name + which).c_str());
    };
    for (const auto& variant : variants)
      for (const Device device : test::devices()) {
        if (variant.device != device) continue;
        Matrix a(device, m, k, a_layout, values("a"));
        Matrix b(device, k, n, b_layout, values("b"));
        test::Array<Bf16> c(device, static_cast<std::size_t>(m * n));
        const auto expected =
            oracle({.m = m, .n = n, .k = k, .a = a.on_host(), .b = b.on_host(), .c = nullptr});
        variant.launch({m, n, k, a.operand(), b.operand(), c.data()}, nullptr);
        if (whole || device == Device::cpu)
          ASSERT_EQ(bits(c.values()), bits(expected)) << m << " x " << n << " x " << k;
        else
          ASSERT_LE(relative_l2(c.values(), expected), 0.01) << m << " x " << n << " x " << k;
      }
  });
}

}  // namespace
}  // namespace strictbench::tile_tree_gemm
