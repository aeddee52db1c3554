/// Floors that rows state: in the speedup table beside the speedups, in baselines and summaries, and nowhere
/// else.
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "report/accept.h"
#include "report/table.h"
#include "report/testing.h"

namespace strictbench {
namespace {

using testing::compare_rows;
using testing::file_of;
using testing::Files;
using testing::holds;
using testing::Json;
using testing::row;
using testing::side_of;

std::string name_of(const std::string& variant) { return "op/" + variant + "/rows:8/timer:graph"; }

/// Three processes; those of `new` take 1.00, 1.02 and 1.04 us, by floors of 0.80, 0.816 and 0.832 us.
Files with_floors(const std::vector<Json>& more = {}) {
  Files files;
  for (int i = 0; i < 3; ++i) {
    const double drift = 1 + 0.02 * i;
    std::vector<Json> rows{row(name_of("legacy"), 3000 * drift, {{"check", 1}, {"floor_us", 0.8 * drift}}),
                           row(name_of("new"), 1000 * drift, {{"check", 1}, {"floor_us", 0.8 * drift}})};
    rows.insert(rows.end(), more.begin(), more.end());
    files.push_back(file_of(std::move(rows)));
  }
  return files;
}

std::string text_of(const SpeedupTable& table) {
  std::ostringstream out;
  write_table_text(out, table);
  return out.str();
}

std::string markdown_of(const SpeedupTable& table) {
  std::ostringstream out;
  write_table_markdown(out, table);
  return out.str();
}

Json json_of(const SpeedupTable& table) {
  std::ostringstream out;
  write_table_json(out, table);
  return Json::parse(out.str());
}

const Measured& cell(const SpeedupTable& table, const std::string& variant) {
  return table.operators.at(0).lines.at(0).variants.at(variant);
}

TEST(TableFloor, StandsBesideTheSpeedupOfNewAndTuned) {
  const SpeedupTable table =
      make_table(side_of(with_floors({row(name_of("tuned"), 850, {{"check", 1}, {"floor_us", 0.8}}),
                                      row(name_of("copy"), 850, {{"check", 1}, {"floor_us", 0.8}})})),
                 {});
  EXPECT_NEAR(cell(table, "new").floor, 816, 1e-9);
  EXPECT_NEAR(cell(table, "new").share_of_floor, 0.8, 1e-12);
  const std::string markdown = markdown_of(table);
  EXPECT_TRUE(holds(markdown,
                    "| legacy | new | legacy / new | floor / new | tuned | legacy / tuned | floor / tuned | "
                    "copy | copy / new | check |"))
      << markdown;
  EXPECT_TRUE(holds(markdown, "| 80.0 % | 850 ns |")) << markdown;
  EXPECT_TRUE(holds(markdown, "| 94.1 % | 850 ns |")) << markdown;
  EXPECT_TRUE(holds(markdown, "- floor / variant: the share of the floor")) << markdown;
  EXPECT_TRUE(holds(text_of(table), "floor / variant: the share of the floor")) << text_of(table);
  const Json line = json_of(table)["operators"][0]["lines"][0];
  EXPECT_NEAR(line["variants"]["new"]["floor_ns"].get<double>(), 816, 1e-9);
  EXPECT_NEAR(line["variants"]["legacy"]["share_of_floor"].get<double>(), 0.8 / 3, 1e-12);
}

TEST(TableFloor, IsADashWhereNothingStatesIt) {
  const SpeedupTable table =
      make_table(side_of({file_of({row(name_of("legacy"), 3000), row(name_of("new"), 1000)})}), {});
  EXPECT_TRUE(std::isnan(cell(table, "new").floor));
  EXPECT_TRUE(holds(markdown_of(table), "| 3.00 x | - |")) << markdown_of(table);
  EXPECT_FALSE(holds(text_of(table), "floor / variant")) << text_of(table);
  const Json fresh = json_of(table)["operators"][0]["lines"][0]["variants"]["new"];
  EXPECT_TRUE(fresh["floor_ns"].is_null());
  EXPECT_TRUE(fresh["share_of_floor"].is_null());
}

TEST(TableFloor, ProcessesWithoutOneLeaveItToTheOthers) {
  Files files = with_floors();
  files[0]["benchmarks"][1].erase("floor_us");
  EXPECT_NEAR(cell(make_table(side_of(files), {}), "new").share_of_floor, 0.8, 1e-12);
}

TEST(TableFloor, AShareAboveOneStands) {
  const SpeedupTable table = make_table(
      side_of({file_of({row(name_of("legacy"), 3000), row(name_of("new"), 1000, {{"floor_us", 1.2}})})}), {});
  EXPECT_TRUE(holds(markdown_of(table), "| 120.0 % |")) << markdown_of(table);
}

TEST(TableFloor, AShareThatIsAbsurdIsNotSpeltOut) {
  const SpeedupTable table =
      make_table(side_of({file_of({row(name_of("new"), 1000, {{"floor_us", 1e15}})})}), {});
  EXPECT_TRUE(holds(markdown_of(table), "| over 1,000 % |")) << markdown_of(table);
}

TEST(TableFloor, AFloorAboveTheTimeIsNamed) {
  const auto said = [](double floor_us) {
    const Json fresh = row(name_of("new"), 1000, {{"floor_us", floor_us}});
    return markdown_of(make_table(side_of({file_of({row(name_of("legacy"), 3000), fresh})}), {}));
  };
  EXPECT_FALSE(holds(said(1.04), "measured too low")) << said(1.04);
  EXPECT_TRUE(holds(said(1.06), "; more than 105 %: a ceiling was measured too low")) << said(1.06);
}

TEST(TableFloor, WhatIsNoTimeIsNoFloor) {
  for (const Json& floor : {Json(0), Json(-1), Json(nullptr), Json("0.8"), Json(1e300), Json(1e27),
                            Json(1e-9), Json(true), Json({0.8})}) {
    const SpeedupTable table = make_table(
        side_of({file_of({row(name_of("new"), 1000, {{"floor_us", floor}, {"share_of_floor", 0.5}})})}), {});
    EXPECT_TRUE(std::isnan(cell(table, "new").floor)) << floor;
    EXPECT_TRUE(holds(markdown_of(table), "| - |")) << floor << markdown_of(table);
  }
}

TEST(StatedFloor, BaselinesAndSummariesKeepIt) {
  const Side side = side_of(with_floors());
  for (const auto& write : {write_baseline, write_summary}) {
    std::ostringstream out;
    write(out, side, side_of(with_floors(), "cpu_time"));
    const Json baseline = Json::parse(out.str());
    ASSERT_EQ(baseline["benchmarks"].size(), 6U);
    for (const Json& one : baseline["benchmarks"]) {
      const double share = one["floor_us"].get<double>() * 1e3 / one["real_time"].get<double>();
      EXPECT_NEAR(one["share_of_floor"].get<double>(), share, 1e-6);
      EXPECT_GT(share, 0.2);
    }
    EXPECT_NEAR(cell(make_table(side_of({baseline}), {}), "new").share_of_floor, 0.8, 1e-6);
  }
  std::ostringstream out;
  const Files without{file_of({row(name_of("new"), 1000)})};
  write_baseline(out, side_of(without), side_of(without, "cpu_time"));
  EXPECT_FALSE(holds(out.str(), "floor")) << out.str();
}

TEST(StatedFloor, NoVerdictDependsOnIt) {
  const auto verdict = [](const Json& more) {
    return compare_rows({row(name_of("new"), 1000, {{"floor_us", 0.9}})}, {row(name_of("new"), 1000, more)})
        .rows.at(0)
        .verdict;
  };
  EXPECT_EQ(verdict({{"floor_us", 0.1}}), verdict(Json::object()));
  EXPECT_EQ(verdict({{"floor_us", 0.1}}), verdict({{"floor_us", 0.9}}));
}

}  // namespace
}  // namespace strictbench
