/// The harness's pure parts, and the CUDA timers where there is a GPU. What an executable does from outside
/// is bench/selftest's business.
#include <gtest/gtest.h>

#include <cmath>

#include "bench/harness/backends.h"
#include "bench/harness/measure.h"
#include "bench/harness/nvtx.h"
#include "bench/harness/selection.h"

namespace strictbench {
namespace {

TEST(SameBits, NaNMatchesAnyNaNButNeverThePoison) {
  EXPECT_TRUE(same_bits(Dtype::fp32, 0x3f800000u, 0x3f800000u));
  EXPECT_FALSE(same_bits(Dtype::fp32, 0x80000000u, 0x00000000u));  // -0 is not +0
  EXPECT_TRUE(same_bits(Dtype::fp32, 0xffc00000u, 0x7fc00000u));
  EXPECT_FALSE(same_bits(Dtype::fp32, poison32, 0x7fc00000u));
  EXPECT_FALSE(same_bits(Dtype::fp32, 0x7f800000u, 0x7fc00000u));  // infinity is no NaN
  EXPECT_FALSE(same_bits(Dtype::fp32, 0x7fc00000u, 0x3f800000u));
  EXPECT_TRUE(same_bits(Dtype::bf16, 0xffc0u, 0x7fffu));
  EXPECT_FALSE(same_bits(Dtype::bf16, poison16, 0x7fffu));
  EXPECT_FALSE(same_bits(Dtype::bf16, 0x7f80u, 0x7fffu));
  EXPECT_TRUE(same_bits(Dtype::fp16, 0xfe00u, 0x7fffu));
  EXPECT_FALSE(same_bits(Dtype::fp16, poison16, 0x7fffu));
  EXPECT_FALSE(same_bits(Dtype::fp16, 0x7c00u, 0x7fffu));
  EXPECT_FALSE(same_bits(Dtype::fp16, 0x7bffu, 0x7fffu));
}

TEST(Plan, AThreeMicrosecondKernelCostsMilliseconds) {
  const int calls = calls_per_sample(Timer::graph, 3e-6);
  const int samples = samples_per_process(calls * 3e-6, 20);
  EXPECT_EQ(samples, 20);
  EXPECT_LT(samples * calls * 3e-6, 0.02);
  EXPECT_GT(calls * 3e-6, 100 * 32e-9);  // the event's 32 ns ticks are under 1 % of a sample
}

TEST(Plan, LongCallsGetFewerSamplesButSeven) {
  EXPECT_EQ(calls_per_sample(Timer::graph, 0.040), 1);
  EXPECT_EQ(samples_per_process(0.040, 20), 7);
  EXPECT_EQ(samples_per_process(10.0, 20), 7);
  EXPECT_EQ(samples_per_process(10.0, 3), 3);  // what the user asks for is the most
  EXPECT_EQ(samples_per_process(0.0, 20), 20);
}

TEST(Plan, ColdIsOneCallAndWallTwentyAtMost) {
  EXPECT_EQ(calls_per_sample(Timer::cold, 3e-6), 1);
  EXPECT_EQ(calls_per_sample(Timer::wall, 3e-6), 20);
  EXPECT_EQ(calls_per_sample(Timer::wall, 0.5), 1);
}

TEST(RowName, IsOperatorVariantKeysTimer) {
  EXPECT_EQ(row_name("row_fold", "new", "rows:4096/cols:4096/dtype:fp32", Timer::graph),
            "row_fold/new/rows:4096/cols:4096/dtype:fp32/timer:graph");
  for (const Timer timer : {Timer::graph, Timer::cold, Timer::wall, Timer::event, Timer::cpu})
    EXPECT_EQ(timer_named(name_of(timer)), timer);
  EXPECT_FALSE(timer_named("graf"));
}

OperatorBench two_shapes() {
  const auto shape = [](const char* keys) {
    return ShapeEntry{.keys = keys,
                      .variants = {"legacy", "new"},
                      .gating = Timer::graph,
                      .others = {Timer::wall},
                      .demand = {},
                      .memory = 0,
                      .make = nullptr};
  };
  return {.name = "op", .shapes = {shape("n:1"), shape("n:16")}};
}

int selected(const std::string& filter) {
  int count = 0;
  for (const Case& c : select_cases(two_shapes(), filter)) count += c.selected;
  return count;
}

TEST(Selection, FollowsGoogleBenchmarksFilter) {
  EXPECT_EQ(selected(""), 4);  // gating timers
  EXPECT_EQ(selected("all"), 4);
  EXPECT_EQ(selected("timer:"), 8);  // a filter that names timers chooses among all
  EXPECT_EQ(selected("timer:wall"), 4);
  EXPECT_EQ(selected("op/new"), 2);
  EXPECT_EQ(selected("n:1/"), 2);
  EXPECT_EQ(selected("n:(1|16)/"), 4);
  EXPECT_EQ(selected("timer:graph$"), 4);
  EXPECT_EQ(selected("-legacy"), 2);  // a leading minus turns it around
  EXPECT_EQ(selected("nothing"), 0);
  EXPECT_THROW(selected("["), std::invalid_argument);
}

TEST(Nvtx, NamesHoldNoSlash) {
  EXPECT_EQ(nvtx_name("row_fold/new/rows:1/timer:graph", "measure"),
            "row_fold new rows:1 timer:graph measure");
}

TEST(CpuBackend, ComparesPoisonsAndFills) {
  const auto backend = make_cpu_backend();
  for (const Dtype dtype : {Dtype::fp32, Dtype::bf16, Dtype::fp16}) {
    Tensor a(*backend, dtype, 1001);
    Tensor b(*backend, dtype, 1001);
    a.fill_random(1);
    b.fill_random(1);
    EXPECT_EQ(a.compare(b).count, 0u);
    EXPECT_EQ(a.relative_error(b).whole, 0.0);
    EXPECT_EQ(a.relative_error(b).worst_part, 0.0);
    b.fill_random(1, 1.25f);  // no rounding but of the product
    EXPECT_NEAR(b.relative_error(a).whole, 0.25, 1e-3);
    EXPECT_NEAR(b.relative_error(a).worst_part, 0.25, 0.05);
    b.zero();
    EXPECT_EQ(b.relative_error(a).whole, 1.0);
    EXPECT_EQ(a.relative_error(b).whole, INFINITY);
    EXPECT_EQ(a.relative_error(b).worst_part, INFINITY);
    b.poison();
    EXPECT_TRUE(std::isnan(b.relative_error(a).whole));
    EXPECT_TRUE(std::isnan(b.relative_error(a).worst_part));
    EXPECT_EQ(b.compare(a).count, 1001u);
    EXPECT_EQ(b.compare(a).got, dtype == Dtype::fp32 ? poison32 : poison16);
  }
  EXPECT_THROW(backend->make_sampler(
                   Timer::graph, [](Stream) {}, 1),
               std::invalid_argument);
}

TEST(Device, SaysWhatExists) {
  EXPECT_EQ(make_backend("cpu")->name(), "cpu");
  for (const char* bad : {"tpu", "-1", "1x", "99"}) {
    try {
      make_backend(bad);
      FAIL() << bad << " accepted";
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find("--device takes cpu"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace strictbench
