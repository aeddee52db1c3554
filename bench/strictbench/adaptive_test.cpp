#include "bench/strictbench/adaptive.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "bench/strictbench/runner.h"

namespace strictbench::runner {
namespace {

const RunOptions five_to_twenty = [] {
  RunOptions options;
  options.processes = 5;
  options.most_processes = 20;
  return options;
}();

std::vector<ProcessRecord> rounds(int count, const std::vector<std::string>& cases) {
  std::vector<ProcessRecord> processes;
  for (int round = 0; round < count; ++round) {
    ProcessRecord& process = processes.emplace_back();
    process.operator_name = "op";
    process.process = round;
    process.status = ProcessStatus::ok;
    process.cases = cases;
  }
  return processes;
}

std::set<std::string> open_of(const std::vector<ProcessRecord>& processes,
                              const std::map<std::string, double>& widths) {
  return open_cases(evidence_of(processes, widths, five_to_twenty), processes, five_to_twenty);
}

TEST(Narrow, IsHalfOfOnePercent) { EXPECT_NEAR(narrow_half_width(), 0.004975, 1e-6); }

TEST(OpenCases, NarrowOnesStopAndWideOnesGoOn) {
  const auto processes = rounds(5, {"narrow", "limit", "wide"});
  EXPECT_EQ(open_of(processes, {{"narrow", 0.001}, {"limit", narrow_half_width()}, {"wide", 0.005}}),
            (std::set<std::string>{"wide"}));
}

TEST(OpenCases, TheVariantsOfAShapeStayTogether) {
  const auto processes = rounds(5, {"op/legacy/n:1/timer:graph", "op/new/n:1/timer:graph",
                                    "op/legacy/n:1/timer:wall", "op/new/n:2/timer:graph"});
  EXPECT_EQ(open_of(processes, {{"op/legacy/n:1/timer:graph", 0.001},
                                {"op/new/n:1/timer:graph", 0.01},
                                {"op/legacy/n:1/timer:wall", 0.001},
                                {"op/new/n:2/timer:graph", 0.001}}),
            (std::set<std::string>{"op/legacy/n:1/timer:graph", "op/new/n:1/timer:graph"}));
  EXPECT_EQ(without_variant("op/new/n:1/timer:graph"), "op/n:1/timer:graph");
  EXPECT_EQ(without_variant("BM_a"), "BM_a");
}

TEST(OpenCases, NothingIsNarrowBeforeTheLeastNumberOfProcesses) {
  EXPECT_EQ(open_of(rounds(4, {"a"}), {{"a", 0.0001}}), (std::set<std::string>{"a"}));
  EXPECT_TRUE(open_of(rounds(5, {"a"}), {{"a", 0.0001}}).empty());
}

TEST(OpenCases, NothingIsOpenAfterTheMost) {
  EXPECT_EQ(open_of(rounds(19, {"a"}), {{"a", 0.1}}), (std::set<std::string>{"a"}));
  EXPECT_TRUE(open_of(rounds(20, {"a"}), {{"a", 0.1}}).empty());
}

TEST(OpenCases, WithoutANumberACaseIsWideUnlessItIsInTrouble) {
  auto processes = rounds(5, {"suspect", "not a number", "skipped", "failed", "wrong"});
  processes[2].problems = {{"skipped", CaseState::skipped, ""},
                           {"failed", CaseState::failed, ""},
                           {"wrong", CaseState::wrong, ""}};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(open_of(processes, {{"not a number", nan}, {"failed", 0.5}, {"wrong", 0.001}}),
            (std::set<std::string>{"suspect", "not a number"}));
}

TEST(Evidence, CountsTheStoppedAndSortsTheWide) {
  auto processes = rounds(5, {"a", "b", "c", "d"});
  for (int round = 5; round < 20; ++round) {
    processes.push_back(rounds(1, {"b", "c", "d"})[0]);
    processes.back().process = round;
  }
  const EvidenceRecord evidence =
      evidence_of(processes, {{"a", 0.001}, {"b", 0.02}, {"c", 0.03}, {"d", 0.002}}, five_to_twenty);
  EXPECT_EQ(evidence.stopped_early, 1u);  // d is narrow at last, and has had all twenty
  ASSERT_EQ(evidence.wide.size(), 2u);
  EXPECT_EQ(evidence.wide[0].name, "c");
  EXPECT_EQ(evidence.wide[1].name, "b");
}

TEST(ProcessesOfCases, CountsWhatEnded) {
  auto processes = rounds(4, {"a"});
  processes[1].status = ProcessStatus::crashed;
  processes[2].status = ProcessStatus::pending;
  processes[3].status = ProcessStatus::running;
  EXPECT_EQ(processes_of_cases(processes), (std::map<std::string, int>{{"a", 2}}));
}

TEST(Starts, OneArmFollowsTheShuffle) {
  // The order of shuffled(6, 42, 0), which run.json's seed promises.
  std::vector<std::size_t> order;
  for (const Start& start : starts_of_round(6, 1, 42, 0)) order.push_back(start.operator_index);
  EXPECT_EQ(order, (std::vector<std::size_t>{4, 3, 0, 5, 1, 2}));
}

TEST(Starts, TwoArmsOfAnOperatorFollowEachOtherAndTakeTurns) {
  constexpr std::size_t operators = 5;
  std::map<std::size_t, int> first;  // by operator: how often arm 0 was first
  int drawn_first = 0;
  for (int round = 0; round < 40; ++round) {
    const std::vector<Start> starts = starts_of_round(operators, 2, 7, round);
    ASSERT_EQ(starts.size(), 2 * operators);
    for (std::size_t i = 0; i < starts.size(); i += 2) {
      EXPECT_EQ(starts[i].operator_index, starts[i + 1].operator_index);
      EXPECT_EQ(starts[i].arm + starts[i + 1].arm, 1u);
      first[starts[i].operator_index] += starts[i].arm == 0 ? 1 : 0;
      if (round % 2 == 0) drawn_first += starts[i].arm == 0 ? 1 : 0;
    }
    if (round % 2 == 0) continue;
    for (const auto& [index, count] : first) EXPECT_EQ(count, (round + 1) / 2) << index;
  }
  // 100 draws: a fixed order would give 0 or 100.
  EXPECT_NEAR(drawn_first, 50, 25);
  EXPECT_EQ(starts_of_round(operators, 2, 7, 3), starts_of_round(operators, 2, 7, 3));
}

TEST(Looks, AreFewAndFarApart) {
  EXPECT_EQ(looks_between(5, 20), (std::vector<int>{5, 7, 9, 12, 16, 20}));
  EXPECT_EQ(looks_between(5, 5), (std::vector<int>{5}));
  EXPECT_EQ(looks_between(1, 3), (std::vector<int>{1, 2, 3}));
}

TEST(PlanRound, EachArmMeasuresWhatItHasAndIsOpen) {
  RunRecord base;
  base.executables["both"].cases = {"both/a", "both/b"};
  base.executables["old"].cases = {"old/a"};
  RunRecord head;
  head.executables["both"].cases = {"both/b", "both/c"};
  const std::set<std::string> open{"both/b", "old/a"};
  const std::vector<Planned> planned = plan_round({&base, &head}, 3, &open);
  ASSERT_EQ(planned.size(), 3u);
  ASSERT_EQ(base.processes.size(), 2u);
  ASSERT_EQ(head.processes.size(), 1u);
  EXPECT_EQ(head.processes[0].cases, (std::vector<std::string>{"both/b"}));
  EXPECT_EQ(head.processes[0].file, "both.3.json");
  plan_round({&base, &head}, 4, nullptr);
  EXPECT_EQ(head.processes[1].cases, (std::vector<std::string>{"both/b", "both/c"}));
  const std::set<std::string> none;
  EXPECT_TRUE(plan_round({&base, &head}, 5, &none).empty());
}

}  // namespace
}  // namespace strictbench::runner
