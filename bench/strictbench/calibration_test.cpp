/// Known answers of a calibration, and both ways in which it must be able to fail, on made-up processes.
#include "bench/strictbench/calibration.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <regex>
#include <sstream>

#include "bench/strictbench/calibration_cases.h"
#include "bench/strictbench/calibration_output.h"
#include "report/error.h"
#include "report/simulation_test.h"
#include "report/testing.h"

namespace strictbench::calibration {
namespace {

using simulation::Noise;
using simulation::Random;
using testing::holds;

struct MadeCase {
  std::string operator_name = "row_fold";
  std::string shape = "rows:64";
  std::string timer = "graph";
  double time_ns = 100'000;
  double calls = 5;
  Noise noise{.within = 0.0005, .between = 0.0003};
  std::function<double(double)> reached = [](double asked) { return asked; };
};

std::string row_of(const MadeCase& made, double delay) {
  std::ostringstream name;
  name << made.operator_name << "/new+" << delay * 100 << "%/" << made.shape << "/timer:" << made.timer;
  return name.str();
}

void put(Side& side, const std::string& row, std::uint32_t source, std::vector<double> samples) {
  Evidence& evidence = side.find_or_add(row);
  evidence.unit = Unit::time;
  evidence.unit_known = true;
  ProcessRecord& process = evidence.processes.emplace_back();
  process.source = source;
  process.samples = std::move(samples);
}

/// What `processes` processes of an executable that has all the cases would have left behind.
Measurements measured(const std::vector<MadeCase>& cases, int processes, std::uint64_t seed = 1) {
  Random random(seed);
  Measurements all;
  for (Side* side : {&all.times, &all.calls, &all.delays_us}) side->sessions.emplace_back();
  for (int p = 0; p < processes; ++p) {
    const auto source = static_cast<std::uint32_t>(p);
    all.times.sources.push_back({"p" + std::to_string(p), {{"process_index", std::to_string(p)}}});
    for (const MadeCase& made : cases) {
      for (const double delay : delays) {
        const double level = made.time_ns * (1 + made.reached(delay));
        std::vector<double> samples;
        const double process = simulation::normal(random, made.noise.between);
        for (int i = 0; i < 7; ++i)
          samples.push_back(level * std::exp(process + simulation::normal(random, made.noise.within)));
        put(all.times, row_of(made, delay), source, samples);
        put(all.calls, row_of(made, delay), source, {made.calls});
        if (delay > 0) put(all.delays_us, row_of(made, delay), source, {made.time_ns * delay / 1000});
      }
    }
  }
  return all;
}

/// As many quiet cases as a table needs to know what is usual.
std::vector<MadeCase> quiet(int count) {
  std::vector<MadeCase> cases(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) cases[static_cast<std::size_t>(i)].shape = "rows:" + std::to_string(i);
  return cases;
}

const SizeResult& size_of(const Calibration& all, double size, std::size_t timer = 0) {
  for (const SizeResult& one : all.timers.at(timer).sizes)
    if (one.size == size) return one;
  throw std::out_of_range("no such size");
}

TEST(ArmOf, TakesTheDelayOutOfTheVariant) {
  const auto arm = arm_of("row_fold/new+2%/rows:64/cols:128/dtype:fp32/timer:graph/manual_time");
  ASSERT_TRUE(arm);
  EXPECT_EQ(arm->case_name, "row_fold/new/rows:64/cols:128/dtype:fp32/timer:graph");
  EXPECT_EQ(arm->asked, 0.02);
  EXPECT_EQ(arm_of("a/legacy_loop+0%/x:1/timer:cpu")->asked, 0.0);
  EXPECT_EQ(arm_of("a/b+c+10%/x:1/timer:cpu")->case_name, "a/b+c/x:1/timer:cpu");
  for (const double delay : delays) EXPECT_EQ(arm_of(row_of({}, delay))->asked, delay);
  for (const char* name : {"a/new/x:1/timer:cpu", "a/new+2/x:1/timer:cpu", "a/new+%/x:1/timer:cpu",
                           "a/new+-1%/x:1/timer:cpu", "a/new+2x%/x:1/timer:cpu", "a/new+2%/x:1", "BM_a", ""})
    EXPECT_FALSE(arm_of(name)) << name;
}

TEST(Evaluate, QuietProcessesShowEverythingAndNothingThatIsNotThere) {
  const Calibration all = evaluate(measured(quiet(10), 40), {});
  ASSERT_EQ(all.timers.size(), 1u);
  const TimerResult& graph = all.timers[0];
  EXPECT_EQ(graph.timer, "graph");
  EXPECT_EQ(graph.cases, 10u);
  EXPECT_EQ(graph.processes, 40u);
  EXPECT_EQ(graph.tables, 100u);  // 1,000 rows of 10 a table
  EXPECT_EQ(graph.tables_with_alarm, 0u);
  EXPECT_EQ(graph.identical.rows, 1000u);
  EXPECT_EQ(graph.identical.same, 1000u);
  for (const double size : {0.02, 0.03, 0.05, 0.1}) {
    EXPECT_EQ(size_of(all, size).arms, 10u);
    EXPECT_EQ(size_of(all, size).counts.rows, 1000u);
    EXPECT_EQ(size_of(all, size).counts.slower, 1000u) << size;
    EXPECT_NEAR(size_of(all, size).reached_low, size, 0.001);
    EXPECT_NEAR(size_of(all, size).reached_high, size, 0.001);
  }
  // A slowdown of the threshold itself is no more than it.
  EXPECT_LT(size_of(all, 0.01).counts.slower, 50u);
  EXPECT_NEAR(all.cases.at(0).spread, 0.0003, 0.0002);
  EXPECT_NEAR(all.cases[0].smallest_visible, 0.0107, 0.001);
  EXPECT_NEAR(all.cases[0].time_ns, 100'000, 100);
  EXPECT_NEAR(all.cases[0].arms.at(2).asked_ns, 2000, 1e-6);
}

TEST(Evaluate, CountsAlarmsWhereTheProcessesOfOneCodeDisagree) {
  // One process a side is taken at its word that processes spread by 1 %; these spread by ten times that.
  std::vector<MadeCase> cases = quiet(5);
  for (MadeCase& made : cases) made.noise.between = 0.1;
  const Calibration all = evaluate(measured(cases, 40), {.sides = 1, .tables = 200});
  const TimerResult& graph = all.timers.at(0);
  EXPECT_EQ(graph.identical.rows, 1000u);
  EXPECT_GT(graph.identical.slower, 100u);
  EXPECT_GT(graph.identical.faster, 100u);
  EXPECT_GT(graph.tables_with_alarm, 150u);
  EXPECT_LE(graph.tables_with_alarm, 200u);
}

TEST(Evaluate, CountsSlowdownsThatAreMissed) {
  const Calibration all = evaluate(measured(quiet(5), 40), {.tables = 50, .threshold = 0.04});
  EXPECT_EQ(size_of(all, 0.02).counts.same, 250u);
  EXPECT_EQ(size_of(all, 0.03).counts.slower, 0u);
  EXPECT_EQ(size_of(all, 0.05).counts.slower, 250u);
}

TEST(Evaluate, CountsSlowdownsThatCannotBeTold) {
  std::vector<MadeCase> cases = quiet(5);
  for (MadeCase& made : cases) made.noise.between = 0.02;
  const Calibration all = evaluate(measured(cases, 40), {.tables = 50});
  EXPECT_GT(size_of(all, 0.02).counts.inconclusive, 100u);
  EXPECT_GT(all.timers.at(0).identical.inconclusive, 100u);
  EXPECT_GT(all.cases.at(0).smallest_visible, 0.02);
}

TEST(Evaluate, TheSidesOfATableShareNoProcess) {
  Measurements two = measured(quiet(5), 2);
  for (Evidence& evidence : two.times.benchmarks)
    for (double& sample : evidence.processes[1].samples) sample *= 2;
  const Calibration all = evaluate(two, {.sides = 1, .tables = 40});
  const Counts& counts = all.timers.at(0).identical;
  EXPECT_EQ(counts.same + counts.inconclusive, 0u);
  EXPECT_GT(counts.slower, 20u);  // and either process is the baseline at times
  EXPECT_GT(counts.faster, 20u);
}

TEST(Evaluate, ASizeIsWhatWasReached) {
  std::vector<MadeCase> cases = quiet(3);
  cases[0].reached = [](double asked) { return asked == 0.03 ? 0.02 : asked; };
  cases[1].reached = [](double asked) { return asked == 0.02 ? 0.014 : asked; };
  const Calibration all = evaluate(measured(cases, 40), {.tables = 10});
  EXPECT_EQ(size_of(all, 0.02).arms, 3u);  // two of the first case, none of the second
  EXPECT_EQ(size_of(all, 0.02).counts.rows, 30u);
  EXPECT_EQ(size_of(all, 0.03).arms, 2u);
  EXPECT_EQ(all.cases[0].arms[3].size, 0.02);
  EXPECT_EQ(all.cases[1].arms[2].size, std::nullopt);
  EXPECT_EQ(all.cases[1].arms[2].counts.rows, 10u);  // judged all the same
  EXPECT_TRUE(holds(all.notes.back(),
                    "row_fold/new/rows:1/timer:graph counts for no size where asked for 2 % reached 1."))
      << all.notes.back();
}

TEST(Evaluate, SizesUnderTwoTimerTicksAreLeftOut) {
  std::vector<MadeCase> cases = quiet(4);
  cases[0].timer = "cold";  // 3 us: 2 % are 60 ns, less than two ticks of 32 ns
  cases[1].timer = "wall";  // no tick
  cases[2].calls = 200;     // a tick over 200 calls
  for (MadeCase& made : cases) made.time_ns = 3000;
  cases[3].calls = 1;
  const Calibration all = evaluate(measured(cases, 40), {.tables = 10});
  const auto arms = [&](std::size_t timer) {
    std::vector<std::size_t> counts;
    for (const SizeResult& size : all.timers.at(timer).sizes) counts.push_back(size.arms);
    return counts;
  };
  ASSERT_EQ(all.timers.at(0).timer, "cold");
  ASSERT_EQ(all.timers.at(1).timer, "wall");
  EXPECT_EQ(arms(0), (std::vector<std::size_t>{0, 0, 1, 1, 1}));
  EXPECT_EQ(arms(1), (std::vector<std::size_t>{1, 1, 1, 1, 1}));
  EXPECT_EQ(arms(2), (std::vector<std::size_t>{1, 1, 2, 2, 2}));
  EXPECT_TRUE(holds(all.cases[0].arms[1].left_out, "is under two timer ticks of 32.0 ns"))
      << all.cases[0].arms[1].left_out;
  EXPECT_EQ(all.cases[0].arms[3].left_out, "");
}

TEST(Evaluate, AProcessThatLacksARowIsLeftOut) {
  Measurements some = measured(quiet(3), 22);
  for (const double delay : {0.0, 0.05}) {
    std::vector<ProcessRecord>& processes = some.times.find_or_add(row_of(quiet(3)[1], delay)).processes;
    processes.erase(processes.begin() + (delay > 0 ? 3 : 8));
  }
  const Calibration all = evaluate(some, {.tables = 10});
  EXPECT_EQ(all.timers.at(0).processes, 20u);
  EXPECT_TRUE(holds(all.notes.at(0), "2 of 22 processes are left out")) << all.notes[0];
  const std::string message = testing::usage_error_of([&] { evaluate(some, {.sides = 11, .tables = 10}); });
  EXPECT_TRUE(holds(message, "20 processes measured every row, and two sides of 11 need 22; ")) << message;
  some.times.suspect = 7;
  const std::string hot = testing::usage_error_of([&] { evaluate(some, {.sides = 11, .tables = 10}); });
  EXPECT_TRUE(holds(hot, "need 22 (7 rows are left out: the machine was throttled or shared); ")) << hot;
}

TEST(Evaluate, WhatIsWrongIsNotJudged) {
  Measurements some = measured(quiet(4), 20);
  some.times.find_or_add(row_of(quiet(4)[0], 0.02)).trouble().wrong = 1;
  some.times.find_or_add(row_of(quiet(4)[0], 0.02)).trouble().wrong_message = "check failed: 1 differs";
  some.times.find_or_add(row_of(quiet(4)[1], 0)).trouble().skipped = 1;
  const Calibration all = evaluate(some, {.tables = 10});
  EXPECT_EQ(all.bad_rows, 1u);
  EXPECT_EQ(all.timers.at(0).cases, 2u);
  EXPECT_EQ(all.notes.at(0), "row_fold/new/rows:0/timer:graph is left out: check failed: 1 differs");
  EXPECT_TRUE(holds(all.notes.at(1), "rows:1/timer:graph is left out: skipped")) << all.notes[1];
}

TEST(Evaluate, RefusesWhatIsNoCalibration) {
  Measurements other;
  other.times.find_or_add("row_fold/new/rows:64/timer:graph");
  EXPECT_TRUE(holds(testing::usage_error_of([&] { evaluate(other, {}); }), "no row is an arm"));
  Measurements nameless = measured(quiet(2), 20);
  nameless.times.sources[3].context.clear();
  EXPECT_TRUE(holds(testing::usage_error_of([&] { evaluate(nameless, {}); }),
                    "p3: its context has no process_index"));
}

TEST(Evaluate, ASeedGivesOneAnswer) {
  std::vector<MadeCase> cases = quiet(5);
  for (MadeCase& made : cases) made.noise.between = 0.006;
  const Measurements data = measured(cases, 40);
  const auto answer = [&](std::uint64_t seed) {
    return to_json(evaluate(data, {.tables = 20, .seed = seed}), {})["timers"].dump();
  };
  EXPECT_EQ(answer(7), answer(7));
  EXPECT_NE(answer(7), answer(8));
}

TEST(Output, SharesAreNeverRoundedToCertainty) {
  Calibration all;
  TimerResult& timer = all.timers.emplace_back();
  timer.timer = "graph";
  timer.tables = 300;
  timer.identical = {.rows = 3000, .slower = 0, .inconclusive = 1, .same = 2999};
  timer.sizes.push_back({.size = 0.03,
                         .arms = 1,
                         .reached_low = 0.029,
                         .reached_high = 0.031,
                         .counts = {.rows = 3000, .slower = 2790, .inconclusive = 210}});
  std::ostringstream out;
  write_text(
      out, all,
      {.device = {}, .device_name = "NVIDIA H200", .date = {}, .commit = {}, .machine = {}, .context = {}});
  for (const char* text :
       {"NVIDIA H200", "> 99.9 %", "< 0.1 %", "0 of 300", "93.0 %", "7.0 %", "2.90 to 3.10 %"})
    EXPECT_TRUE(holds(out.str(), text)) << text << "\n" << out.str();
  EXPECT_FALSE(holds(out.str(), "100.0 %"));
}

TEST(DefaultCases, AreSelectedByTheirFilterAlone) {
  for (const bool gpu : {true, false}) {
    const std::vector<std::string> names = default_cases(gpu);
    const std::regex filter(filter_of(names), std::regex_constants::extended);
    EXPECT_GE(names.size(), 12u);
    for (const std::string& name : names) {
      EXPECT_TRUE(std::regex_search(name, filter)) << name;
      EXPECT_FALSE(std::regex_search(name + "x", filter)) << name;
      EXPECT_FALSE(std::regex_search("x" + name, filter)) << name;
    }
  }
  EXPECT_TRUE(
      std::regex_search("a.b/c+1", std::regex(filter_of({"a.b/c+1"}), std::regex_constants::extended)));
  EXPECT_FALSE(
      std::regex_search("aXb/c+1", std::regex(filter_of({"a.b/c+1"}), std::regex_constants::extended)));
}

}  // namespace
}  // namespace strictbench::calibration
