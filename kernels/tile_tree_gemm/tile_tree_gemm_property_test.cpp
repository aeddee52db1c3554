#include <algorithm>
#include <string>

#include "kernels/common/test_compare.h"
#include "kernels/common/test_draw.h"
#include "kernels/tile_tree_gemm/test_matrix.h"

namespace strictbench::tile_tree_gemm {
namespace {

using test::bits_any_nan;
using test::Draw;

Layout any_layout(Draw& draw) {
  return {.by_rows = draw.flip(),
          .gap = draw.pick<std::int64_t>({0, 0, 1, 8, 13}),
          .offset = draw.pick<std::int64_t>({0, 0, 1, 8})};
}

/// Whole numbers and special values are exact inside a tile in any order; of normal numbers the GPU's order
/// there is the hardware's.
enum class Kind { whole, special, normal };

TEST(TileTreeGemmProperty, AnyShapeAndLayoutFollowsTheOracle) {
  test::for_all_draws("tile_tree_gemm", 90, [](Draw& draw) {
    const std::int64_t m = block_m * draw.size(1, 3);
    const std::int64_t n = draw.size(1, 150);
    const std::int64_t k = tile_k * draw.size(1, 13);
    const Layout a_layout = any_layout(draw);
    const Layout b_layout = any_layout(draw);
    const Kind kind = draw.pick({Kind::whole, Kind::special, Kind::normal});
    const float unit = draw.flip() ? 1.0f : 0x1p-133f;
    const auto values = [&](std::uint64_t key, float scale) {
      return kind == Kind::whole     ? wide_integers(key)
             : kind == Kind::special ? special_values(key, scale, static_cast<std::uint64_t>(2 * k))
                                     : normal(std::to_string(key).c_str());
    };
    const Values a_values = values(draw.key(), 1.0f);
    const Values b_values = values(draw.key(), unit);
    for (const auto& variant : variants)
      for (const Device device : test::devices()) {
        if (variant.device != device) continue;
        SCOPED_TRACE(std::string(test::text(device)) + ", " + std::to_string(m) + " x " + std::to_string(n) +
                     " x " + std::to_string(k) + ", kind " + std::to_string(static_cast<int>(kind)));
        Matrix a(device, m, k, a_layout, a_values);
        Matrix b(device, k, n, b_layout, b_values);
        test::Array<Bf16> c(device, static_cast<std::size_t>(m * n));
        const auto expected =
            oracle({.m = m, .n = n, .k = k, .a = a.on_host(), .b = b.on_host(), .c = nullptr});
        variant.launch({m, n, k, a.operand(), b.operand(), c.data()}, nullptr);
        if (device == Device::cpu) {
          ASSERT_EQ(bits_any_nan(c.values()), bits_any_nan(expected));
        } else if (kind != Kind::normal) {
          ASSERT_EQ(bits_any_nan(c.values(), test::Zeros::are_one),
                    bits_any_nan(expected, test::Zeros::are_one));
        } else {
          ASSERT_LE(test::relative_l2(c.values(), expected), test::tensor_core_tolerance(m * n));
          ASSERT_LE(test::worst_row(c.values(), expected, n), test::tensor_core_tolerance(n));
        }
      }
  });
}

}  // namespace
}  // namespace strictbench::tile_tree_gemm
