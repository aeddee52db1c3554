#include "kernels/tile_tree_gemm/tile_tree_gemm.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "kernels/common/test_compare.h"
#include "kernels/tile_tree_gemm/test_matrix.h"

namespace strictbench::tile_tree_gemm {
namespace {

using test::bits;

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

/// The nodes of the tree over [lo, hi) in the order in which recursion completes them, as "after tile".
void count_sums(int lo, int hi, std::vector<int>& sums) {
  if (hi - lo == 1) return;
  const int mid = lo + (hi - lo) / 2;
  count_sums(lo, mid, sums);
  count_sums(mid, hi, sums);
  ++sums[static_cast<std::size_t>(hi - 1)];
}

TEST(TileTree, SumsAreThoseOfTheRecursionAndFitTheStack) {
  std::vector<int> some;
  for (int tiles = 1; tiles <= 400; ++tiles) some.push_back(tiles);
  some.insert(some.end(), {1000, 32769, 65535, 65536});
  for (const int tiles : some) {
    std::vector<int> expected(static_cast<std::size_t>(tiles), 0);
    count_sums(0, tiles, expected);
    int depth = 0;
    for (int tile = 0; tile < tiles; ++tile) {
      const int sums = sums_after(tile, tiles);
      ASSERT_EQ(sums, expected[static_cast<std::size_t>(tile)]) << tile << " of " << tiles;
      depth -= sums;
      ASSERT_GE(depth, 0);
      if (tile + 1 < tiles) ++depth;
      ASSERT_LE(depth, max_levels);
    }
    ASSERT_EQ(depth, 0);
  }
}

std::vector<Bf16> run(const Variant<Args>& variant, Args args) {
  test::Array<Bf16> c(variant.device, static_cast<std::size_t>(args.m * args.n));
  args.c = c.data();
  variant.launch(args, nullptr);
  return c.values();
}

std::vector<Bf16> host_oracle(std::int64_t m, std::int64_t n, std::int64_t k, const Matrix& a,
                              const Matrix& b) {
  return oracle({.m = m, .n = n, .k = k, .a = a.on_host(), .b = b.on_host(), .c = nullptr});
}

TEST(TileTreeOracle, RoundsOncePerTileAndOncePerNode) {
  // Three tiles: [0] and [1, 2]. Tile 0 is 1 + 31 * 2^-9, rounded to a multiple of 2^-7; 1 and 2 are 3 *
  // 2^-10 each, which alone are lost when added to it, and together are not.
  const Values a = [](std::int64_t, std::int64_t k) {
    return k == 0 ? 1.0f : k < 32 ? 0x1p-9f : k % 32 == 0 ? 0x1.8p-9f : 0.0f;
  };
  const Values ones = [](std::int64_t, std::int64_t) { return 1.0f; };
  const Matrix row(Device::cpu, 1, 96, {}, a);
  const Matrix column(Device::cpu, 96, 1, {}, ones);
  const float first = to_float(to_bf16(1.0f + 31 * 0x1p-9f));
  EXPECT_NE(first, 1.0f + 31 * 0x1p-9f);  // the inner rounding is real
  EXPECT_EQ(to_float(to_bf16(first + 0x1.8p-9f)), first);
  EXPECT_EQ(bits(host_oracle(1, 1, 96, row, column)), bits({to_bf16(first + 0x1.8p-8f)}));
  EXPECT_NE(to_float(to_bf16(first + 0x1.8p-8f)), first);
}

TEST(TileTreeOracle, ShapeOfTheTreeShowsInTheTestInputs) {
  // Three tiles in ascending order instead of 1 + 2, from the oracle's own tiles.
  constexpr std::int64_t n = 100;
  const Matrix a(Device::cpu, 1, 96, {}, normal("a"));
  const Matrix b(Device::cpu, 96, n, {}, normal("b"));
  std::vector<std::vector<Bf16>> tiles;
  for (const std::int64_t k : {0, 32, 64})
    tiles.push_back(oracle({.m = 1,
                            .n = n,
                            .k = 32,
                            .a = {a.on_host().data + k, 96, 1},
                            .b = {b.on_host().data + k * n, n, 1},
                            .c = nullptr}));
  const auto expected = host_oracle(1, n, 96, a, b);
  int differ = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto sum = [](Bf16 left, Bf16 right) { return to_bf16(to_float(left) + to_float(right)); };
    EXPECT_EQ(sum(tiles[0][i], sum(tiles[1][i], tiles[2][i])).bits, expected[i].bits);
    differ += sum(sum(tiles[0][i], tiles[1][i]), tiles[2][i]).bits != expected[i].bits;
  }
  EXPECT_GT(differ, 10);  // of 100; else a kernel with another tree could pass
}

/// Bits of the oracle on the CPU, near it on the GPU, where the order inside a tile is the hardware's; and
/// the same bits each time.
void expect_close(std::int64_t m, std::int64_t n, std::int64_t k, const Layout& a_layout,
                  const Layout& b_layout) {
  for (const auto& variant : variants)
    for (const Device device : test::devices()) {
      if (variant.device != device) continue;
      SCOPED_TRACE(std::string(test::text(device)) + ", " + std::to_string(m) + " x " + std::to_string(n) +
                   " x " + std::to_string(k) + (a_layout.by_rows ? ", A" : ", A^T") +
                   (b_layout.by_rows ? " B" : " B^T"));
      Matrix a(device, m, k, a_layout, normal("a"));
      Matrix b(device, k, n, b_layout, normal("b"));
      const Args args{.m = m, .n = n, .k = k, .a = a.operand(), .b = b.operand(), .c = nullptr};
      const auto expected = host_oracle(m, n, k, a, b);
      const auto got = run(variant, args);
      if (device == Device::cpu) {
        EXPECT_EQ(bits(got), bits(expected));
      }
      EXPECT_LE(test::relative_l2(got, expected), test::tensor_core_tolerance(m * n));
      EXPECT_LE(test::worst_row(got, expected, n), test::tensor_core_tolerance(n));
      EXPECT_EQ(bits(run(variant, args)), bits(got));
    }
}

TEST(TileTreeGemm, HasTheOraclesBitsOrIsCloseInEveryLayout) {
  for (const bool a_by_rows : {true, false})
    for (const bool b_by_rows : {true, false}) {
      expect_close(64, 64, 32, {a_by_rows}, {b_by_rows});
      expect_close(128, 72, 96, {a_by_rows, 8, 16}, {b_by_rows, 16, 8});  // 16-byte loads, gaps, ragged
      expect_close(64, 131, 224, {a_by_rows, 3, 1}, {b_by_rows, 5, 7});   // nothing aligned
      expect_close(64, 1, 64, {a_by_rows}, {b_by_rows});
    }
}

TEST(TileTreeGemm, WholeNumbersAreExactInEveryLayout) {
  for (const auto& variant : variants)
    for (const Device device : test::devices())
      for (const bool a_by_rows : {true, false})
        for (const bool b_by_rows : {true, false}) {
          if (variant.device != device) continue;
          for (const std::int64_t k : {32, 352, 1056}) {
            constexpr std::int64_t m = 64;
            constexpr std::int64_t n = 75;
            const auto a_values = small_integers("a");
            const auto b_values = small_integers("b");
            Matrix a(device, m, k, {a_by_rows}, a_values);
            Matrix b(device, k, n, {b_by_rows}, b_values);
            std::vector<float> sums(m * n, 0.0f);
            for (std::int64_t r = 0; r < m; ++r)
              for (std::int64_t kk = 0; kk < k; ++kk) {
                const float left = a_values(r, kk);
                if (left == 0.0f) continue;
                for (std::int64_t c = 0; c < n; ++c)
                  sums[static_cast<std::size_t>(r * n + c)] += left * b_values(kk, c);
              }
            std::vector<Bf16> expected;
            for (const float sum : sums) {
              ASSERT_LE(std::fabs(sum), 256.0f);
              expected.push_back(to_bf16(sum));
            }
            SCOPED_TRACE(std::string(test::text(device)) + ", k " + std::to_string(k));
            EXPECT_EQ(bits(run(variant, {m, n, k, a.operand(), b.operand(), nullptr})), bits(expected));
          }
        }
}

/// An element depends on its row of A and its column of B alone: not on what stands around them, nor on where
/// in its block, warp or fragment it is computed.
TEST(TileTreeGemm, BitsDoNotDependOnTheBatch) {
  constexpr std::int64_t k = 160;
  constexpr std::int64_t m = 64;
  constexpr std::int64_t n = 40;
  const auto a_values = normal("a");
  const auto b_values = normal("b");
  for (const auto& variant : variants)
    for (const Device device : test::devices()) {
      if (variant.device != device) continue;
      Matrix a(device, m, k, {}, a_values);
      Matrix b(device, k, n, {}, b_values);
      const auto alone = run(variant, {m, n, k, a.operand(), b.operand(), nullptr});
      for (const std::int64_t row_shift : {0, 1, 9, 37, 64})
        for (const std::int64_t col_shift : {0, 3, 8, 45}) {
          // The same rows further down and columns further right, zeros or other numbers around them.
          const auto around = [&](std::int64_t r, std::int64_t limit, float value) {
            return r >= 0 && r < limit ? value : row_shift % 2 == 0 ? 0.0f : 3.0f + static_cast<float>(r);
          };
          Matrix more_a(device, 2 * m, k, {}, [&](std::int64_t r, std::int64_t c) {
            return around(r - row_shift, m, r < row_shift ? 0.0f : a_values(r - row_shift, c));
          });
          Matrix more_b(device, k, 2 * n + 11, {}, [&](std::int64_t r, std::int64_t c) {
            return around(c - col_shift, n, c < col_shift ? 0.0f : b_values(r, c - col_shift));
          });
          constexpr std::int64_t wide = 2 * n + 11;
          const auto got = run(variant, {2 * m, wide, k, more_a.operand(), more_b.operand(), nullptr});
          std::vector<Bf16> part;
          for (std::int64_t r = row_shift; r < row_shift + m; ++r)
            part.insert(part.end(), got.begin() + r * wide + col_shift,
                        got.begin() + r * wide + col_shift + n);
          EXPECT_EQ(bits(part), bits(alone)) << test::text(device) << " " << row_shift << " " << col_shift;
        }
    }
}

TEST(TileTreeGemm, InfinitiesAndNansGoThrough) {
  const Values a = [](std::int64_t r, std::int64_t) { return r == 3 ? inf : 1.0f; };
  const Values b = [](std::int64_t, std::int64_t c) { return c == 2 ? nan : c == 5 ? 0.0f : 1.0f; };
  for (const auto& variant : variants)
    for (const Device device : test::devices()) {
      if (variant.device != device) continue;
      Matrix left(device, 64, 64, {}, a);
      Matrix right(device, 64, 9, {}, b);
      const auto c = run(variant, {64, 9, 64, left.operand(), right.operand(), nullptr});
      for (std::size_t row = 0; row < 64; ++row)
        for (std::size_t col = 0; col < 9; ++col) {
          const float got = to_float(c[row * 9 + col]);
          if (col == 2 || (row == 3 && col == 5))
            EXPECT_TRUE(std::isnan(got) && c[row * 9 + col].bits != poison16);
          else
            EXPECT_EQ(got, col == 5 ? 0.0f : row == 3 ? inf : 64.0f);
        }
    }
}

}  // namespace
}  // namespace strictbench::tile_tree_gemm
