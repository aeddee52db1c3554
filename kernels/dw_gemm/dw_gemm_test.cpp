#include "kernels/dw_gemm/dw_gemm.h"

#include <gtest/gtest.h>

#include "kernels/common/random.h"
#include "kernels/common/test_array.h"

namespace strictbench::dw_gemm {
namespace {

using test::bits;

struct Inputs {
  std::vector<Bf16> x;
  std::vector<Bf16> dy;
};

/// Products whose sums show the order of addition: each three tokens share a row of dY, and X cancels.
Inputs some_inputs(const Shape& shape) {
  const auto key = random_key("dy");
  Inputs inputs{.x = test::cancelling_rows("x", shape.tokens, shape.in), .dy = {}};
  for (std::int64_t t = 0; t < shape.tokens; ++t)
    for (std::int64_t o = 0; o < shape.out; ++o)
      inputs.dy.push_back(to_bf16(random_normal(key, static_cast<std::uint64_t>(t / 3 * shape.out + o))));
  return inputs;
}

std::vector<Bf16> whole_oracle(const Shape& shape, const std::vector<Bf16>& x, const std::vector<Bf16>& dy) {
  std::vector<Bf16> dw(static_cast<std::size_t>(shape.out * shape.in));
  oracle(shape, x, dy, 0, shape.out, dw.data());
  return dw;
}

std::vector<Bf16> all_bf16(std::initializer_list<float> values) {
  std::vector<Bf16> all;
  for (const float value : values) all.push_back(to_bf16(value));
  return all;
}

TEST(DwGemmOracle, IsTheOuterProductOfOneToken) {
  EXPECT_EQ(bits(whole_oracle({1, 2, 3}, all_bf16({2, 3}), all_bf16({10, 20, 30}))),
            bits(all_bf16({20, 30, 40, 60, 60, 90})));
}

TEST(DwGemmOracle, RoundsOncePerLeafAndOncePerNode) {
  // 1 + 32 * 2^-9: exact in fp32, and a leaf of 33 would round once; the tree of 33 tokens (16 + 17) rounds
  // each half: 1 + 15 * 2^-9 -> 1 + 2^-5 (bf16 has 2^-7 steps), 17 * 2^-9 stays, their sum rounds again.
  std::vector<Bf16> x(33, to_bf16(0x1p-9f));
  x[0] = to_bf16(1.0f);
  const std::vector<Bf16> dy(33, to_bf16(1.0f));
  const float left = to_float(to_bf16(1.0f + 15 * 0x1p-9f));
  const float right = to_float(to_bf16(17 * 0x1p-9f));
  EXPECT_EQ(bits(whole_oracle({33, 1, 1}, x, dy)), bits({to_bf16(left + right)}));
  EXPECT_NE(left, 1.0f + 15 * 0x1p-9f);  // the inner rounding is real
}

TEST(DwGemmOracle, OrderOfTokensShows) {
  const auto forward = whole_oracle({4, 1, 1}, all_bf16({1e20f, 1, -1e20f, 1}), all_bf16({1, 1, 1, 1}));
  EXPECT_EQ(to_float(forward[0]), 1.0f);
  const auto other = whole_oracle({4, 1, 1}, all_bf16({1e20f, -1e20f, 1, 1}), all_bf16({1, 1, 1, 1}));
  EXPECT_EQ(to_float(other[0]), 2.0f);
}

TEST(DwGemmOracle, OrderOfTokensShowsInMostElementsOfTheTestInputs) {
  const Shape shape{31, 20, 10};
  const auto [x, dy] = some_inputs(shape);
  Inputs reversed;
  for (std::int64_t t = shape.tokens; t-- > 0;) {
    reversed.x.insert(reversed.x.end(), x.begin() + t * shape.in, x.begin() + (t + 1) * shape.in);
    reversed.dy.insert(reversed.dy.end(), dy.begin() + t * shape.out, dy.begin() + (t + 1) * shape.out);
  }
  const auto forward = bits(whole_oracle(shape, x, dy));
  const auto backward = bits(whole_oracle(shape, reversed.x, reversed.dy));
  int differ = 0;
  for (std::size_t i = 0; i < forward.size(); ++i) differ += forward[i] != backward[i];
  EXPECT_GT(differ, 150);  // of 200; else a reordered kernel could pass
}

TEST(DwGemm, EveryVariantHasTheOraclesBits) {
  for (const Shape& shape : {Shape{1, 1, 1},
                             {1, 128, 128},
                             {2, 130, 127},
                             {8, 96, 200},
                             {15, 16, 17},
                             {16, 257, 5},
                             {30, 129, 130},
                             {31, 70, 65},
                             {32, 40, 33},
                             {33, 20, 19},
                             {100, 17, 16}}) {
    const auto [x, dy] = some_inputs(shape);
    const auto expected = bits(whole_oracle(shape, x, dy));
    for (const Device device : test::devices()) {
      test::Array<Bf16> device_x(device, x);
      test::Array<Bf16> device_dy(device, dy);
      test::Array<Bf16> scratch(device, x.size());
      for (const auto& variant : variants) {
        if (variant.device != device) continue;
        SCOPED_TRACE(std::string(variant.name) + " on " + test::text(device) + ", " +
                     std::to_string(shape.tokens) + " tokens, " + std::to_string(shape.in) + " x " +
                     std::to_string(shape.out));
        test::Array<Bf16> dw(device, expected.size());
        const Args args{shape, device_x.data(), device_dy.data(), dw.data(), scratch.data()};
        const std::int64_t most = variant.name == "new"           ? tiled_tokens
                                  : variant.name == "legacy_loop" ? leaf_tokens
                                                                  : shape.tokens;
        if (shape.tokens > most) {
          EXPECT_THROW(variant.launch(args, nullptr), std::invalid_argument);
          continue;
        }
        variant.launch(args, nullptr);
        EXPECT_EQ(bits(dw.values()), expected);
      }
    }
  }
}

TEST(DwGemm, RefusesArgumentsThatDoNotFit) {
  Bf16 x{};
  for (const Device device : test::devices())
    for (const auto& variant : variants) {
      if (variant.device != device) continue;
      const auto launch = [&](const Args& args) { variant.launch(args, nullptr); };
      EXPECT_THROW(launch({{0, 1, 1}, &x, &x, &x, &x}), std::invalid_argument);
      EXPECT_THROW(launch({{1, 0, 1}, &x, &x, &x, &x}), std::invalid_argument);
      EXPECT_THROW(launch({{1, 1, -1}, &x, &x, &x, &x}), std::invalid_argument);
      EXPECT_THROW(launch({{1, 1, 1}, nullptr, &x, &x, &x}), std::invalid_argument);
      EXPECT_THROW(launch({{1, 1, 1}, &x, nullptr, &x, &x}), std::invalid_argument);
      EXPECT_THROW(launch({{1, 1, 1}, &x, &x, nullptr, &x}), std::invalid_argument);
    }
}

}  // namespace
}  // namespace strictbench::dw_gemm
