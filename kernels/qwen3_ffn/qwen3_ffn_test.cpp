#include "kernels/qwen3_ffn/qwen3_ffn.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>

#include "kernels/common/random.h"
#include "kernels/common/test_array.h"
#include "kernels/common/test_draw.h"

namespace strictbench::qwen3_ffn {
namespace {

using test::bits;

std::size_t size(std::int64_t a, std::int64_t b) { return static_cast<std::size_t>(a * b); }

std::vector<Bf16> normal(const char* name, std::size_t count, float scale) {
  const std::uint64_t key = random_key(name);
  std::vector<Bf16> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(to_bf16(random_normal(key, i) * scale));
  return values;
}

Inputs some_inputs(const Shape& s) {
  return {.x = normal("x", size(s.tokens, s.hidden), 1.0f),
          .dy = normal("dy", size(s.tokens, s.hidden), 1.0f),
          .gate = normal("gate", size(s.intermediate, s.hidden), 0.2f),
          .up = normal("up", size(s.intermediate, s.hidden), 0.2f),
          .down = normal("down", size(s.hidden, s.intermediate), 0.2f)};
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

double relative_error(const std::vector<Bf16>& got, const std::vector<Bf16>& expected) {
  double difference = 0;
  double norm = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double e = to_float(expected[i]);
    difference += (to_float(got.at(i)) - e) * (to_float(got.at(i)) - e);
    norm += e * e;
  }
  return std::sqrt(difference / norm);
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
      const auto near = [&](const char* name, const std::vector<Bf16>& oracles) {
        EXPECT_LE(relative_error(got.at(name), oracles), device == Device::cpu ? 0.0 : 2e-3) << name;
      };
      near("y", expected.y);
      const auto y_bits = bits(got.at("y"));
      EXPECT_TRUE(std::all_of(y_bits.begin() + s.tokens * s.hidden, y_bits.end(), [](auto b) {
        return b == 0;
      })) << "padding rows must come out as zero";
      if (direction == Direction::forward_backward) {
        near("dx", expected.dx);
        near("dgate", expected.dgate);
        near("dup", expected.dup);
        near("ddown", expected.ddown);
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
  for (const std::int64_t tokens : {1, 8, 31, 32, 33}) {
    const Shape s{.tokens = tokens, .hidden = 64, .intermediate = 192};
    expect_near_oracle(s, Direction::forward, some_inputs(s));
    expect_near_oracle(s, Direction::forward_backward, some_inputs(s));
  }
  const Shape several{.tokens = 130, .hidden = 64, .intermediate = 64};  // more than one block of padding
  expect_near_oracle(several, Direction::forward_backward, some_inputs(several));
}

TEST(Qwen3Ffn, HoldsForWhateverShapeIsDrawn) {
  test::for_all_draws("qwen3_ffn", 6, [](test::Draw& draw) {
    const Shape s{.tokens = draw.size(1, 64),
                  .hidden = 64 * draw.between(1, 3),
                  .intermediate = 64 * draw.between(1, 3)};
    expect_near_oracle(s, Direction::forward_backward, some_inputs(s));
  });
}

TEST(Qwen3Ffn, RefusesArgumentsThatDoNotFit) {
  const Shape s{.tokens = 1, .hidden = 64, .intermediate = 64};
  const auto elements = static_cast<std::size_t>(scratch_elements(s, Direction::forward_backward));
  std::vector<Bf16> memory(11 * elements + 8);
  std::size_t used = 0;
  const auto take = [&] { return memory.data() + (elements + 7) / 8 * 8 * used++; };
  const Args good{.shape = s,
                  .direction = Direction::forward_backward,
                  .x = take(),
                  .gate = take(),
                  .up = take(),
                  .down = take(),
                  .y = take(),
                  .scratch = take(),
                  .dy = take(),
                  .dx = take(),
                  .dgate = take(),
                  .dup = take(),
                  .ddown = take()};
  EXPECT_NO_THROW(validate(good));
  const auto refused = [&](const char* message, auto spoil) {
    Args args = good;
    spoil(args);
    for (const auto& variant : variants) {
      try {
        variant.launch(args, nullptr);  // refused before anything is launched, so with or without a GPU
        FAIL() << message;
      } catch (const std::invalid_argument& error) {
        EXPECT_EQ(std::string(error.what()), message);
      }
    }
  };
  refused("qwen3_ffn: shape.tokens must be positive", [](Args& a) { a.shape.tokens = 0; });
  refused("qwen3_ffn: shape.hidden must be a positive multiple of 64", [](Args& a) { a.shape.hidden = 96; });
  refused("qwen3_ffn: shape.intermediate must be a positive multiple of 64",
          [](Args& a) { a.shape.intermediate = -64; });
  refused("qwen3_ffn: direction must be forward or forward_backward",
          [](Args& a) { a.direction = static_cast<Direction>(7); });
  refused("qwen3_ffn: up must not be null", [](Args& a) { a.up = nullptr; });
  refused("qwen3_ffn: ddown must not be null", [](Args& a) { a.ddown = nullptr; });
  refused("qwen3_ffn: x must be aligned to 16 bytes", [](Args& a) { ++a.x; });
  refused("qwen3_ffn: y and x must not overlap", [](Args& a) { a.y = const_cast<Bf16*>(a.x); });
  refused("qwen3_ffn: dup and dgate must not overlap", [](Args& a) { a.dup = a.dgate + 8; });
  Args forward = good;  // needs nothing of the backward pass
  forward.direction = Direction::forward;
  forward.dy = nullptr;
  forward.dx = forward.dgate = forward.dup = forward.ddown = nullptr;
  EXPECT_NO_THROW(validate(forward));
}

}  // namespace
}  // namespace strictbench::qwen3_ffn
