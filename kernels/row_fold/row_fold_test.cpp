#include "kernels/row_fold/row_fold.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <limits>

#include "kernels/row_fold/test_rows.h"

namespace strictbench::row_fold {
namespace {

using test::bits;
using test::expect_all_variants;
using test::tensor;
using test::wide_values;

template <class T>
std::vector<T> all(std::initializer_list<float> values) {
  std::vector<T> converted;
  for (const float value : values) converted.push_back(rounded<T>(value));
  return converted;
}

/// Type and data come later.
Layout rows_of(std::int64_t rows, std::int64_t cols) { return tensor({rows, cols}, {cols, 1}); }
Layout rows_of(std::int64_t rows, std::int64_t cols, std::int64_t stride) {
  return tensor({rows, cols}, {stride, 1});
}

template <class T>
std::vector<float> oracle_of(std::int64_t rows, std::int64_t cols, const std::vector<T>& values) {
  return oracle(matrix(dtype_of<T>, values.data(), rows, cols));
}

template <class T>
class RowFold : public testing::Test {};
using ElementTypes = testing::Types<float, Bf16, Fp16>;
TYPED_TEST_SUITE(RowFold, ElementTypes);

TEST(RowFoldOracle, AddsInAscendingOrder) {
  EXPECT_EQ(oracle_of<float>(4, 1, {1e20f, 1.0f, -1e20f, 1.0f}), std::vector<float>{1.0f});
  EXPECT_EQ(oracle_of<float>(2, 2, {1, 2, 10, 20}), (std::vector<float>{11, 22}));
  EXPECT_EQ(bits(oracle_of<float>(0, 3, {})), (std::vector<std::uint32_t>{0, 0, 0}));
  EXPECT_EQ(bits(oracle_of<float>(1, 1, {-0.0f})), (std::vector<std::uint32_t>{0}));  // +0 + -0 is +0
}

TEST(RowFoldOracle, FlattensTheTailWithTheLastDimensionFastest) {
  // [2, 2, 3] with the middle dimension innermost in memory: element [i, j, k] is i * 6 + j + k * 2.
  const std::vector<float> memory{0, 1, 2, 3, 4, 5, 10, 20, 30, 40, 50, 60};
  const Layout layout{memory.data(), Dtype::fp32, 3, {2, 2, 3}, {6, 1, 2}};
  EXPECT_EQ(oracle(layout), (std::vector<float>{10, 32, 54, 21, 43, 65}));
}

TYPED_TEST(RowFold, OrderShowsInTheBitsOfTheTestValues) {
  const std::int64_t rows = 100;
  const std::int64_t cols = 64;
  const auto values = wide_values<TypeParam>(random_key("order"), rows * cols);
  const Layout upside_down =
      matrix(dtype_of<TypeParam>, values.data() + (rows - 1) * cols, rows, cols, -cols);
  const auto forward = bits(oracle_of(rows, cols, values));
  const auto backward = bits(oracle(upside_down));
  int differ = 0;
  for (std::size_t c = 0; c < forward.size(); ++c) differ += forward[c] != backward[c];
  EXPECT_GT(differ, 48);  // else a reordered kernel could pass
}

TYPED_TEST(RowFold, ContiguousRows) {
  const std::pair<std::int64_t, std::int64_t> shapes[] = {{1, 1},     {1, 128},   {2, 257},  {7, 64},
                                                          {100, 300}, {513, 100}, {2000, 33}};
  for (const auto& [rows, cols] : shapes)
    expect_all_variants(rows_of(rows, cols), wide_values<TypeParam>(random_key("rows"), rows * cols));
}

/// Rows that go round a ring several times and end amid one of its stages; columns that end amid a strip, and
/// more of them than strips have multiprocessors.
TYPED_TEST(RowFold, RowsPastARing) {
  const std::pair<std::int64_t, std::int64_t> shapes[] = {
      {63, 128},  {64, 128},  {65, 136}, {127, 128},  {128, 128},  {129, 128},  {96, 8456},  {97, 16904},
      {255, 128}, {256, 128}, {257, 40}, {5001, 136}, {700, 4232}, {700, 8456}, {700, 16904}};
  for (const auto& [rows, cols] : shapes)
    expect_all_variants(rows_of(rows, cols), wide_values<TypeParam>(random_key("rows"), rows * cols));
}

TYPED_TEST(RowFold, RowsFartherApartThanTheyAreWide) {
  const std::int64_t stride = 262;
  const auto memory = wide_values<TypeParam>(random_key("rows"), 9 * stride + 257);
  expect_all_variants(rows_of(10, 257, stride), memory);
  expect_all_variants(rows_of(10, 256, stride), memory, 1);  // rows start at odd elements
  const auto more = wide_values<TypeParam>(random_key("rows"), 500 * 264);
  expect_all_variants(rows_of(499, 256, 264), more);
  expect_all_variants(rows_of(499, 256, 264), more, 1);
  expect_all_variants(rows_of(499, 255, 264), more);
}

TYPED_TEST(RowFold, TransposedRows) {
  const auto memory = wide_values<TypeParam>(random_key("rows"), 300 * 40);
  expect_all_variants(tensor({40, 300}, {1, 40}), memory);
  expect_all_variants(tensor({300, 40}, {1, 300}), memory);
}

TYPED_TEST(RowFold, OneColumnOrNoTail) {
  const auto memory = wide_values<TypeParam>(random_key("rows"), 300);
  expect_all_variants(tensor({300}, {1}), memory);
  expect_all_variants(tensor({100}, {3}), memory);
  expect_all_variants(tensor({100, 1, 1}, {3, -7, 999}), memory);
}

TYPED_TEST(RowFold, ThreeAndMoreDimensions) {
  const auto memory = wide_values<TypeParam>(random_key("rows"), 20 * 5 * 6 * 7);
  expect_all_variants(tensor({20, 30, 7}, {210, 7, 1}), memory);  // contiguous
  expect_all_variants(tensor({20, 30, 5}, {210, 7, 1}), memory);  // gaps
  expect_all_variants(tensor({20, 7, 30}, {210, 1, 7}), memory);
  expect_all_variants(tensor({7, 30, 20}, {1, 7, 210}), memory);
  expect_all_variants(tensor({20, 5, 6, 7}, {210, 42, 7, 1}), memory);
  expect_all_variants(tensor({20, 6, 5, 7}, {210, 7, 42, 1}), memory);
  expect_all_variants(tensor({6, 20, 7, 5}, {7, 210, 1, 42}), memory);
  expect_all_variants(tensor({20, 2, 1, 3, 1, 5, 2, 3}, {1, 180, 5, 20, 0, 720, 360, 60}), memory);
}

TYPED_TEST(RowFold, BroadcastRows) {
  const auto memory = wide_values<TypeParam>(random_key("rows"), 300);
  expect_all_variants(rows_of(50, 300, 0), memory);  // one row, 50 times
  expect_all_variants(tensor({300, 70}, {1, 0}), memory);
  expect_all_variants(tensor({3, 4, 100}, {100, 0, 1}), memory);
  expect_all_variants(tensor({50, 4, 5}, {0, 0, 0}), memory);
  expect_all_variants(tensor({100, 201}, {1, 1}), memory);  // rows that overlap
}

TYPED_TEST(RowFold, NegativeStrides) {
  const auto memory = wide_values<TypeParam>(random_key("rows"), 50 * 80);
  const auto forward = expect_all_variants(rows_of(50, 80), memory);
  const auto upside_down = expect_all_variants(rows_of(50, 80, -80), memory, 49 * 80);
  EXPECT_NE(bits(forward), bits(upside_down));
  auto mirrored = expect_all_variants(tensor({50, 80}, {80, -1}), memory, 79);
  std::reverse(mirrored.begin(), mirrored.end());
  EXPECT_EQ(bits(forward), bits(mirrored));
}

TEST(RowFold, NumbersThatCancelLeaveExactlyOne) {
  EXPECT_EQ(expect_all_variants(rows_of(4, 1), all<float>({1e20f, 1, -1e20f, 1}))[0], 1.0f);
  EXPECT_EQ(expect_all_variants(rows_of(4, 1), all<Bf16>({1e20f, 1, -1e20f, 1}))[0], 1.0f);
  EXPECT_EQ(expect_all_variants(rows_of(4, 1), all<float>({1e20f, -1e20f, 1, 1}))[0], 2.0f);
}

TYPED_TEST(RowFold, SpecialValuesKeepTheDefinitionsBits) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  const float tiny = dtype_of<TypeParam> == Dtype::fp32   ? 0x1p-149f
                     : dtype_of<TypeParam> == Dtype::bf16 ? 0x1p-133f
                                                          : 0x1p-24f;  // the least of the type
  const auto rows = all<TypeParam>({60000, -0.0f, inf, nan, tiny, inf,  tiny,       -inf,  //
                                    1,     -0.0f, 1,   1,   tiny, 1,    -tiny,      1,     //
                                    -6e4f, -0.0f, 1,   1,   tiny, -inf, tiny,       1,     //
                                    1,     -0.0f, 1,   1,   tiny, 1,    513 * tiny, 1});
  const auto sums = expect_all_variants(rows_of(4, 8), rows);
  EXPECT_EQ(bits(sums)[1], 0u);
  EXPECT_EQ(sums[2], inf);
  EXPECT_TRUE(std::isnan(sums[3]) && std::isnan(sums[5]));
  EXPECT_EQ(sums[4], 4 * tiny);  // subnormals are not flushed
  EXPECT_EQ(sums[7], -inf);
}

TYPED_TEST(RowFold, NoRowsGiveZerosAndNoColumnsNothing) {
  const std::vector<TypeParam> none;
  const auto zeros = expect_all_variants(rows_of(0, 300), none);
  EXPECT_EQ(bits(zeros), std::vector<std::uint32_t>(300, 0));
  EXPECT_EQ(expect_all_variants(tensor({0, 2, 3}, {-6, 5, 4}), none).size(), 6u);
  EXPECT_EQ(expect_all_variants(tensor({0}, {1}), none), std::vector<float>{0});
  EXPECT_TRUE(expect_all_variants(rows_of(5, 0), none).empty());
  EXPECT_TRUE(expect_all_variants(rows_of(0, 0), none).empty());
  EXPECT_TRUE(expect_all_variants(tensor({5, 0, 3}, {1, 1, 1}), none).empty());
}

}  // namespace
}  // namespace strictbench::row_fold
