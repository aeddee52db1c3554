#include "kernels/qwen3_ffn/qwen3_ffn.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "kernels/common/random.h"
#include "kernels/common/test_array.h"
#include "kernels/common/test_compare.h"
#include "kernels/common/test_draw.h"

namespace strictbench::qwen3_ffn {
namespace {

using test::bits;

std::size_t size(std::int64_t a, std::int64_t b) { return static_cast<std::size_t>(a * b); }

std::vector<Bf16> normal(std::uint64_t key, std::size_t count, float scale) {
  std::vector<Bf16> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(to_bf16(random_normal(key, i) * scale));
  return values;
}

Inputs some_inputs(const Shape& s, std::uint64_t key = random_key("qwen3_ffn")) {
  return {.x = normal(mix(key + 1), size(s.tokens, s.hidden), 1.0f),
          .dy = normal(mix(key + 2), size(s.tokens, s.hidden), 1.0f),
          .gate = normal(mix(key + 3), size(s.intermediate, s.hidden), 0.2f),
          .up = normal(mix(key + 4), size(s.intermediate, s.hidden), 0.2f),
          .down = normal(mix(key + 5), size(s.hidden, s.intermediate), 0.2f)};
}

void at_once(std::int64_t n, const std::function<void(std::int64_t, std::int64_t)>& work) { work(0, n); }

std::vector<Bf16> padded(std::vector<Bf16> rows, const Shape& s) {
  rows.resize(size(padded_tokens(s), s.hidden));
  return rows;
}

/// The layer's outputs by name, padding rows included.
using Outputs = std::map<std::string, std::vector<Bf16>>;

Outputs run(const Variant<Args>& variant, const Shape& s, Direction direction, const Inputs& inputs) {
  const Device device = variant.device;
  test::Array<Bf16> x(device, padded(inputs.x, s));
  test::Array<Bf16> dy(device, padded(inputs.dy, s));
  test::Array<Bf16> gate(device, inputs.gate);
  test::Array<Bf16> up(device, inputs.up);
  test::Array<Bf16> down(device, inputs.down);
  test::Array<Bf16> scratch(device, static_cast<std::size_t>(scratch_elements(s, direction)));
  test::Array<Bf16> y(device, size(padded_tokens(s), s.hidden));
  test::Array<Bf16> dx(device, size(padded_tokens(s), s.hidden));
  test::Array<Bf16> dgate(device, inputs.gate.size());
  test::Array<Bf16> dup(device, inputs.up.size());
  test::Array<Bf16> ddown(device, inputs.down.size());
  variant.launch({.shape = s,
                  .direction = direction,
                  .x = x.data(),
                  .gate = gate.data(),
                  .up = up.data(),
                  .down = down.data(),
                  .y = y.data(),
                  .scratch = scratch.data(),
                  .dy = dy.data(),
                  .dx = dx.data(),
                  .dgate = dgate.data(),
                  .dup = dup.data(),
                  .ddown = ddown.data()},
                 nullptr);
  Outputs outputs{{"y", y.values()}};
  if (direction == Direction::forward_backward)
    outputs.insert(
        {{"dx", dx.values()}, {"dgate", dgate.values()}, {"dup", dup.values()}, {"ddown", ddown.values()}});
  return outputs;
}

void expect_near_oracle(const Shape& s, Direction direction, const Inputs& inputs) {
  const Results expected = oracle(s, direction, inputs, at_once);
  for (const Device device : test::devices()) {
    std::optional<Outputs> first;
    for (const auto& variant : variants) {
      if (variant.device != device) continue;
      SCOPED_TRACE(std::string(variant.name) + " on " + test::text(device) + ", " + std::to_string(s.tokens) +
                   " tokens, " + std::to_string(s.hidden) + " x " + std::to_string(s.intermediate));
      const Outputs got = run(variant, s, direction, inputs);
      for (const auto& [name, values] : got) {
        if (first) {
          EXPECT_EQ(bits(values), bits(first->at(name))) << name << " differs between the variants";
        }
      }
      const auto near = [&](const char* name, const std::vector<Bf16>& oracles, std::int64_t cols) {
        if (device == Device::cpu) {
          const auto& all = got.at(name);  // of activations, padding rows too
          const std::vector<Bf16> rows(all.begin(),
                                       all.begin() + static_cast<std::ptrdiff_t>(oracles.size()));
          EXPECT_EQ(bits(rows), bits(oracles)) << name;
        }
        EXPECT_LE(test::relative_l2(got.at(name), oracles), 2e-3) << name;
        // A row of a weight gradient hangs on one unit's dg or du, at one token on one rounding of it.
        EXPECT_LE(test::worst_row(got.at(name), oracles, cols), 0x1p-4) << name;
      };
      near("y", expected.y, s.hidden);
      const auto y_bits = bits(got.at("y"));
      EXPECT_TRUE(std::all_of(y_bits.begin() + s.tokens * s.hidden, y_bits.end(), [](auto b) {
        return b == 0;
      })) << "padding rows must come out as zero";
      if (direction == Direction::forward_backward) {
        near("dx", expected.dx, s.hidden);
        near("dgate", expected.dgate, s.hidden);
        near("dup", expected.dup, s.hidden);
        near("ddown", expected.ddown, s.intermediate);
      }
      first = first ? first : got;
    }
  }
}

/// The layer and its loss sum(y * dy) in double precision, without any rounding.
double loss(const Shape& s, const Inputs& inputs, const std::vector<double>& x,
            const std::vector<double>& gate, const std::vector<double>& up, const std::vector<double>& down) {
  double sum = 0;
  for (std::int64_t t = 0; t < s.tokens; ++t) {
    std::vector<double> a;
    for (std::int64_t i = 0; i < s.intermediate; ++i) {
      double g = 0;
      double u = 0;
      for (std::int64_t h = 0; h < s.hidden; ++h) {
        g += x[size(t, s.hidden) + size(h, 1)] * gate[size(i, s.hidden) + size(h, 1)];
        u += x[size(t, s.hidden) + size(h, 1)] * up[size(i, s.hidden) + size(h, 1)];
      }
      a.push_back(g / (1 + std::exp(-g)) * u);
    }
    for (std::int64_t h = 0; h < s.hidden; ++h) {
      double y = 0;
      for (std::int64_t i = 0; i < s.intermediate; ++i)
        y += a[size(i, 1)] * down[size(h, s.intermediate) + size(i, 1)];
      sum += y * to_float(inputs.dy[size(t, s.hidden) + size(h, 1)]);
    }
  }
  return sum;
}

TEST(Qwen3FfnOracle, GradientsAreTheSlopesOfTheLoss) {
  const Shape s{.tokens = 3, .hidden = 64, .intermediate = 64};
  const Inputs inputs = some_inputs(s);
  const Results results = oracle(s, Direction::forward_backward, inputs, at_once);
  const auto widened = [](const std::vector<Bf16>& values) {
    std::vector<double> wide;
    for (const Bf16 value : values) wide.push_back(to_float(value));
    return wide;
  };
  std::vector<double> x = widened(inputs.x);
  std::vector<double> gate = widened(inputs.gate);
  std::vector<double> up = widened(inputs.up);
  std::vector<double> down = widened(inputs.down);
  const auto expect_slopes = [&](std::vector<double>& at, const std::vector<Bf16>& gradient) {
    double difference = 0;
    double norm = 0;
    for (std::size_t i = 0; i < at.size(); i += 97) {
      constexpr double step = 1e-4;
      const double here = at[i];
      at[i] = here + step;
      const double above = loss(s, inputs, x, gate, up, down);
      at[i] = here - step;
      const double below = loss(s, inputs, x, gate, up, down);
      at[i] = here;
      const double slope = (above - below) / (2 * step);
      difference += (to_float(gradient[i]) - slope) * (to_float(gradient[i]) - slope);
      norm += slope * slope;
    }
    EXPECT_LT(std::sqrt(difference / norm), 0.02);  // what rounding to bf16 at every stage leaves
  };
  expect_slopes(x, results.dx);
  expect_slopes(gate, results.dgate);
  expect_slopes(up, results.dup);
  expect_slopes(down, results.ddown);
}

TEST(Qwen3Ffn, VariantsAgreeToTheBitAndWithTheOracle) {
  for (const std::int64_t tokens : {1, 8, 31, 32, 33, 96, 160, 192}) {
    const Shape s{.tokens = tokens, .hidden = 64, .intermediate = 192};
    expect_near_oracle(s, Direction::forward, some_inputs(s));
    expect_near_oracle(s, Direction::forward_backward, some_inputs(s));
  }
  const Shape several{.tokens = 130, .hidden = 64, .intermediate = 64};  // more than one block of padding
  expect_near_oracle(several, Direction::forward_backward, some_inputs(several));
}

TEST(Qwen3Ffn, HoldsForWhateverShapeIsDrawn) {
  test::for_all_draws("qwen3_ffn", 9, [](test::Draw& draw) {
    // By the path that the weight gradients take: tiles of 31 tokens, tensor cores, anything else.
    const std::int64_t way = draw.between(0, 2);
    const std::int64_t tokens = way == 0   ? draw.between(1, 31)
                                : way == 1 ? 32 * draw.between(1, 6)
                                           : 32 * draw.size(1, 5) + draw.between(1, 31);
    const Shape s{
        .tokens = tokens, .hidden = 64 * draw.between(1, 3), .intermediate = 64 * draw.between(1, 3)};
    expect_near_oracle(s, Direction::forward_backward, some_inputs(s, draw.key()));
  });
}

}  // namespace
}  // namespace strictbench::qwen3_ffn
