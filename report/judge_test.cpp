#include "report/judge.h"

#include <gtest/gtest.h>

#include <cmath>

#include "report/simulation_test.h"

namespace strictbench {
namespace {

using simulation::Design;
using simulation::Noise;
using simulation::Random;
using simulation::Tally;
using simulation::uniform;

SideSample one_session(std::vector<double> logs) { return {{std::move(logs)}, 0}; }

RowSample row_of(std::vector<double> baseline, std::vector<double> contender) {
  RowSample row;
  row.baseline = one_session(std::move(baseline));
  row.contender = one_session(std::move(contender));
  return row;
}

TEST(Call, NeedsTheWholeInterval) {
  const double limit = std::log1p(0.01);
  EXPECT_EQ(call(limit + 0.002, 0.001, 0.01), Call::slower);
  EXPECT_EQ(call(limit + 0.002, 0.003, 0.01), Call::inconclusive);
  EXPECT_EQ(call(-limit - 0.002, 0.001, 0.01), Call::faster);
  EXPECT_EQ(call(0.001, 0.002, 0.01), Call::same);
  EXPECT_EQ(call(0, limit * 1.001, 0.01), Call::inconclusive);
  EXPECT_EQ(call(0, std::nan(""), 0.01), Call::inconclusive);
  EXPECT_EQ(call(std::nan(""), 0.001, 0.01), Call::inconclusive);
}

TEST(JudgeTable, OneProcessEachIsJudgedByTheAssumedSpread) {
  const std::vector<RowSample> rows{row_of({0}, {0.006})};
  const RowInterval row = judge_table(rows, 0.01, 0.01).rows.at(0);
  EXPECT_EQ(row.origin, SpreadOrigin::assumed);
  EXPECT_DOUBLE_EQ(row.log_ratio, 0.006);
  EXPECT_NEAR(row.half_width, 2.575829 * 0.01 * std::sqrt(2.0), 1e-6);
}

TEST(JudgeTable, SamplesThatScatterWidenALoneProcess) {
  std::vector<RowSample> rows{row_of({0}, {0})};
  const double quiet = judge_table(rows, 0.01, 0.01).rows.at(0).half_width;
  rows[0].contender.squared_error_within = 0.05 * 0.05;
  EXPECT_GT(judge_table(rows, 0.01, 0.01).rows.at(0).half_width, 3 * quiet);
}

TEST(JudgeTable, ALoneContenderIsJudgedByTheBaselinesRecord) {
  const std::vector<RowSample> rows{row_of({-0.02, 0.03, -0.01, 0.025, -0.025, 0.0}, {0.05})};
  const RowInterval row = judge_table(rows, 0.01, 0.01).rows.at(0);
  EXPECT_EQ(row.origin, SpreadOrigin::baseline_record);
  EXPECT_EQ(call(row.log_ratio, row.half_width, 0.01), Call::inconclusive);
  const std::vector<RowSample> quiet{row_of({-0.0002, 0.0003, -0.0001, 0.0002, -0.0002, 0.0}, {0.05})};
  const RowInterval seen = judge_table(quiet, 0.01, 0.01).rows.at(0);
  EXPECT_EQ(call(seen.log_ratio, seen.half_width, 0.01), Call::slower);
}

TEST(JudgeTable, FewProcessesThatAgreeAreNoProof) {
  const std::vector<RowSample> rows{row_of({0, 0.0001, -0.0001, 0}, {0.02, 0.0201, 0.0199, 0.02})};
  const RowInterval row = judge_table(rows, 0.01, 0.01).rows.at(0);
  EXPECT_EQ(row.origin, SpreadOrigin::few_processes);
  EXPECT_EQ(call(row.log_ratio, row.half_width, 0.01), Call::inconclusive);
}

TEST(JudgeTable, ANoisySideIsNotLentTheQuietSidesPrecision) {
  const std::vector<double> quiet{0, 0.0001, -0.0001, 0.0002, -0.0002, 0, 0.0001, -0.0001, 0, 0};
  const std::vector<double> noisy{0.03, 0.09, -0.03, 0.06, 0.01, 0.08, -0.02, 0.05};
  const std::vector<RowSample> rows{row_of(quiet, noisy)};
  const RowInterval row = judge_table(rows, 0.01, 0.01).rows.at(0);
  // At least Student's interval of the noisy side alone: t(0.005, 7) = 3.499 times its standard error.
  const Spread spread = spread_of(noisy);
  EXPECT_GE(row.half_width, 3.4 * std::sqrt(spread.variance / 8));
}

TEST(JudgeTable, TheTimersOfATableDoNotLendEachOtherPrecision) {
  Random random(5);
  Design design;
  std::vector<RowSample> rows = simulation::table(random, design, 0, simulation::graph_timer);
  const std::vector<RowInterval> alone = judge_table(rows, 0.01, 0.01).rows;
  for (const RowSample& noisy : simulation::table(random, design, 0, [](Random&) {
         return Noise{0.01, 0.05};
       })) {
    rows.push_back(noisy);
    rows.back().group = 1;
  }
  const std::vector<RowInterval> together = judge_table(rows, 0.01, 0.01).rows;
  for (std::size_t i = 0; i < alone.size(); ++i) {
    // Twice as many rows share alpha; nothing else changes.
    EXPECT_NEAR(together[i].half_width, alone[i].half_width, 0.003);
  }
}

TEST(JudgeTable, AnotherSessionCostsTheAssumedSpread) {
  const std::vector<double> quiet{0, 0.0001, -0.0001, 0.0002, -0.0002, 0, 0.0001, -0.0001, 0, 0};
  std::vector<RowSample> rows{row_of(quiet, quiet)};
  EXPECT_LT(judge_table(rows, 0.01, 0.01).rows.at(0).half_width, 0.005);
  rows[0].across_sessions = true;
  const TableIntervals table = judge_table(rows, 0.01, 0.01);
  EXPECT_GT(table.rows.at(0).half_width, 2.57 * 0.01 * std::sqrt(2.0));
  EXPECT_FALSE(table.session_spread.at(0).learned);
}

TEST(JudgeTable, AStepOfTheClockIsNoSlowdown) {
  // A 2 us kernel on a clock of 32 ns: all processes of a side land on one step, the sides on neighbours.
  std::vector<RowSample> rows{
      row_of(std::vector<double>(10, std::log(2016.0)), std::vector<double>(10, std::log(2048.0)))};
  const auto verdict = [&] {
    const RowInterval row = judge_table(rows, 0.01, 0.01).rows.at(0);
    return call(row.log_ratio, row.half_width, 0.01);
  };
  EXPECT_EQ(verdict(), Call::slower);  // nothing but the step tells these sides apart from a real change
  rows[0].resolution = 32.0 / 2016;
  EXPECT_EQ(verdict(), Call::inconclusive);
  rows[0].contender = one_session(std::vector<double>(10, std::log(2016.0 + 4 * 32)));
  EXPECT_EQ(verdict(), Call::slower);
}

TEST(JudgeTable, AnEmptyTableIsEmpty) { EXPECT_TRUE(judge_table({}, 0.01, 0.01).rows.empty()); }

// The goals: ten processes a side, threshold 1 %, error 1 %, tables of 100 rows, noise of the graph timer.

TEST(Goals, NoFalseAlarmInAThousandRowsAndNinetyPercentSame) {
  const Tally tally = simulation::run(11, 10, Design{}, 0, 0.01, simulation::graph_timer);
  EXPECT_EQ(tally.rows, 1000U);
  EXPECT_EQ(tally.slower, 0U);
  EXPECT_EQ(tally.faster, 0U);
  EXPECT_GE(tally.share(tally.same), 0.90);
}

TEST(Goals, TwoPercentIsNeverSame) {
  const Tally tally = simulation::run(12, 10, Design{}, 0.02, 0.01, simulation::graph_timer);
  EXPECT_EQ(tally.same, 0U);
  EXPECT_EQ(tally.faster, 0U);
  EXPECT_GE(tally.share(tally.slower), 0.90);
}

TEST(Goals, ThreePercent) {
  const Tally tally = simulation::run(13, 10, Design{}, 0.03, 0.01, simulation::graph_timer);
  EXPECT_EQ(tally.same, 0U);
  EXPECT_GE(tally.share(tally.slower), 0.93);
}

TEST(Goals, FivePercent) {
  const Tally tally = simulation::run(14, 10, Design{}, 0.05, 0.01, simulation::graph_timer);
  EXPECT_GE(tally.share(tally.slower), 0.99);
}

TEST(Goals, ASpeedupIsSeenAsWellAsASlowdown) {
  const Tally tally = simulation::run(15, 10, Design{}, 1 / 1.02 - 1, 0.01, simulation::graph_timer);
  EXPECT_EQ(tally.same, 0U);
  EXPECT_GE(tally.share(tally.faster), 0.90);
}

// False alarms where the noise is worse than the threshold, so that the statistics alone hold them back.

TEST(FalseAlarms, NoisyTables) {
  const auto noisy = [](Random&) { return Noise{0.002, 0.03}; };
  for (const std::size_t processes : {5U, 10U}) {
    Design design{.rows = 50, .processes = processes, .samples = 1};
    const Tally tally = simulation::run(21, 400, design, 0, 0.001, noisy, 0.05);
    // 20 of 400 are allowed; 34 would be three deviations more.
    EXPECT_LE(tally.tables_with_a_change, 34U) << processes;
  }
}

TEST(FalseAlarms, TheyDoHappenAsOftenAsAllowed) {
  // A test that could not see a false alarm would prove nothing: without a threshold, and with alike rows,
  // the share of tables must come near what alpha allows.
  const auto noisy = [](Random&) { return Noise{0, 0.03}; };
  Design design{.rows = 1, .processes = 10, .samples = 1};
  const Tally tally = simulation::run(22, 4000, design, 0, 1e-6, noisy, 0.05);
  EXPECT_GE(tally.tables_with_a_change, 120U);
  EXPECT_LE(tally.tables_with_a_change, 260U);
}

TEST(FalseAlarms, RowsOfVeryDifferentNoise) {
  const auto mixed = [](Random& random) {
    return Noise{0.002, std::exp(uniform(random, std::log(0.001), std::log(0.1)))};
  };
  for (const std::size_t processes : {2U, 3U, 5U, 10U}) {
    Design design{.rows = 50, .processes = processes, .samples = 1};
    EXPECT_LE(simulation::run(23, 200, design, 0, 0.01, mixed).tables_with_a_change, 7U) << processes;
  }
}

TEST(FalseAlarms, TwoModesAndHeavyTailsAreNotTakenForPrecision) {
  const auto modes = [](Random& random) {
    Noise noise = simulation::graph_timer(random);
    if (uniform(random, 0, 1) < 0.1) noise.mode_gap = 0.02;
    return noise;
  };
  const auto tails = [](Random& random) {
    Noise noise = simulation::graph_timer(random);
    noise.tail = 0.1;
    return noise;
  };
  for (const std::size_t processes : {3U, 4U, 10U}) {
    Design design{.rows = 100, .processes = processes, .samples = 5};
    EXPECT_LE(simulation::run(24, 100, design, 0, 0.01, modes).tables_with_a_change, 4U) << processes;
    EXPECT_LE(simulation::run(25, 100, design, 0, 0.01, tails).tables_with_a_change, 4U) << processes;
  }
}

TEST(FalseAlarms, AcrossSessionsOfMachinesThatDiffer) {
  // One row in five feels the machine by 1.1 %, the others hardly.
  const auto machines = [](Random& random) {
    Noise noise = simulation::graph_timer(random);
    noise.session = uniform(random, 0, 1) < 0.2 ? 0.011 : 0.001;
    return noise;
  };
  for (const std::size_t sessions : {1U, 2U, 3U, 5U}) {
    Design design{
        .rows = 100, .processes = 5, .samples = 3, .baseline_sessions = sessions, .across_sessions = true};
    EXPECT_LE(simulation::run(26, 60, design, 0, 0.01, machines).tables_with_a_change, 3U) << sessions;
    const Tally same = simulation::run(27, 20, design, 0, 0.05, machines);
    EXPECT_EQ(same.tables_with_a_change, 0U) << sessions;
    EXPECT_GE(same.share(same.same), 0.85) << sessions;
    // And the other direction: what is far beyond the threshold is seen.
    const Tally slower = simulation::run(28, 20, design, 0.10, 0.05, machines);
    EXPECT_EQ(slower.same, 0U) << sessions;
    EXPECT_GE(slower.share(slower.slower), 0.85) << sessions;
  }
}

TEST(FalseAlarms, AContenderOnANoisierMachine) {
  Random random(29);
  std::size_t alarms = 0;
  for (int table = 0; table < 200; ++table) {
    std::vector<RowSample> rows;
    for (int i = 0; i < 50; ++i) {
      RowSample& row = rows.emplace_back();
      const Design design{.processes = 10, .samples = 1};
      row.baseline = simulation::side(random, Noise{0, 0.006}, design, 1, 0);
      row.contender = simulation::side(random, Noise{0, 0.03}, design, 1, 0);
    }
    bool alarm = false;
    for (const RowInterval& row : judge_table(rows, 0.01, 0.01).rows) {
      const Call verdict = call(row.log_ratio, row.half_width, 0.01);
      alarm = alarm || verdict == Call::slower || verdict == Call::faster;
    }
    alarms += alarm ? 1 : 0;
  }
  EXPECT_LE(alarms, 7U);
}

TEST(Coverage, IntervalsHoldTheTruth) {
  // Each row's interval at 1 - alpha, whatever the change.
  for (const double slowdown : {0.0, 0.005, 0.05}) {
    Random random(31);
    std::size_t covered = 0;
    std::size_t rows = 0;
    for (int t = 0; t < 40; ++t) {
      const std::vector<RowSample> table =
          simulation::table(random, Design{}, slowdown, simulation::graph_timer);
      for (const RowInterval& row : judge_table(table, 0.01, 0.01).rows) {
        covered += std::abs(row.log_ratio - std::log1p(slowdown)) <= row.half_width ? 1 : 0;
        ++rows;
      }
    }
    EXPECT_GE(static_cast<double>(covered) / static_cast<double>(rows), 0.985) << slowdown;
  }
}

TEST(SmallestVisible, HalfOfSuchSlowdownsAreSeen) {
  Random random(32);
  const auto noise = [](Random&) { return Noise{0.002, 0.004}; };
  const std::vector<RowSample> table = simulation::table(random, Design{}, 0, noise);
  double visible = 0;
  for (const RowInterval& row : judge_table(table, 0.01, 0.01).rows) {
    visible += smallest_visible(row.half_width, 0.01) / static_cast<double>(table.size());
  }
  const Tally tally = simulation::run(33, 10, Design{}, visible, 0.01, noise);
  EXPECT_GE(tally.share(tally.slower), 0.40);
  EXPECT_LE(tally.share(tally.slower), 0.60);
}

}  // namespace
}  // namespace strictbench
