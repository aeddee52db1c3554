#include "bench/strictbench/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "bench/strictbench/nearest.h"

namespace strictbench::runner {
namespace {

ProcessRecord process(const std::string& operator_name, int round, ProcessStatus status, double seconds) {
  ProcessRecord record;
  record.operator_name = operator_name;
  record.process = round;
  record.status = status;
  record.seconds = seconds;
  record.cases = {"a", "b", "c", "d"};
  return record;
}

TEST(DeviceSlug, IsLowerCaseWithoutTheMaker) {
  EXPECT_EQ(device_slug("NVIDIA H200"), "h200");
  EXPECT_EQ(device_slug("NVIDIA H100 80GB HBM3"), "h100-80gb-hbm3");
  EXPECT_EQ(device_slug("NVIDIA GeForce RTX 4090"), "geforce-rtx-4090");
  EXPECT_EQ(device_slug(""), "cpu");
}

TEST(DeviceSlug, IsOneHarmlessPartOfAPath) {
  EXPECT_EQ(device_slug("NVIDIA A100/../../etc"), "a100-etc");
  EXPECT_EQ(device_slug("  NVIDIA\tGB200 "), "gb200");
}

TEST(FolderName, SaysWhenWhatAndWhere) {
  EXPECT_EQ(folder_name("20261129T101500Z", "5f47662a0123456789", false, "h200"),
            "20261129T101500Z_5f47662a01_h200");
  EXPECT_EQ(folder_name("20261129T101500Z", "5f47662a0123456789", true, "cpu"),
            "20261129T101500Z_5f47662a01-dirty_cpu");
  EXPECT_EQ(folder_name("20261129T101500Z", "", true, "cpu"), "20261129T101500Z_nocommit_cpu");
  EXPECT_EQ(folder_name("20261129T101500Z", "../up", false, "cpu"), "20261129T101500Z_nocommit_cpu");
}

TEST(Shuffled, IsAPermutationFixedByTheSeed) {
  std::vector<std::size_t> order = shuffled(6, 42, 0);
  // What a seed gives is a promise of run.json: it never changes.
  EXPECT_EQ(order, (std::vector<std::size_t>{4, 3, 0, 5, 1, 2}));
  std::ranges::sort(order);
  EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_TRUE(shuffled(0, 42, 0).empty());
}

TEST(Shuffled, MixesRoundsAndSeeds) {
  std::set<std::vector<std::size_t>> by_round;
  std::set<std::vector<std::size_t>> by_seed;
  for (int i = 0; i < 20; ++i) {
    by_round.insert(shuffled(8, 42, i));
    by_seed.insert(shuffled(8, static_cast<std::uint64_t>(i) << 32, 0));
  }
  EXPECT_EQ(by_round.size(), 20u);
  EXPECT_EQ(by_seed.size(), 20u);
}

TEST(Shuffled, EveryOrderOfThreeIsAsLikely) {
  std::map<std::vector<std::size_t>, int> counts;
  for (int round = 0; round < 6000; ++round) ++counts[shuffled(3, 7, round)];
  ASSERT_EQ(counts.size(), 6u);
  for (const auto& [order, count] : counts) EXPECT_NEAR(count, 1000, 150);  // five standard deviations
}

TEST(RoundFits, TheFirstAlwaysDoes) {
  EXPECT_TRUE(round_fits({process("a", 0, ProcessStatus::pending, 0)}, 0, 1e-9));
}

TEST(RoundFits, IsJudgedByTheRoundsBefore) {
  const std::vector<ProcessRecord> one{process("a", 0, ProcessStatus::ok, 30),
                                       process("b", 0, ProcessStatus::timed_out, 20)};
  EXPECT_TRUE(round_fits(one, 1, 100));
  EXPECT_FALSE(round_fits(one, 1, 99));
}

TEST(RoundFits, TheFirstRoundSaysLittleOnceThereIsASecond) {
  // Round 0 took 50 s, since it computed the oracle's results; the others take 10 and 12.
  std::vector<ProcessRecord> rounds{process("a", 0, ProcessStatus::ok, 50),
                                    process("a", 1, ProcessStatus::ok, 10)};
  EXPECT_TRUE(round_fits(rounds, 2, 70));
  EXPECT_FALSE(round_fits(rounds, 2, 69));
  rounds.push_back(process("a", 2, ProcessStatus::ok, 12));
  EXPECT_TRUE(round_fits(rounds, 3, 84));
  EXPECT_FALSE(round_fits(rounds, 3, 83));
}

TEST(RoundFits, FewerCasesTakeLessButNotByAllOfThem) {
  std::vector<ProcessRecord> rounds{process("a", 0, ProcessStatus::ok, 50),
                                    process("a", 1, ProcessStatus::ok, 20),
                                    process("a", 2, ProcessStatus::pending, 0)};
  rounds.back().cases = {"a"};  // one of four: 20 s x (1 + 1/4) / 2
  EXPECT_TRUE(round_fits(rounds, 2, 82.5));
  EXPECT_FALSE(round_fits(rounds, 2, 82.4));
}

TEST(RoundBegun, OnlyPendingProcessesCountAsNotBegun) {
  const std::vector<ProcessRecord> processes{
      process("a", 0, ProcessStatus::ok, 1), process("b", 0, ProcessStatus::pending, 0),
      process("a", 1, ProcessStatus::running, 0), process("a", 2, ProcessStatus::pending, 0)};
  EXPECT_TRUE(round_begun(processes, 0));
  EXPECT_TRUE(round_begun(processes, 1));
  EXPECT_FALSE(round_begun(processes, 2));
}

TEST(Forecast, KnowsNothingBeforeTheFirstCase) {
  const std::vector<ProcessRecord> processes{process("a", 0, ProcessStatus::running, 0)};
  const Forecast ahead = forecast(processes, processes[0], 3, 0);
  EXPECT_EQ(ahead.cases_left, 4u);
  EXPECT_LT(ahead.seconds_left, 0);
}

TEST(Forecast, JudgesAnOperatorByItselfAndElseByTheCasesDone) {
  const std::vector<ProcessRecord> processes{
      process("a", 0, ProcessStatus::ok, 8), process("b", 0, ProcessStatus::running, 0),
      process("a", 1, ProcessStatus::pending, 0), process("b", 1, ProcessStatus::pending, 0)};
  // 8 s for four cases of a, 1 s for the first of b: 1.8 s a case.
  const Forecast ahead = forecast(processes, processes[1], 1, 1);
  EXPECT_EQ(ahead.cases_left, 3u + 4u + 4u);
  EXPECT_NEAR(ahead.seconds_left, 3 * 1.8 + 8 + 4 * 1.8, 1e-9);
}

TEST(DurationText, ReadsAtAGlance) {
  EXPECT_EQ(duration_text(0.44), "0.4 s");
  EXPECT_EQ(duration_text(9.96), "10 s");
  EXPECT_EQ(duration_text(59.4), "59 s");
  EXPECT_EQ(duration_text(59.6), "1 min 00 s");
  EXPECT_EQ(duration_text(192), "3 min 12 s");
  EXPECT_EQ(duration_text(7500), "2 h 05 min");
}

TEST(ShellWord, QuotesWhatAShellWouldRead) {
  EXPECT_EQ(shell_word("results/20261129T101500Z_nocommit_h200"), "results/20261129T101500Z_nocommit_h200");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("it's $HOME"), "'it'\\''s $HOME'");
  EXPECT_EQ(shell_word(""), "''");
}

TEST(Nearest, FindsAPatternAnywhereInAName) {
  EXPECT_EQ(distance_within("new", "row_fold/new/rows:64"), 0);
  EXPECT_EQ(distance_within("nwe", "row_fold/new/rows:64"), 1);
  EXPECT_EQ(distance_within("abc", ""), 3);
  EXPECT_EQ(nearest_name("row_flod/new", {"dw_gemm/new", "row_fold/legacy", "row_fold/new"}), "row_fold/new");
  EXPECT_EQ(nearest_name("zzzzzz", {"dw_gemm/new", "row_fold/legacy"}), "");
}

}  // namespace
}  // namespace strictbench::runner
