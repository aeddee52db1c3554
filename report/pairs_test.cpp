#include "report/pairs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "report/simulation_test.h"
#include "report/testing.h"

namespace strictbench {
namespace {

using simulation::normal;
using simulation::Random;
using testing::compare_files;
using testing::file_of;
using testing::Files;
using testing::holds;
using testing::Json;
using testing::row;

const std::vector<double> one_percent{0.01, 0.011, 0.009, 0.0105, 0.0095};

TEST(JudgePairs, OneRowIsAnIntervalOfPairedLogRatios) {
  const std::vector<PairedSample> rows{{0, one_percent, 0}};
  const RowInterval interval = judge_pairs(rows, 0.01, 0.01, 1).at(0);
  EXPECT_NEAR(interval.log_ratio, 0.01, 1e-12);
  // A variance of 6.25e-7 with 4 degrees and one pseudo-observation of 1e-4; t(5) at 0.005 is 4.0321.
  EXPECT_NEAR(interval.half_width, 4.0321 * std::sqrt((4 * 6.25e-7 + 1e-4) / 5 / 5), 1e-6);
  EXPECT_EQ(interval.origin, SpreadOrigin::both_sides);
}

TEST(JudgePairs, LooksShareTheErrorAndAClockWidens) {
  const std::vector<PairedSample> rows{{0, one_percent, 0}};
  const double once = judge_pairs(rows, 0.01, 0.01, 1)[0].half_width;
  // t(5) at 0.0005 is 6.8688.
  EXPECT_NEAR(judge_pairs(rows, 0.01, 0.01, 10)[0].half_width, once * 6.8688 / 4.0321, 1e-6);
  const std::vector<PairedSample> coarse{{0, one_percent, 0.004}};
  EXPECT_NEAR(judge_pairs(coarse, 0.01, 0.01, 1)[0].half_width, once + 0.004, 1e-12);
}

TEST(JudgePairs, FewPairsAreNoProof) {
  for (const std::size_t pairs : {1, 4}) {
    const std::vector<PairedSample> rows{{0, std::vector<double>(pairs, 0.0), 0}};
    const RowInterval interval = judge_pairs(rows, 0.01, 0.01, 1)[0];
    EXPECT_EQ(interval.origin, pairs == 1 ? SpreadOrigin::assumed : SpreadOrigin::few_processes);
    // Two processes of 1 % each; the normal quantile at 0.005 is 2.5758.
    EXPECT_GE(interval.half_width, 2.5758 * 0.01 * std::sqrt(2.0 / static_cast<double>(pairs)) - 1e-6);
    EXPECT_EQ(call(interval.log_ratio, interval.half_width, 0.01), Call::inconclusive);
  }
}

/// Rows whose processes vary as on the graph timer; the contender's are slower by `slowdown`.
std::vector<PairedSample> draw(Random& random, std::size_t rows, std::size_t pairs, double slowdown) {
  std::vector<PairedSample> samples(rows);
  for (PairedSample& sample : samples) {
    const simulation::Noise noise = simulation::graph_timer(random);
    for (std::size_t i = 0; i < pairs; ++i) {
      const double before = simulation::process_median(random, noise, 20);
      sample.log_ratios.push_back(std::log1p(slowdown) + simulation::process_median(random, noise, 20) -
                                  before);
    }
  }
  return samples;
}

std::vector<Call> calls_of(const std::vector<PairedSample>& rows, double alpha, int looks) {
  std::vector<Call> calls;
  for (const RowInterval& interval : judge_pairs(rows, alpha, 0.01, looks))
    calls.push_back(call(interval.log_ratio, interval.half_width, 0.01));
  return calls;
}

TEST(JudgePairs, GrowingDataLookedAtSixTimesKeepTheError) {
  Random random(2026);
  constexpr int tables = 300;
  const std::vector<std::size_t> looks{5, 7, 9, 12, 16, 20};
  int alarms = 0;
  std::size_t same = 0;
  for (int t = 0; t < tables; ++t) {
    const std::vector<PairedSample> all = draw(random, 40, looks.back(), 0);
    bool alarm = false;
    for (const std::size_t pairs : looks) {
      std::vector<PairedSample> seen = all;
      for (PairedSample& sample : seen) sample.log_ratios.resize(pairs);
      const std::vector<Call> calls = calls_of(seen, 0.05, static_cast<int>(looks.size()));
      alarm =
          alarm || std::ranges::any_of(calls, [](Call c) { return c == Call::slower || c == Call::faster; });
      if (pairs == looks.back()) same += static_cast<std::size_t>(std::ranges::count(calls, Call::same));
    }
    alarms += alarm ? 1 : 0;
  }
  EXPECT_LE(alarms, 26);  // 15 expected at most; three standard deviations above
  EXPECT_GE(static_cast<double>(same), 0.9 * tables * 40);
}

TEST(JudgePairs, TwoPercentAreSeenAndNeverCalledTheSame) {
  Random random(7);
  std::size_t slower = 0;
  std::size_t rows = 0;
  for (int t = 0; t < 50; ++t) {
    for (const Call one : calls_of(draw(random, 40, 20, 0.02), 0.01, 6)) {
      ++rows;
      slower += one == Call::slower ? 1 : 0;
      EXPECT_NE(one, Call::same);
      EXPECT_NE(one, Call::faster);
    }
  }
  EXPECT_GE(static_cast<double>(slower), 0.9 * static_cast<double>(rows));
}

/// Files of processes 0, 1, ... whose times are `level` times a drift that both sides share.
Files drifting(double level, const std::vector<int>& processes) {
  Files files;
  for (const int process : processes) {
    const double drift = 1 + 0.05 * std::sin(process);
    files.push_back(file_of({row("op/new/timer:graph", level * drift * (1 + 0.0001 * (process % 3)))},
                            {{"process_index", std::to_string(process)}}));
  }
  return files;
}

CompareOptions paired() {
  CompareOptions options;
  options.paired = true;
  return options;
}

TEST(ComparePaired, WhatDriftsOnBothSidesDropsOut) {
  const Files before = drifting(100, {0, 1, 2, 3, 4, 5, 6, 7});
  const Files after = drifting(103, {7, 6, 5, 4, 3, 2, 1, 0});  // the order of files pairs nothing
  EXPECT_EQ(compare_files(before, after).rows.at(0).verdict, Verdict::inconclusive);
  const Comparison comparison = compare_files(before, after, paired());
  EXPECT_EQ(comparison.rows.at(0).verdict, Verdict::slower);
  EXPECT_NEAR(comparison.rows.at(0).ratio, 1.03, 1e-3);
  EXPECT_TRUE(holds(comparison.notes.at(0), "pair by pair, process by process: 8 pairs a row"))
      << comparison.notes.at(0);
}

TEST(ComparePaired, ProcessesWithoutAPartnerAreLeftOut) {
  CompareOptions options = paired();
  options.looks = 6;
  options.threshold = 0.02;
  const Comparison some =
      compare_files(drifting(100, {0, 1, 2, 3, 4, 5}), drifting(100, {1, 2, 3, 4, 5, 9}), options);
  EXPECT_EQ(some.rows.at(0).verdict, Verdict::same);
  EXPECT_TRUE(holds(some.notes.at(0), "5 pairs a row; the error of the whole table is that of all 6 looks"))
      << some.notes.at(0);
  const Comparison none = compare_files(drifting(100, {0, 1}), drifting(100, {2, 3}), options);
  EXPECT_EQ(none.rows.at(0).verdict, Verdict::incomparable);
  EXPECT_EQ(none.exit_code(), 3);
}

}  // namespace
}  // namespace strictbench
