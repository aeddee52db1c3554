#include "report/compare.h"

#include <gtest/gtest.h>

#include <cmath>

#include "report/environment.h"
#include "report/testing.h"

namespace strictbench {
namespace {

using testing::compare_files;
using testing::compare_rows;
using testing::error_row;
using testing::file_of;
using testing::Files;
using testing::holds;
using testing::Json;
using testing::row;
using testing::skipped_row;
using testing::usage_error_of;

/// Processes of one row that agree to 0.1 %.
Files quiet(const std::string& name, double time, const Json& context = Json::object(), int processes = 8) {
  Files files;
  for (int i = 0; i < processes; ++i)
    files.push_back(file_of({row(name, time * (1 + 0.0005 * (i % 3)))}, context));
  return files;
}

Verdict verdict_of(const Comparison& comparison, const std::string& name) {
  for (const ComparedRow& row : comparison.rows) {
    if (row.name == name) return row.verdict;
  }
  ADD_FAILURE() << "no row " << name;
  return Verdict::same;
}

TEST(Compare, FourVerdictsOfNumbers) {
  EXPECT_EQ(compare_files(quiet("a", 100), quiet("a", 103)).rows.at(0).verdict, Verdict::slower);
  EXPECT_EQ(compare_files(quiet("a", 103), quiet("a", 100)).rows.at(0).verdict, Verdict::faster);
  EXPECT_EQ(compare_files(quiet("a", 100), quiet("a", 100.1)).rows.at(0).verdict, Verdict::same);
  EXPECT_EQ(compare_files(quiet("a", 100), quiet("a", 101)).rows.at(0).verdict, Verdict::inconclusive);
}

TEST(Compare, WhatStandsOnOneSide) {
  const Comparison comparison =
      compare_rows({row("gone", 1), row("both", 1)}, {row("fresh", 1), row("both", 1)});
  EXPECT_EQ(verdict_of(comparison, "gone"), Verdict::missing);
  EXPECT_EQ(verdict_of(comparison, "fresh"), Verdict::added);
  EXPECT_EQ(comparison.rows.size(), 3U);
  EXPECT_EQ(comparison.exit_code(), 1);
  EXPECT_TRUE(std::isnan(comparison.rows[0].ratio));
}

TEST(Compare, GoogleBenchmarksOwnSuffixIsNoPartOfOurNames) {
  const Comparison comparison = compare_rows(
      {row("op/new/timer:wall", 1), row("op/old/timer:wall/manual_time", 1), row("BM_a/manual_time", 1)},
      {row("op/new/timer:wall/manual_time", 3), row("op/old/timer:wall", 3), row("BM_a", 3)});
  ASSERT_EQ(comparison.rows.size(), 4U);
  EXPECT_EQ(verdict_of(comparison, "op/new/timer:wall"), Verdict::slower);
  EXPECT_EQ(verdict_of(comparison, "op/old/timer:wall/manual_time"), Verdict::slower);
  EXPECT_EQ(verdict_of(comparison, "BM_a/manual_time"), Verdict::missing);
  EXPECT_EQ(verdict_of(comparison, "BM_a"), Verdict::added);
}

TEST(Compare, RowsWithoutANumber) {
  const auto against_number = [](const Json& contender) {
    return compare_rows({row("a", 1)}, {contender}).rows.at(0);
  };
  EXPECT_EQ(against_number(error_row("a", "out of memory")).verdict, Verdict::failed);
  EXPECT_EQ(against_number(error_row("a", "check failed: x")).verdict, Verdict::wrong);
  EXPECT_EQ(against_number(skipped_row("a", "too large")).verdict, Verdict::failed);
  EXPECT_EQ(against_number(error_row("a", "skipped: too large")).verdict, Verdict::failed);
  EXPECT_EQ(against_number(row("a", 0)).verdict, Verdict::failed);
  EXPECT_EQ(against_number(row("a", -3)).verdict, Verdict::failed);
  const auto against_nothing = [](const Json& baseline, const Json& contender) {
    return compare_rows({baseline, row("other", 1)}, {contender, row("other", 1)});
  };
  EXPECT_EQ(verdict_of(against_nothing(skipped_row("a", "x"), skipped_row("a", "x")), "a"), Verdict::skipped);
  EXPECT_EQ(verdict_of(against_nothing(error_row("a", "x"), skipped_row("a", "x")), "a"), Verdict::skipped);
  EXPECT_EQ(verdict_of(against_nothing(error_row("a", "x"), error_row("a", "x")), "a"), Verdict::failed);
  const Comparison fresh = against_nothing(error_row("a", "boom"), row("a", 1));
  EXPECT_EQ(verdict_of(fresh, "a"), Verdict::added);
  ASSERT_FALSE(fresh.notes.empty());
  EXPECT_TRUE(holds(fresh.notes.at(1), "first a (boom)")) << fresh.notes.at(1);
}

TEST(Compare, OneBadProcessSpoilsTheRow) {
  Files contender = quiet("a", 100);
  contender[3] = file_of({error_row("a", "check failed: 1 of 9")});
  const ComparedRow wrong = compare_files(quiet("a", 100), contender).rows.at(0);
  EXPECT_EQ(wrong.verdict, Verdict::wrong);
  EXPECT_TRUE(std::isnan(wrong.contender.median));  // no time of a wrong result is shown
  contender[3] = file_of({skipped_row("a", "no memory")});
  EXPECT_EQ(compare_files(quiet("a", 100), contender).rows.at(0).verdict, Verdict::failed);
}

TEST(Compare, ABaselineThatWasWrongIsNoBaseline) {
  Files baseline = quiet("a", 100);
  baseline[3] = file_of({error_row("a", "check failed: 1 of 9")});
  const Comparison comparison = compare_files(baseline, quiet("a", 100));
  EXPECT_EQ(comparison.rows.at(0).verdict, Verdict::added);
  EXPECT_TRUE(std::isnan(comparison.rows.at(0).baseline.median));
}

TEST(Compare, ExitCodes) {
  EXPECT_EQ(compare_files(quiet("a", 100), quiet("a", 100)).exit_code(), 0);
  EXPECT_EQ(compare_files(quiet("a", 100), quiet("a", 100)).verdict(), "pass");
  EXPECT_EQ(compare_rows({row("a", 1)}, {row("a", 1)}).exit_code(), 3);
  EXPECT_EQ(compare_rows({row("a", 1)}, {row("a", 1)}).verdict(), "undecided");
  const Comparison both = compare_rows({row("a", 1), row("b", 1)}, {row("a", 1), row("b", 9)});
  EXPECT_EQ(both.exit_code(), 1);
  EXPECT_EQ(both.verdict(), "regressed");
}

TEST(Compare, RatesAreTurnedOver) {
  CompareOptions options;
  options.metric = "bytes_per_second";
  const Comparison comparison = compare_rows({row("a", 1, {{"bytes_per_second", 2e9}})},
                                             {row("a", 1, {{"bytes_per_second", 1e9}})}, options);
  EXPECT_EQ(comparison.rows.at(0).verdict, Verdict::slower);
  EXPECT_NEAR(comparison.rows.at(0).ratio, 2, 1e-12);
  EXPECT_EQ(comparison.rows.at(0).unit_name, "/s");
  EXPECT_EQ(comparison.rows.at(0).baseline.median, 2e9);
}

TEST(Compare, AMetricThatNoRowHas) {
  CompareOptions options;
  options.metric = "no_such";
  EXPECT_TRUE(holds(usage_error_of([&] { compare_rows({row("a", 1)}, {row("a", 1)}, options); }),
                    "--metric no_such"));
}

TEST(Compare, OtherMachines) {
  const Json h100{{"gpu_name", "NVIDIA H100"}};
  const Json h200{{"gpu_name", "NVIDIA H200"}};
  const Comparison refused = compare_files(quiet("a", 100, h100), quiet("a", 300, h200));
  EXPECT_EQ(refused.rows.at(0).verdict, Verdict::incomparable);
  EXPECT_TRUE(std::isnan(refused.rows.at(0).ratio));
  EXPECT_TRUE(holds(refused.rows.at(0).reason, "NVIDIA H100")) << refused.rows.at(0).reason;
  EXPECT_EQ(refused.exit_code(), 3);
  CompareOptions options;
  options.cross_machine = true;
  const Comparison shown = compare_files(quiet("a", 100, h100), quiet("a", 300, h200), options);
  EXPECT_EQ(shown.rows.at(0).verdict, Verdict::inconclusive);
  EXPECT_NEAR(shown.rows.at(0).ratio, 3, 0.001);
  EXPECT_TRUE(std::isnan(shown.rows.at(0).smallest_visible));
  // A row of a GPU against one of a CPU.
  EXPECT_EQ(compare_files(quiet("a", 100), quiet("a", 300, h200)).rows.at(0).verdict, Verdict::incomparable);
}

TEST(Compare, TheHostMattersWhereItIsTimed) {
  const auto verdict = [](const std::string& name, const Json& before, const Json& after) {
    return compare_files(quiet(name, 100, before), quiet(name, 100, after)).rows.at(0).verdict;
  };
  const Json a{{"gpu_name", "G"}, {"host_name", "a"}};
  const Json b{{"gpu_name", "G"}, {"host_name", "b"}};
  EXPECT_EQ(verdict("op/new/timer:graph", a, b), Verdict::same);
  EXPECT_EQ(verdict("op/new/timer:wall", a, b), Verdict::incomparable);
  EXPECT_EQ(verdict("op/new/timer:cpu", a, b), Verdict::incomparable);
  EXPECT_EQ(verdict("BM_a", {{"host_name", "a"}}, {{"host_name", "b"}}), Verdict::incomparable);
  EXPECT_EQ(verdict("BM_a", {{"cpu_model", "a"}}, {{"cpu_model", "b"}}), Verdict::incomparable);
}

TEST(Compare, BuildTypes) {
  const auto verdict = [](const Json& before, const Json& after) {
    return compare_files(quiet("a", 100, before), quiet("a", 100, after)).rows.at(0).verdict;
  };
  EXPECT_EQ(verdict({{"library_build_type", "debug"}}, {{"library_build_type", "release"}}),
            Verdict::incomparable);
  EXPECT_EQ(
      verdict({{"library_build_type", "debug"}, {"build_type", "release"}}, {{"build_type", "release"}}),
      Verdict::same);
  EXPECT_EQ(verdict({{"build_type", "debug"}}, {{"build_type", "release"}}), Verdict::incomparable);
}

TEST(Compare, UnitsThatAreNotKnownStayIncomparable) {
  CompareOptions options;
  options.cross_machine = true;
  const Json good = row("a", 1000);
  for (const Json& unit : {Json("ticks"), Json(""), Json("US"), Json(" us"), Json(nullptr), Json(1),
                           Json::array({"us"}), Json{{"unit", "us"}}}) {
    const Json bad = row("a", 1, {{"time_unit", unit}});
    for (const auto& [before, after] : {std::pair{good, bad}, std::pair{bad, good}, std::pair{bad, bad}}) {
      const Comparison comparison = compare_rows({before}, {after}, options);
      EXPECT_EQ(comparison.rows.at(0).verdict, Verdict::incomparable) << unit;
      EXPECT_TRUE(holds(comparison.rows.at(0).reason, "its time_unit is \"")) << comparison.rows.at(0).reason;
      EXPECT_EQ(comparison.exit_code(), 3) << unit;
      // No number is shown by the unit of another.
      EXPECT_EQ(std::isnan(comparison.rows.at(0).baseline.median), before == bad);
      EXPECT_EQ(std::isnan(comparison.rows.at(0).contender.median), after == bad);
      EXPECT_EQ(comparison.rows.at(0).unit_name, "ns");
    }
  }
  EXPECT_TRUE(holds(compare_rows({row("a", 1, {{"time_unit", ""}})}, {good}).rows.at(0).reason,
                    "the baseline's row: its time_unit is \"(empty)\", and ns, us, ms and s are known"));
  // Without any it is Google Benchmark's default, ns.
  Json bare = good;
  bare.erase("time_unit");
  EXPECT_EQ(compare_rows({good}, {bare}).rows.at(0).ratio, 1);
}

TEST(Compare, WhatIsLeftOfSuspectRowsMustBeEnough) {
  Files contender = quiet("a", 100);
  for (std::size_t i = 1; i < contender.size(); ++i) contender[i]["benchmarks"][0]["suspect"] = 1;
  const Comparison thin = compare_files(quiet("a", 100), contender);
  EXPECT_EQ(thin.rows.at(0).verdict, Verdict::incomparable);
  contender = quiet("a", 100);
  contender[0]["benchmarks"][0]["suspect"] = 1;
  contender[0]["benchmarks"][0]["real_time"] = 900;
  EXPECT_EQ(compare_files(quiet("a", 100), contender).rows.at(0).verdict, Verdict::same);
  EXPECT_EQ(compare_files(contender, {file_of({row("b", 1)})}).rows.at(0).verdict, Verdict::missing);
}

TEST(Compare, AcrossSessionsTheThresholdIsFivePercent) {
  const Json here{{"boot_id", "x"}, {"gpu_uuid", "g"}};
  const Json there{{"boot_id", "y"}, {"gpu_uuid", "g"}};
  const Comparison within = compare_files(quiet("a", 100, here), quiet("a", 103, here));
  EXPECT_EQ(within.threshold, 0.01);
  EXPECT_EQ(within.exit_code(), 1);
  const Comparison across = compare_files(quiet("a", 100, here), quiet("a", 103, there));
  EXPECT_EQ(across.threshold, 0.05);
  EXPECT_EQ(across.exit_code(), 3);
  EXPECT_EQ(compare_files(quiet("a", 100, here), quiet("a", 112, there)).rows.at(0).verdict, Verdict::slower);
  EXPECT_EQ(compare_files(quiet("a", 100, here), quiet("a", 100.1, there)).rows.at(0).verdict, Verdict::same);
  // Where a side does not state its session, nothing is known to differ.
  EXPECT_EQ(compare_files(quiet("a", 100, here), quiet("a", 103)).threshold, 0.01);
  CompareOptions options;
  options.threshold = 0.02;
  EXPECT_EQ(compare_files(quiet("a", 100, here), quiet("a", 103, there), options).threshold, 0.02);
}

TEST(Compare, AClockThatCountsInStepsIsSeen) {
  const auto files = [](double usual) {
    Files result;
    for (int process = 0; process < 6; ++process) {
      std::vector<Json> rows;
      for (int sample = 0; sample < 9; ++sample) rows.push_back(row("a", sample == 0 ? 2080 : usual));
      result.push_back(file_of(rows));
    }
    return result;
  };
  EXPECT_EQ(compare_files(files(2016), files(2048)).rows.at(0).verdict, Verdict::inconclusive);
  EXPECT_EQ(compare_files(files(2016), files(2240)).rows.at(0).verdict, Verdict::slower);
}

TEST(Compare, PublishedFiguresAreNoGate) {
  for (const Json& published : {file_of({row("a", 1, {{"provenance", "published"}})}),
                                file_of({row("a", 1)}, {{"provenance", "published"}})}) {
    const Comparison comparison = compare_files({published}, {file_of({row("a", 100)})});
    EXPECT_EQ(comparison.rows.at(0).verdict, Verdict::added);
    EXPECT_EQ(comparison.exit_code(), 0);
  }
}

TEST(Compare, WhatCannotBeComparedAtAll) {
  EXPECT_TRUE(holds(usage_error_of([] { compare_rows({}, {row("a", 1)}); }), "--baseline"));
  const Files two{file_of({row("a", 1)}, {{"gpu_name", "NVIDIA H100"}}),
                  file_of({row("a", 1)}, {{"gpu_name", "NVIDIA H200"}})};
  EXPECT_TRUE(
      holds(usage_error_of([&] { compare_files(two, {file_of({row("a", 1)})}); }), "different devices"));
  EXPECT_EQ(compare_rows({row("a", 1)}, {}).exit_code(), 1);
}

TEST(Compare, NotesOnWhatChangedAroundTheCode) {
  const Json old{
      {"driver_version", "570"}, {"cuda_version", "12"}, {"compiler", "GNU 12"}, {"date", "2026-01-01"}};
  const Json now{{"driver_version", "580"},
                 {"cuda_version", "13"},
                 {"compiler", "GNU 13"},
                 {"date", "2026-04-02T00:00:00"}};
  std::string notes;
  for (const std::string& note : compare_files(quiet("a", 1, old), quiet("a", 1, now)).notes)
    notes += note + "\n";
  for (const std::string part : {"the driver changed: baseline 570, contender 580", "CUDA changed",
                                 "the compiler changed", "91 days old"}) {
    EXPECT_TRUE(holds(notes, part)) << part << " in " << notes;
  }
  Json recent = now;
  recent["date"] = "2026-04-01";
  notes.clear();
  for (const std::string& note : compare_files(quiet("a", 1, old), quiet("a", 1, recent)).notes)
    notes += note + "\n";
  EXPECT_FALSE(holds(notes, "days old")) << notes;
}

TEST(Compare, EqualBinariesAreAnAATest) {
  const Json same{{"binary_sha256", "f00d"}};
  EXPECT_TRUE(holds(compare_files(quiet("a", 1, same), quiet("a", 1, same)).notes.at(0), "A/A"));
  EXPECT_TRUE(compare_files(quiet("a", 1, same), quiet("a", 1, {{"binary_sha256", "beef"}})).notes.empty());
}

TEST(DayOf, ReadsBothFormsAndRefusesOthers) {
  EXPECT_EQ(day_of("1970-01-02"), 1);
  EXPECT_EQ(day_of("2016-08-02 17:44:46"), day_of("2016-08-02T00:00:00+00:00"));
  for (const char* text : {"", "yesterday", "2026-13-01", "2026-02-30", "2026-1-1", "+026-01-01"}) {
    EXPECT_FALSE(day_of(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace strictbench
