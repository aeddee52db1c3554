/// The arithmetic of floors with made-up ceilings, and what measuring them on a CPU gives.
#include "bench/harness/ceilings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <new>

#include "bench/harness/backends.h"

namespace strictbench {
namespace {

constexpr double us = 1e-6;

/// A device that moves 1 MB in 10 us by reading, in 20 by writing and in 30 by copying, and 1 us around it.
Ceilings made_up(std::uint64_t footprint = 1'000'000) {
  Ceilings ceilings;
  ceilings.launch[Timer::graph] = {.empty = 0.5 * us, .load_add_store = 1.5 * us, .around = 1 * us};
  ceilings.traffic[{Timer::graph, Traffic::read, footprint}] = 11 * us;
  ceilings.traffic[{Timer::graph, Traffic::write, footprint}] = 21 * us;
  ceilings.traffic[{Timer::graph, Traffic::copy, footprint}] = 31 * us;
  ceilings.dependent_add = 0.002 * us;
  ceilings.instructions_per_second = 1e12;
  return ceilings;
}

double floor_us(const Demand& demand) { return floor_seconds(demand, Timer::graph, made_up()).value() * 1e6; }

TEST(Floor, IsAtLeastAKernelThatLoadsAddsAndStores) {
  EXPECT_DOUBLE_EQ(floor_us({}), 1.5);
  EXPECT_DOUBLE_EQ(floor_us({.chain = 1, .operations = 1, .instructions = 1}), 1.5);
}

TEST(Floor, IsTheLongestOfBytesChainAndInstructions) {
  EXPECT_DOUBLE_EQ(floor_us({.read = 1e6}), 11);
  EXPECT_DOUBLE_EQ(floor_us({.written = 1e6}), 21);
  EXPECT_DOUBLE_EQ(floor_us({.chain = 10'001}), 1 + 20);
  EXPECT_DOUBLE_EQ(floor_us({.instructions = 40e6}), 1 + 40);
  EXPECT_DOUBLE_EQ(floor_us({.read = 1e6, .chain = 10'001, .instructions = 15e6}), 1 + 20);
  EXPECT_DOUBLE_EQ(floor_us({.read = 1e6, .chain = 2'001, .instructions = 15e6}), 1 + 15);
  EXPECT_DOUBLE_EQ(floor_us({.read = 1e6, .chain = 2'001, .instructions = 5e6}), 11);
}

TEST(Floor, CopiesWhatIsReadAndWrittenAlikeAndAddsTheRest) {
  EXPECT_DOUBLE_EQ(floor_us({.read = 5e5, .written = 5e5}), 31);
  EXPECT_DOUBLE_EQ(floor_us({.read = 8e5, .written = 2e5}), 1 + 0.4 * 30 + 0.6 * 10);
  EXPECT_DOUBLE_EQ(floor_us({.read = 2e5, .written = 8e5}), 1 + 0.4 * 30 + 0.6 * 20);
  // Under a percent is not looked at apart, and asks for no ceiling of its own.
  EXPECT_DOUBLE_EQ(floor_us({.read = 996e3, .written = 4e3}), 11);
  EXPECT_EQ(movements({.read = 996e3, .written = 4e3}).size(), 1u);
  EXPECT_EQ(movements({.read = 504e3, .written = 496e3}).size(), 1u);
  EXPECT_EQ(movements({.read = 8e5, .written = 2e5}).size(), 2u);
  EXPECT_TRUE(movements({}).empty());
}

TEST(Floor, OfAFewBytesIsAShareOfSixteenKilobytes) {
  const Ceilings ceilings = made_up(16384);
  EXPECT_DOUBLE_EQ(floor_seconds({.read = 4096}, Timer::graph, ceilings).value(), (1 + 10.0 / 4) * us);
  EXPECT_DOUBLE_EQ(floor_seconds({.read = 8}, Timer::graph, ceilings).value(), 1.5 * us);
}

TEST(Floor, IsNotStatedWhereACeilingIsMissing) {
  const Demand all{.read = 1e6, .chain = 5, .operations = 9, .instructions = 9};
  EXPECT_TRUE(floor_seconds(all, Timer::graph, made_up()));
  EXPECT_FALSE(floor_seconds(all, Timer::cold, made_up()));
  EXPECT_FALSE(floor_seconds(all, Timer::graph, made_up(2'000'000)));
  Ceilings ceilings = made_up();
  ceilings.dependent_add.reset();
  EXPECT_FALSE(floor_seconds(all, Timer::graph, ceilings));
  EXPECT_TRUE(floor_seconds(all.in_any_order(), Timer::graph, ceilings));
  ceilings = made_up();
  ceilings.instructions_per_second.reset();
  EXPECT_FALSE(floor_seconds(all, Timer::graph, ceilings));
  EXPECT_TRUE(floor_seconds(all.in_any_order(), Timer::graph, ceilings));
}

TEST(Floor, InAnyOrderOwesItsBytesAlone) {
  const Demand free =
      Demand{.read = 996e3, .written = 4e3, .chain = 1e6, .operations = 7, .instructions = 1e12}
          .in_any_order();
  EXPECT_DOUBLE_EQ(floor_us(free), 11);
  EXPECT_EQ(free.operations, 7);  // it still computes them
}

std::map<std::string, std::string> texts(const Ceilings& ceilings) {
  std::map<std::string, std::string> all;
  for (const auto& [key, value] : context_of(ceilings)) all[key] = value;
  return all;
}

TEST(Ceilings, AreFlatKeysOfTheContext) {
  Ceilings ceilings = made_up();
  ceilings.block = 0.5e-9;
  ceilings.missing = {"copy of 9 bytes by graph: the memory is not free"};
  const auto all = texts(ceilings);
  EXPECT_EQ(all.at("ceiling_empty_us.graph"), "0.5");
  EXPECT_EQ(all.at("ceiling_load_add_store_us.graph"), "1.5");
  EXPECT_EQ(all.at("ceiling_dependent_add_ns"), "2");
  EXPECT_EQ(all.at("ceiling_instructions_per_second"), "1e+12");
  EXPECT_EQ(all.at("ceiling_blocks_per_second"), "2e+09");
  EXPECT_EQ(all.at("ceiling_write.graph"), "1000000 B 21 us 47.62 GB/s");
  EXPECT_EQ(all.at("ceilings_missing"), "copy of 9 bytes by graph: the memory is not free");
  EXPECT_TRUE(context_of({}).empty());
}

/// Counts what is asked of it, and has little memory.
class Counting : public Backend {
 public:
  Device device() const override { return cpu_->device(); }
  std::string name() const override { return cpu_->name(); }
  std::vector<std::pair<std::string, std::string>> context() const override { return {}; }
  void* allocate(std::size_t bytes) override {
    allocated_.push_back(bytes);
    if (refuses) throw std::bad_alloc();
    return cpu_->allocate(bytes);
  }
  void release(void* memory) noexcept override {
    ++released_;
    cpu_->release(memory);
  }
  std::size_t free_bytes() const override { return 4'000'000; }
  std::size_t flush_bytes() const override { return 0; }
  void upload(void* to, const void* from, std::size_t bytes) override { cpu_->upload(to, from, bytes); }
  void copy(void* to, const void* from, std::size_t bytes) override { cpu_->copy(to, from, bytes); }
  void zero(void* to, std::size_t bytes) override { cpu_->zero(to, bytes); }
  void poison(void* to, Dtype dtype, std::size_t count) override { cpu_->poison(to, dtype, count); }
  void fill_random(void* to, Dtype dtype, std::size_t count, std::uint64_t key, float scale) override {
    cpu_->fill_random(to, dtype, count, key, scale);
  }
  Difference compare(const void* got, const void* expected, Dtype dtype, std::size_t count) override {
    return cpu_->compare(got, expected, dtype, count);
  }
  RelativeError relative_error(const void* got, const void* expected, Dtype dtype,
                               std::size_t count) override {
    return cpu_->relative_error(got, expected, dtype, count);
  }
  void synchronize() override {}
  Stream stream() const override { return nullptr; }
  std::unique_ptr<Sampler> make_sampler(Timer timer, Call call, int calls) override {
    return cpu_->make_sampler(timer, std::move(call), calls);
  }
  Call with_delay(Call call, double) override { return call; }
  ProbeCalls probe(Probe probe, void* memory, double amount) override {
    ++asked[{probe, amount}];
    ProbeCalls all = cpu_->probe(probe, memory, amount);
    if (slow_way_first)
      all.ways.insert(all.ways.begin(), [plain = all.ways[0]](Stream stream) {
        for (int i = 0; i < 20; ++i) plain(stream);
      });
    return all;
  }

  std::map<std::pair<Probe, double>, int> asked;
  bool refuses = false;
  bool slow_way_first = false;
  std::vector<std::size_t> allocated_;
  int released_ = 0;

 private:
  std::unique_ptr<Backend> cpu_ = make_cpu_backend();
};

TEST(Ceilings, AreThoseOfTheFastestWay) {
  const std::vector<std::pair<Demand, Timer>> needs{{{.read = 1e6}, Timer::cpu}};
  const auto seconds = [&](bool slow_way_first) {
    Counting backend;
    backend.slow_way_first = slow_way_first;
    return measure_ceilings(backend, needs).traffic.at({Timer::cpu, Traffic::read, 1'000'000});
  };
  EXPECT_LT(seconds(true), 10 * seconds(false));
}

TEST(Ceilings, OfACpuAreThoseOfOptimizedCodeInEveryBuild) {
  const std::vector<std::pair<Demand, Timer>> needs{{{.read = 1e6}, Timer::cpu},
                                                    {{.read = 5e5, .written = 5e5}, Timer::cpu}};
  const Ceilings ceilings = measure_ceilings(*make_cpu_backend(), needs);
  const auto seconds = [&](Traffic kind) { return ceilings.traffic.at({Timer::cpu, kind, 1'000'000}); };
  // memcpy's is the C library's. Compiled without optimization, with sanitizers, reading took 23 times as long.
  EXPECT_LT(seconds(Traffic::read), 5 * seconds(Traffic::copy));
}

TEST(Ceilings, AreMeasuredOnceEachInMemoryThatIsGivenBack) {
  Counting backend;
  const std::vector<std::pair<Demand, Timer>> needs{{{.read = 8e5, .written = 2e5}, Timer::cpu},
                                                    {{.read = 8e5, .written = 2e5, .chain = 7}, Timer::cpu},
                                                    {{.read = 5e5, .written = 5e5}, Timer::cpu},
                                                    {{.read = 2e6}, Timer::cpu}};
  const Ceilings ceilings = measure_ceilings(backend, needs);
  EXPECT_TRUE(ceilings.missing.empty());
  EXPECT_EQ(ceilings.traffic.size(), 3u);
  EXPECT_EQ((backend.asked[{Probe::read, 1e6}]), 1);
  EXPECT_EQ((backend.asked[{Probe::copy, 1e6}]), 1);
  EXPECT_EQ((backend.asked[{Probe::read, 2e6}]), 1);
  ASSERT_EQ(backend.allocated_.size(), 1u);
  EXPECT_LT(backend.allocated_[0], 2e6 + 5000);
  EXPECT_EQ(backend.released_, 1);
}

TEST(Ceilings, WhatDoesNotFitTheMemoryIsMissingAndSaysSo) {
  Counting backend;
  const Demand small{.read = 2e6};
  const Demand large{.read = 5e6};
  const std::vector<std::pair<Demand, Timer>> needs{{large, Timer::cpu}, {small, Timer::cpu}};
  const Ceilings ceilings = measure_ceilings(backend, needs);
  EXPECT_FALSE(floor_seconds(large, Timer::cpu, ceilings));
  EXPECT_TRUE(floor_seconds(small, Timer::cpu, ceilings));
  EXPECT_EQ(texts(ceilings).at("ceilings_missing"), "read of 5000000 bytes by cpu: the memory is not free");
  EXPECT_LT(backend.allocated_.at(0), 4e6);
}

TEST(Ceilings, WithoutMemoryThereAreNoneAndNothingThrows) {
  Counting backend;
  backend.refuses = true;
  const Demand demand{.read = 100};
  const std::vector<std::pair<Demand, Timer>> needs{{demand, Timer::cpu}};
  const Ceilings ceilings = measure_ceilings(backend, needs);
  EXPECT_FALSE(floor_seconds(demand, Timer::cpu, ceilings));
  ASSERT_FALSE(ceilings.missing.empty());
  EXPECT_NE(ceilings.missing[0].find("bad_alloc"), std::string::npos) << ceilings.missing[0];
  EXPECT_TRUE(backend.asked.empty());
}

TEST(Ceilings, ATimerThatTheDeviceHasNotIsMissing) {
  const auto backend = make_cpu_backend();
  const std::vector<std::pair<Demand, Timer>> needs{{{.read = 100}, Timer::graph}};
  const Ceilings ceilings = measure_ceilings(*backend, needs);
  EXPECT_TRUE(ceilings.launch.empty());
  EXPECT_EQ(ceilings.missing.size(), 2u);  // its launch and its read
}

TEST(Ceilings, OfACpuAreOfACpusOrder) {
  const auto backend = make_cpu_backend();
  const std::vector<std::pair<Demand, Timer>> needs{{{.read = 8e6}, Timer::cpu},
                                                    {{.written = 8e6}, Timer::cpu}};
  const Ceilings ceilings = measure_ceilings(*backend, needs);
  ASSERT_TRUE(ceilings.dependent_add && ceilings.instructions_per_second);
  EXPECT_GT(*ceilings.dependent_add, 0.1e-9);  // two cycles at 10 GHz
  EXPECT_LT(*ceilings.dependent_add, 1e-6);
#ifndef __SANITIZE_THREAD__  // which calls a function for each load and store of the sums
  // Independent additions are faster than those that wait for each other, or the chain was cut.
  EXPECT_GT(*ceilings.instructions_per_second * *ceilings.dependent_add, 1);
#endif
  for (const Traffic kind : {Traffic::read, Traffic::write}) {
    const double seconds = ceilings.traffic.at({Timer::cpu, kind, 8'000'000});
    EXPECT_GT(seconds, 8e6 / 2e12);  // no memory does 2 TB/s to one core: a loop that was thrown away would
    EXPECT_LT(seconds, 10);
  }
  EXPECT_FALSE(ceilings.block);  // a CPU launches none
}

}  // namespace
}  // namespace strictbench
