#include "report/results.h"

#include <gtest/gtest.h>

#include "report/testing.h"

namespace strictbench {
namespace {

using testing::error_row;
using testing::file_of;
using testing::holds;
using testing::Json;
using testing::row;
using testing::side_of;
using testing::skipped_row;

TEST(Results, RowsOfAFileAreOneProcess) {
  const Side side =
      side_of({file_of({row("a", 3), row("b", 1), row("a", 1), row("a", 2)}), file_of({row("a", 9)})});
  EXPECT_EQ(side.rows_read, 5U);
  const Evidence& a = *side.find("a");
  ASSERT_EQ(a.processes.size(), 2U);
  EXPECT_EQ(a.processes[0].value(), 2);
  EXPECT_EQ(a.processes[1].value(), 9);
  EXPECT_EQ(side.find("c"), nullptr);
}

TEST(Results, ProcessAndSessionNumbersDivideAFile) {
  const auto numbered = [](double time, double process, double session) {
    return row("a", time, {{"process", process}, {"session", session}, {"samples", 20}});
  };
  const Side side =
      side_of({file_of({numbered(1, 0, 1), numbered(2, 1, 1), numbered(3, 0, 2), numbered(5, 0, 1)},
                       {{"session.1.boot_id", "x"}, {"session.2.boot_id", "y"}})});
  const Evidence& a = *side.find("a");
  ASSERT_EQ(a.processes.size(), 3U);
  EXPECT_EQ(a.processes[0].value(), 3);
  EXPECT_EQ(a.processes[0].recorded_samples, 40U);
  ASSERT_EQ(side.sessions.size(), 2U);
  EXPECT_EQ(side.sessions[a.processes[0].session].boot_id, "x");
  EXPECT_EQ(side.sessions[a.processes[2].session].boot_id, "y");
}

TEST(Results, NumberedSessionsAreNotOneBecauseTheFileNamesOneBoot) {
  const auto numbered = [](double session) { return row("a", 1, {{"session", session}}); };
  EXPECT_EQ(side_of({file_of({numbered(1), numbered(2)}, {{"boot_id", "x"}})}).sessions.size(), 2U);
  const Side one = side_of({file_of({numbered(1), numbered(1)}, {{"boot_id", "x"}})});
  ASSERT_EQ(one.sessions.size(), 1U);
  EXPECT_EQ(one.sessions[0].boot_id, "x");
}

TEST(Results, HugeProcessAndSessionNumbers) {
  std::vector<Json> rows;
  for (const double number : {1e300, -5.0, 1e18, 1e300}) {
    rows.push_back(row("a", 1, {{"process", number}, {"session", number}}));
  }
  const Side side = side_of({file_of(rows)});
  EXPECT_EQ(side.find("a")->processes.size(), 3U);
  EXPECT_EQ(side.sessions.size(), 3U);
}

TEST(Results, FilesOfOneBootAndGpuAreOneSession) {
  const Side side = side_of({file_of({row("a", 1)}, {{"boot_id", "x"}, {"gpu_uuid", "g"}}),
                             file_of({row("a", 1)}, {{"boot_id", "x"}, {"gpu_uuid", "g"}}),
                             file_of({row("a", 1)}, {{"boot_id", "x"}, {"gpu_uuid", "h"}}),
                             file_of({row("a", 1)}), file_of({row("a", 1)})});
  EXPECT_EQ(side.sessions.size(), 3U);
  EXPECT_EQ(side.find("a")->processes[0].session, side.find("a")->processes[1].session);
  EXPECT_EQ(side.find("a")->processes[3].session, side.find("a")->processes[4].session);
}

TEST(Results, UnitsBecomeNanoseconds) {
  const Side side =
      side_of({file_of({row("a", 2, {{"time_unit", "us"}}), row("b", 2, {{"time_unit", "ms"}}),
                        row("c", 2, {{"time_unit", "s"}}), row("d", 2, {{"time_unit", "ticks"}}), row("e", 2),
                        row("e", 2, {{"time_unit", "ticks"}})})});
  EXPECT_EQ(side.find("a")->processes[0].value(), 2e3);
  EXPECT_EQ(side.find("b")->processes[0].value(), 2e6);
  EXPECT_EQ(side.find("c")->processes[0].value(), 2e9);
  EXPECT_EQ(side.find("d")->unit, Unit::unknown);
  EXPECT_TRUE(side.find("e")->units_differ);
}

TEST(Results, AnAggregateOfWhatFailedIsNoNumber) {
  const auto aggregate = [](const char* kind, const Json& more) {
    Json one = row(std::string("a_") + kind, 61, more);
    one["run_type"] = "aggregate";
    one["run_name"] = "a";
    one["aggregate_name"] = kind;
    return one;
  };
  for (const Json& more :
       {Json{{"error_occurred", true}, {"error_message", "bits"}}, Json{{"skipped", true}}}) {
    const Side side = side_of({file_of({aggregate("mean", more), aggregate("median", more)})});
    EXPECT_FALSE(side.find("a")->has_number()) << more;
    ASSERT_NE(side.find("a")->troubles, nullptr) << more;
    EXPECT_EQ(side.find("a")->troubles->failed + side.find("a")->troubles->skipped, 2U) << more;
    EXPECT_EQ(side.summaries, 0U) << more;  // each row is counted once
  }
  EXPECT_TRUE(side_of({file_of({aggregate("median", Json::object())})}).find("a")->has_number());
}

TEST(Results, TimesShorterThanAnyClockAreNone) {
  for (const double ns : {5e-324, 9e-4}) {
    const Side side = side_of({file_of({row("a", ns)})});
    EXPECT_FALSE(side.find("a")->has_number()) << ns;
    EXPECT_TRUE(holds(side.find("a")->troubles->failed_message, "out of range")) << ns;
  }
  EXPECT_TRUE(side_of({file_of({row("a", 1e-3), row("b", 1e18)})}).find("a")->has_number());
  EXPECT_FALSE(side_of({file_of({row("a", 1.1e18)})}).find("a")->has_number());
}

TEST(Results, AnUnknownUnitIsNoTime) {
  const Side side = side_of({file_of({row("a", 2, {{"time_unit", "fortnight"}}), row("b", 2),
                                      row("b", 2, {{"time_unit", "fortnight"}}), row("c", 2)})});
  EXPECT_TRUE(holds(side.find("a")->no_times(), "\"fortnight\""));
  EXPECT_TRUE(holds(side.find("b")->no_times(), "differ"));
  EXPECT_EQ(side.find("c")->no_times(), "");
}

TEST(Results, NumbersThatAreNoTimes) {
  for (const double bad : {0.0, -1.0, 1.7e308 /* seconds: beyond a double in nanoseconds */}) {
    const Side side = side_of({file_of({row("a", bad, {{"time_unit", "s"}}), row("a", 1)})});
    ASSERT_NE(side.find("a")->troubles, nullptr) << bad;
    EXPECT_EQ(side.find("a")->troubles->failed, 1U) << bad;
    EXPECT_EQ(side.find("a")->processes[0].samples.size(), 1U) << bad;
  }
  const Side side = side_of({file_of({row("a", 1)})}, "items_per_second");
  EXPECT_EQ(side.find("a")->troubles->failed_message, "items_per_second is absent");
}

TEST(Results, ErrorsAreToldApart) {
  const Side side = side_of({file_of({error_row("w", "check failed: 3 of 9"), error_row("e", "out of memory"),
                                      error_row("s", "skipped: needs 3 GB"), skipped_row("t", "needs 3 GB"),
                                      row("c/timer:cpu", 5, {{"check", 0}}), row("c", 5, {{"check", 0}})})});
  EXPECT_EQ(side.find("w")->troubles->wrong, 1U);
  EXPECT_EQ(side.find("w")->troubles->wrong_message, "check failed: 3 of 9");
  EXPECT_EQ(side.find("e")->troubles->failed, 1U);
  EXPECT_EQ(side.find("s")->troubles->skipped, 1U);
  EXPECT_EQ(side.find("t")->troubles->skipped, 1U);
  EXPECT_EQ(side.find("c/timer:cpu")->troubles->wrong, 1U);
  EXPECT_EQ(side.find("c")->troubles, nullptr);  // some other project's counter
  for (const Evidence& evidence : side.benchmarks) EXPECT_EQ(evidence.has_number(), evidence.name == "c");
}

TEST(Results, SuspectRowsAreLeftOut) {
  const Side side = side_of({file_of({row("a", 9, {{"suspect", 1}}), row("a", 1, {{"suspect", 0}})})});
  EXPECT_EQ(side.find("a")->processes[0].value(), 1);
  EXPECT_EQ(side.find("a")->suspect_rows(), 1U);
  EXPECT_EQ(side.suspect, 1U);
}

Json summary(const std::string& name, const std::string& kind, double time) {
  return row(name + "_" + kind, time,
             {{"run_name", name}, {"run_type", "aggregate"}, {"aggregate_name", kind}});
}

TEST(Results, SummariesCountOnlyWhereTheyStandAlone) {
  const Side alone =
      side_of({file_of({summary("a", "mean", 7), summary("a", "median", 5), summary("a", "stddev", 1),
                        summary("b", "mean", 7), summary("c", "stddev", 7)})});
  EXPECT_EQ(alone.find("a")->processes[0].value(), 5);
  EXPECT_EQ(alone.find("b")->processes[0].value(), 7);
  EXPECT_EQ(alone.find("c"), nullptr);
  EXPECT_EQ(alone.summaries, 5U);
  const Side beside = side_of({file_of({row("a", 1), row("a", 3), summary("a", "median", 50)})});
  EXPECT_EQ(beside.find("a")->processes[0].value(), 2);
}

TEST(Results, SummariesOfSuspectRowsAreSuspect) {
  const Side beside = side_of({file_of({row("a", 1, {{"suspect", 1}}), row("a", 3, {{"suspect", 1}}),
                                        summary("a", "mean", 2), summary("a", "median", 2)})});
  EXPECT_FALSE(beside.find("a")->has_number());
  EXPECT_EQ(beside.find("a")->suspect_rows(), 2U);
  Json mean = summary("a", "mean", 2);
  mean["suspect"] = 0.4;  // of its rows
  const Side alone = side_of({file_of({mean, summary("a", "median", 2), summary("b", "mean", 2)})});
  EXPECT_FALSE(alone.find("a")->has_number());
  EXPECT_EQ(alone.find("a")->suspect_rows(), 1U);
  EXPECT_EQ(alone.suspect, 1U);
  EXPECT_EQ(alone.summaries, 2U);
  EXPECT_EQ(alone.find("b")->processes[0].value(), 2);
  mean["suspect"] = 0;
  EXPECT_TRUE(side_of({file_of({mean})}).find("a")->has_number());
}

Json old_row(const std::string& name, double time) {
  return {{"name", name}, {"iterations", 10}, {"real_time", time}, {"cpu_time", time}, {"time_unit", "ns"}};
}

TEST(Results, OldFilesWithoutRunType) {
  const Side side = side_of({file_of({old_row("a", 1),
                                      old_row("a", 3),
                                      old_row("a_mean", 2),
                                      old_row("a_stddev", 1),
                                      old_row("arithmetic_mean", 7),
                                      old_row("b_mean", 5),
                                      old_row("b_stddev", 1),
                                      {{"name", "a_BigO"}, {"cpu_coefficient", 1}, {"big_o", "N"}},
                                      {{"name", "a_RMS"}, {"rms", 0.1}}})});
  EXPECT_EQ(side.find("a")->processes[0].value(), 2);
  EXPECT_EQ(side.find("a_mean"), nullptr);
  EXPECT_EQ(side.find("a_BigO"), nullptr);
  EXPECT_EQ(side.find("b")->processes[0].value(), 5);
  EXPECT_EQ(side.find("arithmetic_mean")->processes[0].value(), 7);
  EXPECT_EQ(side.rows_read, 9U);
  EXPECT_EQ(side.summaries, 6U);
}

TEST(Side, KeepsWhatIsWanted) {
  Side side = side_of({file_of({row("a/timer:graph", 1), row("a/timer:wall", 1), row("b/timer:graph", 1)})});
  side.keep([](const std::string& name) { return name.ends_with("graph"); });
  ASSERT_EQ(side.benchmarks.size(), 2u);
  EXPECT_EQ(side.find("a/timer:wall"), nullptr);
  EXPECT_EQ(side.find("b/timer:graph"), &side.benchmarks[1]);
}

TEST(TimerOf, IsTheLastPartOfOurNames) {
  EXPECT_EQ(timer_of("op/new/rows:1/timer:graph"), "graph");
  EXPECT_EQ(timer_of("op/new/timer:wall/manual_time"), "wall");
  EXPECT_EQ(timer_of("BM_a"), "");
}

}  // namespace
}  // namespace strictbench
