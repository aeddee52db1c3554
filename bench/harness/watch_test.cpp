/// The watch against made-up states, and against a management library that plays scenarios.
#include "bench/harness/watch.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>

namespace strictbench {
namespace {

using Pids = std::vector<unsigned>;

constexpr OwnProcess own{7};

GpuState calm() {
  GpuState state;
  state.sm_clock_mhz = 1980;
  state.clock_event_reasons = 0;
  state.thermal_ns = 1000;
  state.power_ns = 1000;
  state.ecc_uncorrected = 3;
  state.computing = Pids{7};
  state.busy = Pids{7};
  return state;
}

std::map<std::string, double> found(const GpuState& before, const GpuState& after, OwnProcess process = own,
                                    unsigned fastest_mhz = 1980) {
  std::map<std::string, double> all;
  for (const Finding& finding : findings(before, after, process, fastest_mhz)) {
    all[finding.name] = finding.value;
    EXPECT_TRUE(std::count(finding_names.begin(), finding_names.end(), finding.name)) << finding.name;
  }
  return all;
}

using Names = std::map<std::string, double>;

TEST(Findings, NoneAgainstACalmMachineOrOneThatTellsNothing) {
  EXPECT_EQ(found(calm(), calm()), Names{});
  EXPECT_EQ(found({}, {}), Names{});
  EXPECT_EQ(found({}, calm()), Names{});
  EXPECT_EQ(found(calm(), {}), Names{});
}

TEST(Findings, SlowdownsAtEitherEnd) {
  const std::map<unsigned long long, std::string> bad{{0x8, "hardware_slowdown"},
                                                      {0x20, "thermal_slowdown"},
                                                      {0x40, "thermal_slowdown"},
                                                      {0x80, "power_brake"}};
  for (const auto& [bit, name] : bad) {
    GpuState slow = calm();
    slow.clock_event_reasons = bit;
    EXPECT_EQ(found(slow, calm()), (Names{{name, 1}})) << bit;
    EXPECT_EQ(found(calm(), slow), (Names{{name, 1}})) << bit;
  }
}

TEST(Findings, WhatIsNormalSpeaksAgainstNothing) {
  for (const unsigned long long bit : {0x1, 0x2, 0x4, 0x10, 0x100}) {
    GpuState state = calm();
    state.clock_event_reasons = bit;
    state.sm_clock_mhz = 1400;  // and explains a lower clock
    EXPECT_EQ(found(calm(), state), Names{}) << bit;
  }
  GpuState capped = calm();
  capped.sm_clock_mhz = 1400;
  capped.power_ns = 2000;  // in between, if not at the end
  EXPECT_EQ(found(calm(), capped), Names{});
}

TEST(Findings, HeatAndErrorsInBetween) {
  GpuState later = calm();
  later.thermal_ns = 1001;
  later.ecc_uncorrected = 5;
  EXPECT_EQ(found(calm(), later), (Names{{"thermal_slowdown", 1}, {"ecc_errors", 2}}));
  // A counter that was set back, as when the driver is loaded again, is no growth.
  EXPECT_EQ(found(later, calm()), Names{});
}

TEST(Findings, AClockThatNothingExplains) {
  GpuState slow = calm();
  slow.sm_clock_mhz = 1882;  // 4.9 % below
  EXPECT_EQ(found(calm(), slow), Names{});
  slow.sm_clock_mhz = 1880;
  EXPECT_EQ(found(calm(), slow), (Names{{"clock_drop", 100}}));
  slow.clock_event_reasons.reset();  // perhaps it is idle: nobody says
  EXPECT_EQ(found(calm(), slow), Names{});
}

TEST(Findings, NeighboursThatComputeComeOrGo) {
  GpuState before = calm();
  GpuState after = calm();
  before.computing = after.computing = Pids{5, 7, 9};
  EXPECT_EQ(found(before, after), Names{});  // they hold memory
  after.busy = Pids{7, 9};
  EXPECT_EQ(found(before, after), (Names{{"neighbours", 1}}));
  after.busy = Pids{9, 11};  // 11 is on no list: it has ended before
  EXPECT_EQ(found(before, after), (Names{{"neighbours", 1}}));
  after.busy.reset();  // which of them computes is not told
  EXPECT_EQ(found(before, after), (Names{{"neighbours", 2}}));
  EXPECT_EQ(found(calm(), before), (Names{{"neighbours", 2}}));  // came
  EXPECT_EQ(found(before, calm()), (Names{{"neighbours", 2}}));  // went
}

TEST(Findings, AnUnknownOwnProcessMayBeOneOfTheBusy) {
  GpuState state = calm();
  state.computing = Pids{5};
  state.busy = Pids{5};
  EXPECT_EQ(found(state, state, {}), Names{});
  state.computing = state.busy = Pids{5, 6};
  EXPECT_EQ(found(state, state, {}), (Names{{"neighbours", 1}}));
}

TEST(OwnProcess, IsItsOwnIdOrTheOnlyNewOne) {
  EXPECT_EQ(own_process(7, {}, {7}).pid, 7u);
  EXPECT_EQ(own_process(7, {5}, {5, 7, 9}).pid, 7u);
  EXPECT_EQ(own_process(7, {5}, {5, 4711}).pid, 4711u);  // in a container
  EXPECT_EQ(own_process(7, {7}, {7, 4711}).pid, 4711u);  // where a stranger's id is ours
  EXPECT_EQ(own_process(7, {}, {4711, 4712}).pid, 0u);
  EXPECT_EQ(own_process(7, {5}, {5}).pid, 0u);
  EXPECT_EQ(own_process(7, {}, {}).pid, 0u);
}

TEST(Neighbours, AreTheOthers) {
  GpuState state = calm();
  EXPECT_EQ(neighbours(state, own), 0u);
  state.computing = Pids{5, 7, 9};
  EXPECT_EQ(neighbours(state, own), 2u);
  EXPECT_EQ(neighbours(state, {}), 2u);
  state.computing = Pids{};
  EXPECT_EQ(neighbours(state, {}), 0u);
  EXPECT_EQ(neighbours(state, own), 0u);  // our list of one does not make minus one
  state.computing.reset();
  EXPECT_FALSE(neighbours(state, own));
}

/// A watch on the library that plays `scenario`.
class Played : public ::testing::Test {
 protected:
  void TearDown() override {
    unsetenv("STRICTBENCH_NVML");
    unsetenv("STRICTBENCH_FAKE_NVML");
  }
  static void play(const std::string& scenario, const char* library = FAKE_NVML) {
    setenv("STRICTBENCH_NVML", library, 1);
    setenv("STRICTBENCH_FAKE_NVML", scenario.c_str(), 1);
  }
  static MachineWatch watch(const std::string& scenario, const char* library = FAKE_NVML) {
    play(scenario, library);
    MachineWatch watch = MachineWatch::before_context();
    watch.attach("GPU-fake");
    return watch;
  }
  static Names against(const MachineWatch& watch, std::size_t stretch) {
    Names all;
    for (const Finding& finding : watch.against(stretch)) all[finding.name] = finding.value;
    return all;
  }
};

TEST_F(Played, AnEmptyNameOfALibraryIsNone) {
  void* const found_by_the_empty_name = dlopen(FAKE_NVML, RTLD_NOW | RTLD_GLOBAL);
  ASSERT_NE(found_by_the_empty_name, nullptr);
  play("", "");
  EXPECT_EQ(other_nvml(), nullptr);
  const bool ready = Nvml().ready();
  unsetenv("STRICTBENCH_NVML");
  EXPECT_EQ(ready, Nvml().ready());
  dlclose(found_by_the_empty_name);
}

TEST_F(Played, AThrottleSpoilsTheStretchesThatTouchIt) {
  MachineWatch watch = this->watch("reasons=0x40@3-4");
  ASSERT_TRUE(watch.watching());
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(watch.stretch(), static_cast<std::size_t>(i));
    watch.look();
  }
  // Stretch i lies between the readings i + 1 and i + 2.
  const Names hot{{"thermal_slowdown", 1}};
  EXPECT_EQ(against(watch, 0), Names{});
  EXPECT_EQ(against(watch, 1), hot);
  EXPECT_EQ(against(watch, 2), hot);
  EXPECT_EQ(against(watch, 3), hot);
  EXPECT_EQ(against(watch, 4), Names{});
  EXPECT_EQ(against(watch, 99), Names{});
}

TEST_F(Played, ACounterThatLagsSpoilsTheStretchBeforeToo) {
  MachineWatch watch = this->watch("thermal=0 thermal=5000000@4");
  for (int i = 0; i < 4; ++i) watch.look();
  EXPECT_EQ(against(watch, 0), Names{});
  EXPECT_EQ(against(watch, 1), (Names{{"thermal_slowdown", 1}}));
  EXPECT_EQ(against(watch, 2), (Names{{"thermal_slowdown", 1}}));
  EXPECT_EQ(against(watch, 3), Names{});
}

TEST_F(Played, ANeighbourComesComputesAndGoes) {
  MachineWatch watch = this->watch("neighbours=1@3-6 busy=1@5");
  EXPECT_EQ(watch.context(), (std::vector<std::pair<std::string, std::string>>{{"neighbours", "0"}}));
  for (int i = 0; i < 7; ++i) watch.look();
  // The driver tells a use once, up to a second late: so all that lies near counts, these few milliseconds.
  EXPECT_EQ(against(watch, 0), Names{});
  for (std::size_t stretch = 1; stretch <= 5; ++stretch)
    EXPECT_EQ(against(watch, stretch), (Names{{"neighbours", 1}})) << stretch;
  EXPECT_EQ(against(watch, 6), Names{});
}

TEST_F(Played, ANeighbourThatOnlyHoldsMemoryIsToldAndNoMore) {
  MachineWatch watch = this->watch("neighbours=2");
  watch.look();
  EXPECT_EQ(against(watch, 0), Names{});
  EXPECT_EQ(watch.context(), (std::vector<std::pair<std::string, std::string>>{{"neighbours", "2"}}));
  watch = this->watch("neighbours=2 no_utilization=1");
  watch.look();
  EXPECT_EQ(against(watch, 0), (Names{{"neighbours", 2}}));
}

TEST_F(Played, ManyNeighboursAndAnIdFromOutsideTheContainer) {
  MachineWatch watch = this->watch("neighbours=300 busy=200 own=4711");
  watch.look();
  EXPECT_EQ(against(watch, 0), (Names{{"neighbours", 200}}));
  watch = this->watch("own=4711");
  watch.look();
  EXPECT_EQ(against(watch, 0), Names{});
  watch = this->watch("own=0");
  watch.look();
  EXPECT_EQ(against(watch, 0), Names{});
}

TEST_F(Played, WhatTheDriverDoesNotTellIsAbsent) {
  for (const char* scenario : {"no_reasons=1 no_processes=1", "lost=1"}) {
    MachineWatch watch = this->watch(scenario);
    watch.look();
    EXPECT_EQ(against(watch, 0), Names{}) << scenario;
    EXPECT_EQ(watch.state_after(0), nullptr) << scenario;
    EXPECT_TRUE(watch.context().empty()) << scenario;
  }
  MachineWatch watch = this->watch("no_clocks=1 no_thermal=1 no_ecc=1 no_utilization=1");
  watch.look();
  EXPECT_EQ(against(watch, 0), Names{});
  ASSERT_NE(watch.state_after(0), nullptr);
  EXPECT_FALSE(watch.state_after(0)->sm_clock_mhz);
}

TEST_F(Played, AnOldLibraryStillTellsThrottling) {
  MachineWatch watch = this->watch("reasons=0x8@2", FAKE_OLD_NVML);
  watch.look();
  EXPECT_EQ(against(watch, 0), (Names{{"hardware_slowdown", 1}}));
  EXPECT_TRUE(watch.context().empty());
}

TEST_F(Played, WithoutALibraryADriverOrTheGpuNothingIsWatched) {
  const auto nothing = [](MachineWatch watch) {
    EXPECT_FALSE(watch.watching());
    watch.look();
    EXPECT_FALSE(watch.look_if_due());
    EXPECT_EQ(watch.stretch(), 0u);
    EXPECT_TRUE(watch.against(0).empty());
    EXPECT_EQ(watch.state_after(0), nullptr);
    EXPECT_TRUE(watch.context().empty());
  };
  nothing(watch("", "/nonexistent/libnvidia-ml.so.1"));
  nothing(watch("init=999"));
  nothing(MachineWatch());
  play("");
  MachineWatch other = MachineWatch::before_context();
  other.attach("GPU-another");
  nothing(std::move(other));
}

TEST_F(Played, LooksAreNoNearerThanATenthOfASecond) {
  using Clock = std::chrono::steady_clock;
  const auto soon = [](MachineWatch& watch, Clock::time_point last) {
    const bool looked = watch.look_if_due();
    return looked && Clock::now() - last < std::chrono::milliseconds(100);  // a stalled machine may be late
  };
  Clock::time_point before = Clock::now();
  MachineWatch watch = this->watch("");
  EXPECT_FALSE(soon(watch, before));
  usleep(101'000);
  const std::size_t stretch = watch.stretch();
  before = Clock::now();
  EXPECT_TRUE(watch.look_if_due());
  EXPECT_EQ(watch.stretch(), stretch + 1);
  EXPECT_FALSE(soon(watch, before));
}

TEST_F(Played, TheContextSaysHowTheGpuStands) {
  play("reasons=0x44 ecc=2 mig=1");
  const auto entries = nvml_context("GPU-1a");  // a MIG instance, as CUDA names it
  EXPECT_EQ((std::map<std::string, std::string>(entries.begin(), entries.end())),
            (std::map<std::string, std::string>{{"driver_version", "999.1"},
                                                {"sm_clock_mhz", "1980"},
                                                {"memory_clock_mhz", "3201"},
                                                {"power_limit_w", "700"},
                                                {"clock_event_reasons", "0x44"},
                                                {"temperature_c", "41"},
                                                {"power_w", "123"},
                                                {"ecc_uncorrected", "2"},
                                                {"mig", "enabled"}}));
  play("lost=1");
  EXPECT_EQ(nvml_context("GPU-fake").size(), 1u);  // the driver's version
  play("init=9");
  EXPECT_TRUE(nvml_context("GPU-fake").empty());
  play("", "/nonexistent");
  EXPECT_TRUE(nvml_context("GPU-fake").empty());
}

}  // namespace
}  // namespace strictbench
