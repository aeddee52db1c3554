/// The CUDA backend and its timers, with kernels of known length. Skipped where there is no GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "bench/harness/backends.h"
#include "bench/harness/ceilings.h"
#include "bench/harness/watch.h"
#include "bench/selftest/selftest.h"

namespace strictbench {
namespace {

class Cuda : public testing::Test {
 protected:
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << why_no_cuda();
    backend_ = make_cuda_backend(0, /*blocking=*/true);
    selftest::spin_cuda(1000, backend_->stream());  // loads the code
    backend_->synchronize();
  }

  /// The median of nine samples of `call`, in microseconds.
  double median_us(Timer timer, const Call& call, int calls) {
    const auto sampler = backend_->make_sampler(timer, call, calls);
    std::vector<double> samples;
    for (int i = 0; i < 9; ++i) samples.push_back(sampler->sample() * 1e6);
    std::nth_element(samples.begin(), samples.begin() + 4, samples.end());
    return samples[4];
  }

  std::unique_ptr<Backend> backend_;
};

Call spin(double microseconds) {
  return [ns = static_cast<std::int64_t>(microseconds * 1000)](Stream s) { selftest::spin_cuda(ns, s); };
}

TEST_F(Cuda, GraphTimerSeesKernelsOfKnownLength) {
  for (const double us : {20.0, 100.0, 1000.0}) {
    EXPECT_NEAR(median_us(Timer::graph, spin(us), 10), us, 2.5)
        << us;  // the globaltimer's grain, node to node
  }
}

TEST_F(Cuda, ColdTimerSeesOneKernelWithoutItsLaunchAndWithoutTheFlush) {
  for (const double us : {20.0, 100.0, 1000.0}) {
    EXPECT_NEAR(median_us(Timer::cold, spin(us), 1), us, 4.0) << us;
  }
  EXPECT_LT(median_us(
                Timer::cold, [](Stream s) { selftest::spin_cuda(0, s); }, 1),
            5.0);  // a launch alone is more
}

TEST_F(Cuda, WallTimerSeesKernelsAndTheirLaunches) {
  EXPECT_NEAR(median_us(Timer::wall, spin(1000.0), 5), 1000.0, 30.0);
  EXPECT_NEAR(median_us(Timer::wall, spin(100.0), 20), 100.0, 10.0);
}

TEST_F(Cuda, EventTimerSeesOneCallOfManyLaunches) {
  const Call many = [](Stream s) {
    for (int i = 0; i < 20; ++i) selftest::spin_cuda(100'000, s);
  };
  EXPECT_NEAR(median_us(Timer::event, many, 1), 2000.0, 100.0);
}

/// What is written between two looks, and by whom, is what check and clock speak of.
TEST_F(Cuda, TimersCallAsOftenAsTheySay) {
  Tensor memory(*backend_, Dtype::fp32, 3);
  Tensor zeros(*backend_, Dtype::fp32, 3);
  memory.zero();
  zeros.zero();
  const auto words = memory.as<std::uint32_t>();
  const auto counted = [&](std::int64_t microseconds) {
    return Call([=](Stream s) {
      selftest::copy_cuda({words, words + 1, 1, words + 2, selftest::Fault::none}, s);
      if (microseconds > 0) selftest::spin_cuda(microseconds * 1000, s);
    });
  };
  std::uint32_t before = 0;
  const auto runs = [&] {
    backend_->synchronize();
    const Difference difference = backend_->compare(words + 2, zeros.as(), Dtype::fp32, 1);
    const std::uint32_t now = difference.count > 0 ? difference.got : 0;
    return now - std::exchange(before, now);
  };
  struct Row {
    Timer timer;
    int calls;
    std::uint32_t refreshed;
    std::int64_t microseconds;
  };
  for (const Row& row : {Row{Timer::graph, 7, 1, 0},
                         {Timer::graph, 1, 1, 1000},
                         {Timer::graph, 2, 0, 6000},
                         {Timer::cold, 1, 0, 0},
                         {Timer::wall, 5, 0, 0},
                         {Timer::event, 1, 0, 0}}) {
    SCOPED_TRACE(std::string(name_of(row.timer)) + ", " + std::to_string(row.microseconds) + " us");
    const auto sampler = backend_->make_sampler(row.timer, counted(row.microseconds), row.calls);
    EXPECT_EQ(runs(), 0u);
    for (int i = 0; i < 3; ++i) {
      sampler->sample();
      EXPECT_EQ(runs(), static_cast<std::uint32_t>(row.calls));
      sampler->refresh();
      EXPECT_EQ(runs(), row.refreshed);
    }
  }
}

TEST_F(Cuda, DifferencesOfLengthAreSeenToAPercent) {
  const double a = median_us(Timer::graph, spin(200.0), 10);
  const double b = median_us(Timer::graph, spin(206.0), 10);
  EXPECT_NEAR(b / a, 1.03, 0.005);
}

TEST_F(Cuda, ManyLaunchesGoBehindTheGateAsOneGraph) {
  const Call many = [](Stream s) {
    for (int i = 0; i < 3000; ++i) selftest::spin_cuda(0, s);  // more than a queue holds
  };
  const auto start = std::chrono::steady_clock::now();
  EXPECT_GT(backend_->make_sampler(Timer::cold, many, 1)->sample(), 3000 * 0.3e-6);
  EXPECT_LT(std::chrono::steady_clock::now() - start,
            std::chrono::seconds(4));  // the gate gives up after five
}

TEST_F(Cuda, FailedLaunchesAreNotSwallowedAndTheStreamSurvives) {
  const Call bad = [](Stream) { throw std::runtime_error("bad launch"); };
  EXPECT_THROW(backend_->make_sampler(Timer::graph, bad, 2), std::runtime_error);
  EXPECT_THROW(backend_->make_sampler(Timer::wall, bad, 1)->sample(), std::runtime_error);
  // Not allowed while a stream is captured: CUDA itself refuses, and remembers.
  const Call forbidden = [this](Stream) { backend_->synchronize(); };
  EXPECT_THROW(backend_->make_sampler(Timer::graph, forbidden, 2), std::runtime_error);
  EXPECT_NEAR(median_us(Timer::graph, spin(50.0), 10), 50.0, 2.5);
}

TEST_F(Cuda, FillsHaveTheCpusBits) {
  const auto cpu = make_cpu_backend();
  for (const Dtype dtype : {Dtype::fp32, Dtype::bf16, Dtype::fp16}) {
    constexpr std::size_t count = 100'003;
    Tensor on_cpu(*cpu, dtype, count);
    Tensor uploaded(*backend_, dtype, count);
    Tensor on_gpu(*backend_, dtype, count);
    on_cpu.fill_random(42);
    backend_->upload(uploaded.as(), on_cpu.as(), on_cpu.bytes());
    on_gpu.fill_random(42);
    EXPECT_EQ(on_gpu.compare(uploaded).count, 0u);
    EXPECT_EQ(on_gpu.relative_error(uploaded).whole, 0.0);
    on_cpu.fill_random(42, 0.02f);
    on_gpu.fill_random(42, 0.02f);
    const RelativeError shrunk = on_gpu.relative_error(uploaded);
    EXPECT_NEAR(shrunk.whole, 0.98, 1e-3);
    EXPECT_NEAR(shrunk.worst_part, 0.98, 0.3);
    backend_->upload(uploaded.as(), on_cpu.as(), on_cpu.bytes());
    EXPECT_EQ(on_gpu.compare(uploaded).count, 0u);
    on_gpu.poison();
    EXPECT_TRUE(std::isnan(on_gpu.relative_error(uploaded).whole));
    EXPECT_TRUE(std::isnan(on_gpu.relative_error(uploaded).worst_part));
    const Difference all = on_gpu.compare(uploaded);
    EXPECT_EQ(all.count, count);
    EXPECT_EQ(all.first_index, 0u);
    EXPECT_EQ(all.got, dtype == Dtype::fp32 ? poison32 : poison16);
  }
}

TEST_F(Cuda, RelativeErrorIsTheCpus) {
  const auto cpu = make_cpu_backend();
  for (const Dtype dtype : {Dtype::fp32, Dtype::bf16, Dtype::fp16}) {
    constexpr std::size_t count = 100'003;
    Tensor got(*cpu, dtype, count);
    Tensor expected(*cpu, dtype, count);
    expected.fill_random(3);
    got.fill_random(3, 1.01f);
    cpu->zero(got.as<char>() + 70'000 * size_of(dtype), 40 * size_of(dtype));  // a fault of one part
    Tensor gpu_got(*backend_, dtype, count);
    Tensor gpu_expected(*backend_, dtype, count);
    backend_->upload(gpu_got.as(), got.as(), got.bytes());
    backend_->upload(gpu_expected.as(), expected.as(), expected.bytes());
    const RelativeError on_cpu = got.relative_error(expected);
    const RelativeError on_gpu = gpu_got.relative_error(gpu_expected);
    EXPECT_NEAR(on_gpu.whole, on_cpu.whole, 1e-9);
    EXPECT_NEAR(on_gpu.worst_part, on_cpu.worst_part, 1e-9);
    EXPECT_GT(on_cpu.worst_part, 0.2);
    EXPECT_LT(on_cpu.whole, 0.05);
  }
}

TEST_F(Cuda, CompareFindsTheFirstOfAFewDifferences) {
  constexpr std::size_t count = 5'000'000;
  Tensor a(*backend_, Dtype::bf16, count);
  Tensor b(*backend_, Dtype::bf16, count);
  a.fill_random(7);
  b.fill_random(7);
  const Bf16 other{0x1234};
  for (const std::size_t at : {4'999'999u, 3'000'001u, 1'234'567u})
    backend_->upload(b.as<Bf16>() + at, &other, 2);
  const Difference difference = b.compare(a);
  EXPECT_EQ(difference.count, 3u);
  EXPECT_EQ(difference.first_index, 1'234'567u);
  EXPECT_EQ(difference.got, 0x1234u);
}

TEST_F(Cuda, ComparingTheWholeTableTakesMilliseconds) {
  constexpr std::size_t count = std::size_t{151936} * 4096;
  if (backend_->free_bytes() < 2 * count * 2) GTEST_SKIP() << "needs 2.5 GB of GPU memory";
  Tensor a(*backend_, Dtype::bf16, count);
  Tensor b(*backend_, Dtype::bf16, count);
  a.zero();
  b.zero();
  EXPECT_EQ(a.compare(b).count, 0u);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(a.compare(b).count, 0u);
  const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
  RecordProperty("milliseconds", std::to_string(elapsed.count()));
  EXPECT_LT(elapsed.count(), 20.0);
}

TEST_F(Cuda, ALookAtTheGpuTakesMillisecondsAndTellsItsClock) {
  std::string uuid;
  for (const auto& [key, value] : backend_->context())
    if (key == "gpu_uuid") uuid = value;
  MachineWatch watch = MachineWatch::before_context();
  watch.attach(uuid);
  if (!watch.watching()) GTEST_SKIP() << "NVML is not installed";
  constexpr int looks = 20;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < looks; ++i) watch.look();
  const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
  RecordProperty("milliseconds_a_look", std::to_string(elapsed.count() / looks));
  EXPECT_LT(elapsed.count() / looks, 20.0);  // a fifth of what lies between two looks at the least
  ASSERT_NE(watch.state_after(0), nullptr);
  EXPECT_GT(watch.state_after(0)->sm_clock_mhz.value_or(0), 0u);
}

TEST_F(Cuda, CeilingsAreThoseOfAGpuAndCostLittle) {
  constexpr double large = 268e6;  // more than any L2 holds
  const std::vector<std::pair<Demand, Timer>> needs{{{.read = large}, Timer::graph},
                                                    {{.written = large}, Timer::graph},
                                                    {{.read = large / 2, .written = large / 2}, Timer::graph},
                                                    {{.read = 1e6}, Timer::graph},
                                                    {{.read = 1e6}, Timer::cold},
                                                    {{.read = 1e6}, Timer::wall},
                                                    {{.read = 1e6}, Timer::event}};
  const auto start = std::chrono::steady_clock::now();
  const Ceilings ceilings = measure_ceilings(*backend_, needs);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  RecordProperty("seconds", std::to_string(elapsed.count()));
  for (const auto& [key, value] : context_of(ceilings)) RecordProperty(key, value);
  EXPECT_LT(elapsed.count(), 1.0);
  ASSERT_TRUE(ceilings.missing.empty()) << ceilings.missing[0];
  EXPECT_GT(*ceilings.dependent_add, 0.5e-9);
  EXPECT_LT(*ceilings.dependent_add, 10e-9);
  EXPECT_GT(*ceilings.instructions_per_second, 1e12);
  EXPECT_LT(*ceilings.instructions_per_second, 1e15);
  EXPECT_LT(*ceilings.block, 100e-9);
  for (const Timer timer : {Timer::graph, Timer::cold, Timer::wall, Timer::event}) {
    const LaunchCost& cost = ceilings.launch.at(timer);
    EXPECT_GT(cost.empty, 0.1e-6) << name_of(timer);
    EXPECT_GE(cost.load_add_store, cost.around) << name_of(timer);
    EXPECT_LT(cost.load_add_store, 50e-6) << name_of(timer);
  }
  for (const Traffic kind : {Traffic::read, Traffic::write, Traffic::copy}) {
    const double seconds = ceilings.traffic.at({Timer::graph, kind, static_cast<std::uint64_t>(large)});
    EXPECT_GT(large / seconds, 1e11);  // any GPU's memory moves more than 100 GB/s,
    EXPECT_LT(large / seconds, 2e13);  // and none yet 20 TB/s
  }
  const auto small = [&](Timer timer) { return ceilings.traffic.at({timer, Traffic::read, 1'000'000}); };
  EXPECT_LT(small(Timer::graph), small(Timer::cold));  // from the L2, and past it
}

}  // namespace
}  // namespace strictbench
