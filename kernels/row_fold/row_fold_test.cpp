#include "kernels/row_fold/row_fold.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/common/random.h"
#include "kernels/common/test_array.h"

namespace strictbench::row_fold {
namespace {

using test::bits;

std::vector<float> random_rows(const Shape& shape) {
  const auto key = random_key("row_fold test");
  std::vector<float> rows(static_cast<std::size_t>(shape.rows * shape.cols));
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = random_normal(key, i);
  return rows;
}

/// Every variant on every device against `expected`; any NaN matches any NaN. `stride` spreads the rows out.
void expect_all_variants(const Shape& shape, const std::vector<float>& rows,
                         const std::vector<float>& expected, std::int64_t stride = 0) {
  stride = std::max(stride, shape.cols);
  std::vector<float> spread(static_cast<std::size_t>(shape.rows * stride),
                            std::numeric_limits<float>::quiet_NaN());
  for (std::int64_t r = 0; r < shape.rows; ++r)
    std::copy_n(rows.begin() + r * shape.cols, shape.cols, spread.begin() + r * stride);
  for (const Device device : test::devices()) {
    test::Array<float> in(device, spread);
    for (const auto& variant : variants) {
      if (variant.device != device) continue;
      SCOPED_TRACE(std::string(variant.name) + " on " + test::text(device) + ", " +
                   std::to_string(shape.rows) + " x " + std::to_string(shape.cols));
      test::Array<float> out(device, static_cast<std::size_t>(shape.cols));
      variant.launch({.shape = shape, .rows = in.data(), .row_stride = stride, .out = out.data()}, nullptr);
      const std::vector<float>& got = out.values();
      for (std::size_t c = 0; c < got.size(); ++c) {
        if (std::isnan(expected[c])) {
          EXPECT_TRUE(std::isnan(got[c]) && bits(got)[c] != poison32) << "column " << c;
        } else {
          EXPECT_EQ(bits(got)[c], bits(expected)[c]) << "column " << c;
        }
      }
    }
  }
}

TEST(RowFoldOracle, AddsInAscendingOrder) {
  EXPECT_EQ(oracle({4, 1}, {1e20f, 1.0f, -1e20f, 1.0f}), std::vector<float>{1.0f});
  EXPECT_EQ(oracle({2, 2}, {1, 2, 10, 20}), (std::vector<float>{11, 22}));
  EXPECT_EQ(bits(oracle({0, 3}, {})), (std::vector<std::uint32_t>{0, 0, 0}));
  EXPECT_EQ(bits(oracle({1, 1}, {-0.0f})), (std::vector<std::uint32_t>{0}));  // +0 + -0 is +0
}

TEST(RowFoldOracle, OrderShowsInTheBitsOfRandomRows) {
  const Shape shape{1000, 64};
  const std::vector<float> rows = random_rows(shape);
  std::vector<float> reversed;
  for (std::int64_t r = shape.rows; r-- > 0;)
    reversed.insert(reversed.end(), rows.begin() + r * shape.cols, rows.begin() + (r + 1) * shape.cols);
  const auto forward = bits(oracle(shape, rows));
  const auto backward = bits(oracle(shape, reversed));
  int differ = 0;
  for (std::size_t c = 0; c < forward.size(); ++c) differ += forward[c] != backward[c];
  EXPECT_GT(differ, 48);  // else a reordered kernel could pass
}

TEST(RowFold, EveryVariantHasTheOraclesBits) {
  for (const Shape& shape : {Shape{1, 1}, {1, 128}, {2, 257}, {7, 64}, {100, 1000}, {513, 300}, {2000, 33}}) {
    const std::vector<float> rows = random_rows(shape);
    expect_all_variants(shape, rows, oracle(shape, rows));
    expect_all_variants(shape, rows, oracle(shape, rows), shape.cols + 5);
  }
}

TEST(RowFold, SpecialValuesKeepTheDefinitionsBits) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float tiny = std::numeric_limits<float>::denorm_min();
  const Shape shape{4, 7};
  const std::vector<float> rows{1e20f,  -0.0f, inf, nan, tiny, inf,  tiny,   //
                                1.0f,   -0.0f, 1,   1,   tiny, 1,    -tiny,  //
                                -1e20f, -0.0f, 1,   1,   tiny, -inf, tiny,   //
                                1.0f,   -0.0f, 1,   1,   tiny, 1,    1e-40f};
  const std::vector<float> expected = oracle(shape, rows);
  EXPECT_EQ(expected[0], 1.0f);
  EXPECT_EQ(bits(expected)[1], 0u);
  EXPECT_TRUE(std::isnan(expected[3]) && std::isnan(expected[5]));
  EXPECT_EQ(expected[4], 4 * tiny);  // subnormals are not flushed
  expect_all_variants(shape, rows, expected);
}

TEST(RowFold, NoRowsGiveZerosAndNoColumnsNothing) {
  expect_all_variants({0, 300}, {}, std::vector<float>(300, +0.0f));
  expect_all_variants({5, 0}, {}, {});
}

TEST(RowFold, RefusesArgumentsThatDoNotFit) {
  float x = 0;
  for (const Device device : test::devices())
    for (const auto& variant : variants) {
      if (variant.device != device) continue;
      const auto launch = [&](const Args& args) { variant.launch(args, nullptr); };
      EXPECT_THROW(launch({{-1, 1}, &x, 1, &x}), std::invalid_argument);
      EXPECT_THROW(launch({{1, -1}, &x, 1, &x}), std::invalid_argument);
      EXPECT_THROW(launch({{1, 2}, &x, 1, &x}), std::invalid_argument);
      EXPECT_THROW(launch({{1, 1}, nullptr, 1, &x}), std::invalid_argument);
      EXPECT_THROW(launch({{1, 1}, &x, 1, nullptr}), std::invalid_argument);
    }
}

}  // namespace
}  // namespace strictbench::row_fold
