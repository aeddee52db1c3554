#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "kernels/common/test_array.h"
#include "kernels/rmsnorm_dweight/rmsnorm_dweight.h"

namespace strictbench::rmsnorm_dweight {
namespace {

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

/// Two rows of three columns that every variant would take, in memory of the host: a refusal touches no byte.
struct Fits {
  std::vector<float> dy = std::vector<float>(6);
  std::vector<float> x = std::vector<float>(6);
  std::vector<float> rstd = std::vector<float>(2);
  std::vector<float> mask = std::vector<float>(2);
  std::vector<float> contributions = std::vector<float>(6);
  std::vector<float> dweight = std::vector<float>(3);

  Args args() {
    return {.shape = {2, 3},
            .dtype = Dtype::fp32,
            .dy = dy.data(),
            .dy_stride = 3,
            .x = x.data(),
            .x_stride = 3,
            .rstd = rstd.data(),
            .mask = mask.data(),
            .contributions = contributions.data(),
            .dweight = dweight.data()};
  }
};

/// `what` and then `rule` make the message.
void expect_refused(const std::string& what, const char* rule, const std::function<void(Args&)>& spoil) {
  for (const Device device : test::devices())
    for (const auto& variant : variants) {
      if (variant.device != device) continue;
      SCOPED_TRACE(std::string(variant.name) + " on " + test::text(device));
      Fits fits;
      Args args = fits.args();
      spoil(args);
      try {
        variant.launch(args, nullptr);
        ADD_FAILURE() << "accepted, where it should say: " << what << rule;
      } catch (const std::invalid_argument& error) {
        EXPECT_EQ(error.what(), "rmsnorm_dweight: " + what + rule);
      }
    }
}

template <class T>
T* shifted(T* data, std::intptr_t bytes) {
  return reinterpret_cast<T*>(reinterpret_cast<std::intptr_t>(data) + bytes);
}

TEST(RmsnormDweightRefuses, ShapesAndStrides) {
  expect_refused("shape.rows", " must not be negative", [](Args& args) { args.shape.rows = -1; });
  expect_refused("shape.cols", " must not be negative", [](Args& args) { args.shape.cols = -1; });
  expect_refused("dy_stride", " must be at least shape.cols", [](Args& args) { args.dy_stride = 2; });
  expect_refused("x_stride", " must be at least shape.cols", [](Args& args) { args.x_stride = -3; });
  expect_refused("shape.rows * shape.cols", " must fit 64 bits", [](Args& args) { args.shape.rows = most; });
  expect_refused("dtype", " must be fp32, bf16 or fp16",
                 [](Args& args) { args.dtype = static_cast<Dtype>(3); });
  expect_refused("dy", " must stay within 64-bit addresses", [](Args& args) { args.dy_stride = most; });
  expect_refused("x", " must stay within 64-bit addresses", [](Args& args) { args.x_stride = most / 4; });
}

TEST(RmsnormDweightRefuses, PointersThatAreNullOrMisaligned) {
  const char* const null = " must not be null";
  expect_refused("dy", null, [](Args& args) { args.dy = nullptr; });
  expect_refused("x", null, [](Args& args) { args.x = nullptr; });
  expect_refused("rstd", null, [](Args& args) { args.rstd = nullptr; });
  expect_refused("contributions", null, [](Args& args) { args.contributions = nullptr; });
  expect_refused("dweight", null, [](Args& args) { args.dweight = nullptr; });
  expect_refused("dweight", null, [](Args& args) {
    args.shape.rows = 0;  // three zeros are still to be written
    args.dweight = nullptr;
  });
  const char* const aligned = " must be aligned to its elements";
  expect_refused("dy", aligned, [](Args& args) { args.dy = shifted(args.dy, 2); });
  expect_refused("x", aligned, [](Args& args) {
    args.dtype = Dtype::bf16;
    args.x = shifted(args.x, 1);
  });
  expect_refused("rstd", aligned, [](Args& args) { args.rstd = shifted(args.rstd, 1); });
  expect_refused("mask", aligned, [](Args& args) { args.mask = shifted(args.mask, 2); });
  expect_refused("contributions", aligned,
                 [](Args& args) { args.contributions = shifted(args.contributions, 2); });
  expect_refused("dweight", aligned, [](Args& args) { args.dweight = shifted(args.dweight, 2); });
}

TEST(RmsnormDweightRefuses, WhatIsWrittenOverAnythingElse) {
  const auto writable = [](const void* data) { return const_cast<float*>(static_cast<const float*>(data)); };
  const char* const input = " must not overlap an input";
  expect_refused("contributions", input, [&](Args& args) { args.contributions = writable(args.dy) + 5; });
  expect_refused("contributions", input, [&](Args& args) { args.contributions = writable(args.x) - 5; });
  expect_refused("contributions", input, [&](Args& args) { args.contributions = writable(args.rstd) + 1; });
  expect_refused("contributions", input, [&](Args& args) { args.contributions = writable(args.mask); });
  expect_refused("dweight", input, [&](Args& args) { args.dweight = writable(args.dy) - 2; });
  expect_refused("dweight", input, [&](Args& args) { args.dweight = writable(args.x) + 5; });
  expect_refused("dweight", input, [&](Args& args) { args.dweight = writable(args.rstd) - 2; });
  expect_refused("dweight", input, [&](Args& args) { args.dweight = writable(args.mask) + 1; });
  expect_refused("dweight", " must not overlap contributions",
                 [](Args& args) { args.dweight = args.contributions + 5; });
}

TEST(RmsnormDweightAccepts, NullWhereNothingIsRead) {
  for (const Device device : test::devices())
    for (const auto& variant : variants) {
      if (variant.device != device) continue;
      Args args{};
      args.shape = {5, 0};
      EXPECT_NO_THROW(variant.launch(args, nullptr));
      test::Array<float> dweight(device, 3);
      args.shape = {0, 3};
      args.dy_stride = args.x_stride = 3;
      args.dweight = dweight.data();
      variant.launch(args, nullptr);
      EXPECT_EQ(test::bits(dweight.values()), (std::vector<std::uint32_t>{0, 0, 0}));
    }
}

}  // namespace
}  // namespace strictbench::rmsnorm_dweight
