/// Which definition a variant follows, on inputs that tell it from its neighbours: what is exact inside a
/// tile in any order is compared as bits on every device, tensor cores included.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "kernels/common/test_compare.h"
#include "kernels/tile_tree_gemm/test_matrix.h"

namespace strictbench::tile_tree_gemm {
namespace {

enum class Join { middle, middle_rounded_up, linear };

/// An fp32 as a bf16, by the name of what happens to its lower half.
float none(float x) { return x; }
float nearest(float x) { return to_float(to_bf16(x)); }
float truncated(float x) { return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0xffff0000u); }
float ties_away(float x) {
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(x) + 0x8000u) & 0xffff0000u);
}

struct Definition {
  const char* name;
  std::size_t tile = tile_k;
  Join join = Join::middle;
  float (*round_tile)(float) = nearest;
  float (*round_node)(float) = nearest;
  float (*round_end)(float) = nearest;
};

/// What the operator is, and what it is not.
constexpr Definition right{.name = "the tile tree"};
constexpr Definition wrong[] = {
    {.name = "a linear join", .join = Join::linear},
    {.name = "a split that rounds up", .join = Join::middle_rounded_up},
    {.name = "tiles that are not rounded", .round_tile = none},
    {.name = "nodes that are not rounded", .round_node = none},
    {.name = "one rounding at the end", .round_tile = none, .round_node = none},
    {.name = "tiles of 16", .tile = 16},
    {.name = "tiles of 64", .tile = 64},
    {.name = "truncation", .round_tile = truncated, .round_node = truncated, .round_end = truncated},
    {.name = "ties away from zero", .round_tile = ties_away, .round_node = ties_away, .round_end = ties_away},
};

float joined(const Definition& by, const std::vector<float>& tiles, std::size_t lo, std::size_t hi) {
  if (hi - lo == 1) return tiles[lo];
  const std::size_t mid = by.join == Join::linear              ? hi - 1
                          : by.join == Join::middle_rounded_up ? lo + (hi - lo + 1) / 2
                                                               : lo + (hi - lo) / 2;
  return by.round_node(joined(by, tiles, lo, mid) + joined(by, tiles, mid, hi));
}

/// The sum of `products` by a definition.
Bf16 sum(const Definition& by, const std::vector<float>& products) {
  std::vector<float> tiles;
  for (std::size_t first = 0; first < products.size(); first += by.tile) {
    float tile = +0.0f;
    for (std::size_t k = first; k < std::min(first + by.tile, products.size()); ++k) tile += products[k];
    tiles.push_back(by.round_tile(tile));
  }
  return to_bf16(by.round_end(joined(by, tiles, 0, tiles.size())));
}

constexpr std::int64_t m = block_m;
constexpr std::int64_t n = 40;

using Numbers = std::vector<float>;

Numbers numbers(std::int64_t rows, std::int64_t cols, const Values& values) {
  Numbers all;
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < cols; ++c) all.push_back(values(r, c));
  return all;
}

/// All of A times B, the former by rows, the latter by rows of its transpose, by each definition.
std::vector<std::vector<Bf16>> all_sums(std::size_t k, const Numbers& a, const Numbers& b_transposed) {
  std::vector<std::vector<Bf16>> sums(1 + std::size(wrong));
  Numbers products(k);
  for (std::size_t r = 0; r < m; ++r)
    for (std::size_t c = 0; c < n; ++c) {
      for (std::size_t i = 0; i < k; ++i) products[i] = a[r * k + i] * b_transposed[c * k + i];
      sums[0].push_back(sum(right, products));
      for (std::size_t w = 0; w < std::size(wrong); ++w) sums[w + 1].push_back(sum(wrong[w], products));
    }
  return sums;
}

/// One number in each tile of a row, of many magnitudes; the other 31 are zeros.
Values one_in_a_tile(std::uint64_t key) {
  return [key, numbers = wide_integers(mix(key))](std::int64_t r, std::int64_t k) {
    const auto tile = static_cast<std::uint64_t>(r << 32) + static_cast<std::uint64_t>(k / tile_k);
    if (static_cast<std::int64_t>(random_below(key, tile, tile_k)) != k % tile_k) return 0.0f;
    const auto magnitude = static_cast<int>(random_below(mix(key + 1), tile, 9));
    return std::ldexp(numbers(r, k), magnitude - 4);
  };
}

/// `a` and `b` tell the definition from each wrong one, and every variant follows it.
void expect_definition(std::int64_t tiles, const std::string& about, const Values& a_values,
                       const Values& b_values) {
  const std::int64_t k = tiles * tile_k;
  SCOPED_TRACE(std::to_string(tiles) + " tiles, " + about);
  const auto transposed = [&](std::int64_t c, std::int64_t i) { return b_values(i, c); };
  const auto sums = all_sums(static_cast<std::size_t>(k), numbers(m, k, a_values), numbers(n, k, transposed));
  const std::vector<Bf16>& expected = sums[0];
  for (std::size_t w = 0; w < std::size(wrong); ++w)
    EXPECT_GT(test::differing(sums[w + 1], expected), m * n / 50) << wrong[w].name;
  const Matrix host_a(Device::cpu, m, k, {}, a_values);
  const Matrix host_b(Device::cpu, k, n, {}, b_values);
  EXPECT_EQ(test::bits(oracle({m, n, k, host_a.on_host(), host_b.on_host(), nullptr})), test::bits(expected));
  for (const bool a_by_rows : {true, false})
    for (const bool b_by_rows : {true, false})
      for (const auto& variant : variants)
        for (const Device device : test::devices()) {
          if (variant.device != device) continue;
          Matrix a(device, m, k, {a_by_rows}, a_values);
          Matrix b(device, k, n, {b_by_rows}, b_values);
          test::Array<Bf16> c(device, static_cast<std::size_t>(m * n));
          variant.launch({m, n, k, a.operand(), b.operand(), c.data()}, nullptr);
          EXPECT_EQ(test::bits(c.values()), test::bits(expected)) << test::text(device);
        }
}

TEST(TileTreeDefinition, RoundingsAndTreeShowInTheBitsOfEveryVariant) {
  for (const std::int64_t tiles : {3, 5, 7, 12, 96}) {
    expect_definition(tiles, "dense", wide_integers(random_key("a")), wide_integers(random_key("b")));
    expect_definition(tiles, "one product in a tile", one_in_a_tile(random_key("a")),
                      wide_integers(random_key("b")));
  }
}

TEST(TileTreeDefinition, SpecialValuesGoThrough) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float least = 0x1p-133f;  // the least bf16
  struct Case {
    float a, b;          // at one k; at the others A is zero and B one
    std::uint16_t bits;  // of one tile; 0x7fff: any NaN
  };
  const Case cases[] = {{0, nan, 0x7fff},        {nan, 0, 0x7fff},        {0, inf, 0x7fff},
                        {-0.0f, -inf, 0x7fff},   {inf, -0.0f, 0x7fff},    {1, inf, 0x7f80},
                        {-2, inf, 0xff80},       {inf, -inf, 0xff80},     {1, least, 0x0001},
                        {-1, 3 * least, 0x8003}, {least, 0x1p6f, 0x0040}, {-least, 0x1p7f, 0x8080},
                        {0, -1, 0x0000},         {-0.0f, 1, 0x0000},      {-0x1p-70f, 0x1p-65f, 0x8000}};
  for (const auto& variant : variants)
    for (const Device device : test::devices()) {
      if (variant.device != device) continue;
      for (const Case& c : cases)
        for (const std::int64_t k : {32, 96}) {
          Matrix a(device, m, k, {}, [&](std::int64_t, std::int64_t i) { return i == k - 9 ? c.a : 0.0f; });
          Matrix b(device, k, n, {}, [&](std::int64_t i, std::int64_t) { return i == k - 9 ? c.b : 1.0f; });
          test::Array<Bf16> got(device, static_cast<std::size_t>(m * n));
          variant.launch({m, n, k, a.operand(), b.operand(), got.data()}, nullptr);
          // Sums begin at +0, so that a zero is +0, but for a tile so small and negative that it rounds to
          // -0; which, joined with the +0 of another tile, is +0. PTX says nothing of the sign of mma's
          // zeros. That mma keeps subnormals is not promised either, but so does every tensor core that takes
          // bf16.
          const auto zeros = device == Device::cpu ? test::Zeros::keep_their_sign : test::Zeros::are_one;
          const Bf16 expected{k > 32 && c.bits == 0x8000 ? std::uint16_t{0} : c.bits};
          EXPECT_EQ(test::bits_any_nan(got.values(), zeros),
                    test::bits_any_nan(std::vector<Bf16>(m * n, expected), zeros))
              << c.a << " * " << c.b << ", k " << k << " on " << test::text(device);
        }
    }
}

}  // namespace
}  // namespace strictbench::tile_tree_gemm
