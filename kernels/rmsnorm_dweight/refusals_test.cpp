#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "kernels/common/test_array.h"
#include "kernels/rmsnorm_dweight/rmsnorm_dweight.h"

namespace strictbench::rmsnorm_dweight {
namespace {

using test::last_address;
using test::moved;

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

TEST(RmsnormDweightRefuses, ShapesAndStrides) {
  expect_refused("shape.rows", " must not be negative", [](Args& args) { args.shape.rows = -1; });
  expect_refused("shape.cols", " must not be negative", [](Args& args) { args.shape.cols = -1; });
  expect_refused("dy_stride", " must be at least shape.cols", [](Args& args) { args.dy_stride = 2; });
  expect_refused("x_stride", " must be at least shape.cols", [](Args& args) { args.x_stride = -3; });
  expect_refused("dtype", " must be fp32, bf16 or fp16",
                 [](Args& args) { args.dtype = static_cast<Dtype>(3); });
}

/// Every size and stride so large that an offset, or its bytes, pass 2^63, and addresses too near to there.
TEST(RmsnormDweightRefuses, WhatPasses64BitAddresses) {
  const char* const within = " must stay within 64-bit addresses";
  const char* const product = "shape.rows * shape.cols";
  for (const std::int64_t huge : {most, most / 2 + 1}) {  // 2^63 - 1, 2^62
    expect_refused(product, " must fit 64 bits", [=](Args& args) { args.shape.rows = huge; });
    expect_refused(product, " must fit 64 bits",
                   [=](Args& args) { args.shape.cols = args.dy_stride = args.x_stride = huge; });
  }
  for (const std::int64_t huge : {most / 4 + 1, most / 8 + 1}) {  // 2^61, 2^60: times four bytes
    expect_refused("dy", within, [=](Args& args) { args.shape.rows = huge; });
    expect_refused("dy", within,
                   [=](Args& args) { args.shape.cols = args.dy_stride = args.x_stride = huge; });
  }
  for (const std::int64_t huge : {most, most / 2 + 1, most / 4 + 1}) {
    expect_refused("dy", within, [=](Args& args) { args.dy_stride = huge; });
    expect_refused("x", within, [=](Args& args) { args.x_stride = huge; });
  }
  expect_refused("dy", within, [](Args& args) { args.dy = last_address<float>(); });
  expect_refused("x", within, [](Args& args) { args.x = last_address<float>(); });
  expect_refused("rstd", within, [](Args& args) { args.rstd = last_address<float>(); });
  expect_refused("mask", within, [](Args& args) { args.mask = last_address<float>(); });
  expect_refused("contributions", within, [](Args& args) { args.contributions = last_address<float>(); });
  expect_refused("dweight", within, [](Args& args) { args.dweight = last_address<float>(); });
}

TEST(RmsnormDweightAccepts, AnyNumberOfRowsWithoutColumns) {
  for (const Device device : test::devices())
    for (const auto& variant : variants) {
      if (variant.device != device) continue;
      Args args{};
      args.shape = {.rows = std::int64_t{1} << 40, .cols = 0};
      variant.launch(args, nullptr);
    }
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
  expect_refused("dy", aligned, [](Args& args) { args.dy = moved(args.dy, 2); });
  expect_refused("x", aligned, [](Args& args) {
    args.dtype = Dtype::bf16;
    args.x = moved(args.x, 1);
  });
  expect_refused("rstd", aligned, [](Args& args) { args.rstd = moved(args.rstd, 1); });
  expect_refused("mask", aligned, [](Args& args) { args.mask = moved(args.mask, 2); });
  expect_refused("contributions", aligned,
                 [](Args& args) { args.contributions = moved(args.contributions, 2); });
  expect_refused("dweight", aligned, [](Args& args) { args.dweight = moved(args.dweight, 2); });
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
