/// What every variant refuses, before anything is written.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <string>

#include "kernels/tile_tree_gemm/test_matrix.h"

namespace strictbench::tile_tree_gemm {
namespace {

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

/// Expects that every variant refuses changed arguments (64 x 1 x 32) and says `rule`, whether or not its
/// device is there.
void expect_refused(const std::string& rule, const std::function<void(Args&)>& change) {
  const auto devices = test::devices();
  for (const auto& variant : variants) {
    const bool here = std::find(devices.begin(), devices.end(), variant.device) != devices.end();
    const Device memory = here ? variant.device : Device::cpu;
    test::Array<Bf16> a(memory, 64 * 32);
    test::Array<Bf16> b(memory, 128);
    test::Array<Bf16> c(memory, 64);
    Args args{.m = 64, .n = 1, .k = 32, .a = {a.data(), 32, 1}, .b = {b.data() + 64, 1, 32}, .c = c.data()};
    change(args);
    try {
      variant.launch(args, nullptr);
      ADD_FAILURE() << "accepted, where it should say: " << rule;
    } catch (const std::invalid_argument& error) {
      EXPECT_EQ(std::string(error.what()), "tile_tree_gemm: " + rule);
    }
    for (auto* const array : {&a, &b, &c})
      for (const Bf16 value : array->values()) ASSERT_EQ(value.bits, poison16) << rule;
  }
}

TEST(TileTreeGemmRefuses, ArgumentsThatDoNotFit) {
  const auto misaligned = [](const Bf16* from) {
    return reinterpret_cast<Bf16*>(reinterpret_cast<std::uintptr_t>(from) + 1);
  };
  for (const std::int64_t m : {0, -64, 1, 65})
    expect_refused("m must be a positive multiple of 64", [&](Args& x) { x.m = m; });
  for (const std::int64_t n : {0, -1}) expect_refused("n must be positive", [&](Args& x) { x.n = n; });
  for (const std::int64_t k : {0, -32, 33})
    expect_refused("k must be a positive multiple of 32", [&](Args& x) { x.k = k; });
  expect_refused("a.data must not be null", [](Args& x) { x.a.data = nullptr; });
  expect_refused("b.data must not be null", [](Args& x) { x.b.data = nullptr; });
  expect_refused("c must not be null", [](Args& x) { x.c = nullptr; });
  const std::string steps = " must be 1 and the other at least what it steps over";
  expect_refused("one stride of a" + steps, [](Args& x) { x.a.row_stride = 31; });
  expect_refused("one stride of a" + steps, [](Args& x) { x.a.col_stride = 2; });
  expect_refused("one stride of a" + steps, [](Args& x) { x.a = {x.a.data, 1, 63}; });
  expect_refused("one stride of b" + steps, [](Args& x) { x.b = {x.b.data, 2, 2}; });
  expect_refused("one stride of b" + steps, [](Args& x) { x.b = {x.b.data, 0, 1}; });
  const std::string aligned = " must be aligned to 2 bytes";
  expect_refused("a.data" + aligned, [&](Args& x) { x.a.data = misaligned(x.a.data); });
  expect_refused("b.data" + aligned, [&](Args& x) { x.b.data = misaligned(x.b.data); });
  expect_refused("c" + aligned, [&](Args& x) { x.c = misaligned(x.c); });
  expect_refused("c must not overlap a", [](Args& x) { x.c = const_cast<Bf16*>(x.a.data) + 64 * 32 - 1; });
  expect_refused("c must not overlap b", [](Args& x) { x.c = const_cast<Bf16*>(x.b.data) - 63; });
}

TEST(TileTreeGemmRefuses, SizesPastItsGridsAndProductsThatOverflow) {
  for (const std::int64_t m : {max_m + 64, most / 64 * 64})
    expect_refused("m must be at most 4194240", [&](Args& x) { x.m = m; });
  for (const std::int64_t n : {max_n + 1, most})
    expect_refused("n must be at most 137438953408", [&](Args& x) { x.n = n; });
  for (const std::int64_t k : {max_k + 32, most / 32 * 32})
    expect_refused("k must be at most 2097152", [&](Args& x) { x.k = k; });
  const std::string within = " must stay within 64-bit addresses";
  for (const std::int64_t stride : {most, most / 63 + 1, most / 63, most / 126 + 1}) {
    expect_refused("a" + within, [&](Args& x) { x.a.row_stride = stride; });  // 63 rows further
    expect_refused("b" + within, [&](Args& x) { x.n = 64, x.b.col_stride = stride; });
  }
  for (const std::int64_t stride : {most, most / 31 + 1, most / 31, most / 62 + 1}) {
    expect_refused("a" + within, [&](Args& x) { x.a = {x.a.data, 1, stride}; });  // 31 of k further
    expect_refused("b" + within, [&](Args& x) { x.b = {x.b.data, stride, 1}; });
  }
}

}  // namespace
}  // namespace strictbench::tile_tree_gemm
