/// What every variant refuses, in its own operator's words, before anything is written.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "kernels/dw_gemm/test_inputs.h"

namespace strictbench::dw_gemm {
namespace {

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

/// Full of poison, on the variant's device, or on the host where a refusal is all that can be had.
struct Memory {
  explicit Memory(Device device)
      : x(device, 64), dy(device, 64 * 64), dw(device, 128), transposed(device, 128) {}
  Args args(std::int64_t tokens) {
    return {.shape = {tokens, 1, 64},
            .x = x.data(),
            .dy = dy.data(),
            .dw = dw.data() + 32,
            .x_transposed = transposed.data() + 32};
  }
  bool untouched() {
    bool all = true;
    for (auto* const array : {&x, &dy, &dw, &transposed})
      for (const Bf16 value : array->values()) all = all && value.bits == poison16;
    return all;
  }
  test::Array<Bf16> x, dy, dw, transposed;
};

/// Expects that the variant refuses changed arguments (64 outputs, one input) and says `rule`.
void expect_refused(const Variant<Args>& variant, std::int64_t tokens, const std::string& rule,
                    const std::function<void(Args&)>& change) {
  SCOPED_TRACE(text(variant, {tokens, 1, 64}));
  const auto devices = test::devices();
  const bool here = std::find(devices.begin(), devices.end(), variant.device) != devices.end();
  Memory memory(here ? variant.device : Device::cpu);
  Args args = memory.args(tokens);
  change(args);
  try {
    variant.launch(args, nullptr);
    ADD_FAILURE() << "accepted, where it should say: " << rule;
  } catch (const std::invalid_argument& error) {
    EXPECT_EQ(std::string(error.what()), "dw_gemm: " + rule);
  }
  EXPECT_TRUE(memory.untouched()) << rule;
}

/// Every variant with a number of tokens for each path that it takes.
void for_every_path(const std::function<void(const Variant<Args>&, std::int64_t)>& work) {
  for (const auto& variant : variants)
    for (const std::int64_t tokens : {8, 32, 33})
      if (variant.name != "legacy_loop" || tokens <= leaf_tokens) work(variant, tokens);
}

TEST(DwGemmRefuses, ArgumentsThatDoNotFit) {
  const auto misaligned = [](const Bf16* from) {
    return reinterpret_cast<Bf16*>(reinterpret_cast<std::uintptr_t>(from) + 1);
  };
  const auto plain = [](const Bf16* from) { return const_cast<Bf16*>(from); };
  for_every_path([&](const Variant<Args>& variant, std::int64_t tokens) {
    const auto expect = [&](const std::string& rule, const std::function<void(Args&)>& change) {
      expect_refused(variant, tokens, rule, change);
    };
    expect("shape.tokens must be positive", [](Args& a) { a.shape.tokens = 0; });
    expect("shape.tokens must be positive", [](Args& a) { a.shape.tokens = -32; });
    expect("shape.in must be positive", [](Args& a) { a.shape.in = 0; });
    expect("shape.out must be positive", [](Args& a) { a.shape.out = -1; });
    expect("x must not be null", [](Args& a) { a.x = nullptr; });
    expect("dy must not be null", [](Args& a) { a.dy = nullptr; });
    expect("dw must not be null", [](Args& a) { a.dw = nullptr; });
    expect("x must be aligned to 2 bytes", [&](Args& a) { a.x = misaligned(a.x); });
    expect("dy must be aligned to 2 bytes", [&](Args& a) { a.dy = misaligned(a.dy); });
    expect("dw must be aligned to 2 bytes", [&](Args& a) { a.dw = misaligned(a.dw); });
    expect("dw must not overlap x", [&](Args& a) { a.dw = plain(a.x) + a.shape.tokens - 1; });
    expect("dw must not overlap dy", [&](Args& a) { a.dw = plain(a.dy) + a.shape.tokens * 64 - 1; });
    expect("dw must not overlap dy", [&](Args& a) { a.dy = a.dw + 63; });
    if (!uses_transposed(variant, {tokens, 1, 64})) return;
    const std::string t = "x_transposed must ";
    expect(t + "not be null", [](Args& a) { a.x_transposed = nullptr; });
    expect(t + "be aligned to 2 bytes", [&](Args& a) { a.x_transposed = misaligned(a.x_transposed); });
    expect(t + "not overlap x", [&](Args& a) { a.x_transposed = plain(a.x); });
    expect(t + "not overlap dy", [&](Args& a) { a.x_transposed = plain(a.dy) + 64; });
    expect(t + "not overlap dw", [&](Args& a) { a.x_transposed = a.dw + 63; });
  });
}

/// Sizes so large that only their product with another one, or with an element's two bytes, overflows.
TEST(DwGemmRefuses, ProductsThatOverflow) {
  struct Row {
    const char* rule;
    Shape shape;
  };
  constexpr std::int64_t big = std::int64_t{1} << 31;
  const Row rows[] = {{"x must stay within 64-bit addresses", {most, 1, 64}},
                      {"x must stay within 64-bit addresses", {most / 2 + 1, 1, 1}},
                      {"x must stay within 64-bit addresses", {2, most, 1}},
                      {"x must stay within 64-bit addresses", {1, most / 2 + 1, 64}},
                      {"x must stay within 64-bit addresses", {big, big, 1}},
                      {"x must stay within 64-bit addresses", {4 * big, 4 * big, 64}},
                      {"dy must stay within 64-bit addresses", {32, 1, most}},
                      {"dy must stay within 64-bit addresses", {1, 1, most / 2 + 1}},
                      {"dy must stay within 64-bit addresses", {big, 1, big}},
                      {"dw must stay within 64-bit addresses", {1, big, big}},
                      {"dw must stay within 64-bit addresses", {32, 4 * big, 4 * big}}};
  for (const auto& variant : variants)
    for (const Row& row : rows) expect_refused(variant, 32, row.rule, [&](Args& a) { a.shape = row.shape; });
}

/// What a path's kernels do not take, under names of this operator.
TEST(DwGemmRefuses, SizesThatItsPathDoesNotTake) {
  const auto at = [](int bit) { return reinterpret_cast<Bf16*>(std::uintptr_t{1} << bit); };
  const auto expect = [&](const Variant<Args>& variant, const Shape& shape, const std::string& rule) {
    expect_refused(variant, shape.tokens, rule, [&](Args& a) {
      a = {.shape = shape, .x = at(50), .dy = at(52), .dw = at(54), .x_transposed = at(56)};  // far apart
    });
  };
  for (const auto& variant : variants) {
    if (variant.name == "legacy_loop")
      expect(variant, {33, 1, 1}, "the loop variant takes shape.tokens of 1 to 32");
    if (variant.name == "new") {
      const std::string takes = "the tensor-core path takes shape.";
      expect(variant, {tile_tree_gemm::max_k + 32, 1, 64}, takes + "tokens of at most 2097152");
      expect(variant, {32, 1, tile_tree_gemm::max_m + 64}, takes + "out of at most 4194240");
      expect(variant, {32, tile_tree_gemm::max_n + 1, 64}, takes + "in of at most 137438953408");
    }
    if (variant.device != Device::cuda) continue;
    if (variant.name == "new") expect(variant, {8, 1, 65535 * 128 + 1}, "shape.out must fit a grid");
    if (variant.name != "new" && variant.name != "legacy") continue;
    expect(variant, {naive_side + 1, 1, 1}, "shape.tokens must be at most 1048560");
    expect(variant, {33, naive_side + 1, 1}, "shape.in must be at most 1048560");
  }
}

}  // namespace
}  // namespace strictbench::dw_gemm
