/// What the layer refuses: all that any of its steps would, in its own words, before the first of them runs.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <string>

#include "kernels/common/test_array.h"
#include "kernels/common/test_typed.h"
#include "kernels/qwen3_ffn/qwen3_ffn.h"

namespace strictbench::qwen3_ffn {
namespace {

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

/// Everything that a small layer reads and writes, full of poison.
struct Memory {
  static constexpr Shape shape{.tokens = 1, .hidden = 64, .intermediate = 64};
  static constexpr std::size_t activations = 128 * 64;
  static constexpr std::size_t weights = 64 * 64;

  explicit Memory(Device device)
      : x(device, activations),
        gate(device, weights),
        up(device, weights),
        down(device, weights),
        y(device, activations),
        scratch(device, static_cast<std::size_t>(scratch_elements(shape, Direction::forward_backward))),
        dy(device, activations),
        dx(device, activations),
        dgate(device, weights),
        dup(device, weights),
        ddown(device, weights) {}

  Args args() {
    return {.shape = shape,
            .direction = Direction::forward_backward,
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
            .ddown = ddown.data()};
  }
  bool untouched() {
    bool all = true;
    for (auto* const array : {&x, &gate, &up, &down, &y, &scratch, &dy, &dx, &dgate, &dup, &ddown})
      for (const Bf16 value : array->values()) all = all && value.bits == poison16;
    return all;
  }
  test::Array<Bf16> x, gate, up, down, y, scratch, dy, dx, dgate, dup, ddown;
};

/// Expects that every variant refuses changed arguments in either direction and says `rule`, whether or not
/// its device is there.
void expect_refused(const std::string& rule, const std::function<void(Args&)>& change,
                    Direction direction = Direction::forward_backward) {
  const auto devices = test::devices();
  for (const auto& variant : variants) {
    const bool here = std::find(devices.begin(), devices.end(), variant.device) != devices.end();
    Memory memory(here ? variant.device : Device::cpu);
    Args args = memory.args();
    args.direction = direction;
    change(args);
    try {
      variant.launch(args, nullptr);
      ADD_FAILURE() << "accepted, where it should say: " << rule;
    } catch (const std::invalid_argument& error) {
      EXPECT_EQ(std::string(error.what()), "qwen3_ffn: " + rule);
    }
    EXPECT_TRUE(memory.untouched()) << rule;
  }
}

struct Row {
  const char* rule;
  Shape shape;
};

/// A side that no step takes, and products of sides that the elementwise steps do not, or that overflow.
constexpr Row rows[] = {
    {"shape.tokens must be positive", {0, 64, 64}},
    {"shape.tokens must be positive", {-1, 64, 64}},
    {"shape.hidden must be a positive multiple of 64", {1, 96, 64}},
    {"shape.hidden must be a positive multiple of 64", {1, 0, 64}},
    {"shape.intermediate must be a positive multiple of 64", {1, 64, -64}},
    {"shape.intermediate must be a positive multiple of 64", {1, 64, 65}},
    {"shape.tokens must be at most 1048512", {max_side + 1, 64, 64}},
    {"shape.tokens must be at most 1048512", {max_side + 64, 64, 64}},
    {"shape.tokens must be at most 1048512", {most, 64, 64}},
    {"shape.hidden must be at most 1048512", {1, max_side + 64, 64}},
    {"shape.hidden must be at most 1048512", {1, most / 64 * 64, 64}},
    {"shape.intermediate must be at most 1048512", {1, 64, max_side + 64}},
    {"shape.intermediate must be at most 1048512", {1, 64, most / 64 * 64}},
    {"padded tokens * shape.hidden must be at most 549755813632", {max_side, max_side, 64}},
    {"padded tokens * shape.hidden must be at most 549755813632", {524289, max_side, 64}},
    {"padded tokens * shape.intermediate must be at most 549755813632", {max_side, 64, max_side}},
};

TEST(Qwen3FfnRefuses, ShapesThatAStepWouldRefuse) {
  for (const Row& row : rows)
    for (const Direction direction : {Direction::forward, Direction::forward_backward}) {
      expect_refused(
          row.rule, [&](Args& a) { a.shape = row.shape; }, direction);
      test::expect_refusal([&] { scratch_elements(row.shape, direction); }, row.rule);
    }
  expect_refused("direction must be forward or forward_backward",
                 [](Args& a) { a.direction = static_cast<Direction>(7); });
  // The largest that passes: six matrices, two and the larger of both again.
  EXPECT_EQ(scratch_elements({1, max_side, 64}, Direction::forward_backward), 128 * (6 * 64 + 3 * max_side));
}

/// Calls `work` with every pointer: its name, what yields a reference to it, whether it is written.
template <class Work>
void for_every_pointer(const Work& work) {
  work(
      "x", [](Args & a) -> auto& { return a.x; }, false);
  work(
      "gate", [](Args & a) -> auto& { return a.gate; }, false);
  work(
      "up", [](Args & a) -> auto& { return a.up; }, false);
  work(
      "down", [](Args & a) -> auto& { return a.down; }, false);
  work(
      "y", [](Args & a) -> auto& { return a.y; }, true);
  work(
      "scratch", [](Args & a) -> auto& { return a.scratch; }, true);
  work(
      "dy", [](Args & a) -> auto& { return a.dy; }, false);
  work(
      "dx", [](Args & a) -> auto& { return a.dx; }, true);
  work(
      "dgate", [](Args & a) -> auto& { return a.dgate; }, true);
  work(
      "dup", [](Args & a) -> auto& { return a.dup; }, true);
  work(
      "ddown", [](Args & a) -> auto& { return a.ddown; }, true);
}

TEST(Qwen3FfnRefuses, PointersThatAreNullOrMisaligned) {
  for_every_pointer([](const std::string& name, const auto& pointer, bool) {
    expect_refused(name + " must not be null", [&](Args& a) { pointer(a) = nullptr; });
    expect_refused(name + " must be aligned to 16 bytes", [&](Args& a) { ++pointer(a); });
  });
}

TEST(Qwen3FfnRefuses, WhatIsWrittenOverAnythingElse) {
  const auto address = [](std::uintptr_t at) { return reinterpret_cast<Bf16*>(at << 40); };
  std::uintptr_t place = 0;
  for_every_pointer([&](const std::string& name, const auto& pointer, bool written) {
    ++place;
    std::uintptr_t earlier_place = 0;
    for_every_pointer([&](const std::string& earlier, const auto&, bool earlier_written) {
      if (++earlier_place >= place || !(written || earlier_written)) return;
      expect_refused(name + " and " + earlier + " must not overlap", [&](Args& a) {
        std::uintptr_t at = 0;  // all far apart but for these two
        for_every_pointer([&](const char*, const auto& other, bool) { other(a) = address(++at); });
        pointer(a) = address(earlier_place) + 8;
      });
    });
  });
}

TEST(Qwen3FfnAccepts, AForwardPassWithoutWhatTheBackwardPassNeeds) {
  Memory memory(Device::cpu);
  Args args = memory.args();
  EXPECT_NO_THROW(validate(args));
  args.direction = Direction::forward;
  args.dy = nullptr;
  args.dx = args.dgate = args.dup = args.ddown = nullptr;
  EXPECT_NO_THROW(validate(args));
}

}  // namespace
}  // namespace strictbench::qwen3_ffn
