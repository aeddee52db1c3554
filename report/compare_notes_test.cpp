/// When a comparison says that the machine moved and not the code, and of which numbers it gives no verdict.
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "report/compare.h"
#include "report/testing.h"

namespace strictbench {
namespace {

using testing::compare_files;
using testing::file_of;
using testing::Files;
using testing::holds;
using testing::Json;
using testing::row;
using testing::usage_error_of;

const std::string legacy = "op/legacy/rows:1/timer:graph";
const std::string fresh = "op/new/rows:1/timer:graph";
constexpr double quiet = 0.001;
constexpr double noisy = 0.5;

/// Processes that each measured these rows: name, time, and by which share every other process is slower.
Files files(const std::vector<std::tuple<std::string, double, double>>& rows, int processes = 8) {
  Files result;
  for (int k = 0; k < processes; ++k) {
    std::vector<Json> all;
    for (const auto& [name, time, spread] : rows) all.push_back(row(name, time * (1 + spread * (k % 2))));
    result.push_back(file_of(all));
  }
  return result;
}

/// "op: every variant, ... is slower", or nothing.
std::string said(const Files& before, const Files& after) {
  for (const std::string& note : compare_files(before, after).notes) {
    if (holds(note, "the machine or the toolchain moved")) return note.substr(0, note.find(": the machine"));
  }
  return {};
}

/// The same times on both sides of a comparison, told as a slowdown and as a gain.
void expect_both_ways(const Files& less, const Files& more, bool told) {
  const std::string every = "op: every variant, legacy among them, is ";
  EXPECT_EQ(said(less, more), told ? every + "slower" : "");
  EXPECT_EQ(said(more, less), told ? every + "faster" : "");
}

TEST(MachineMoved, IsSaidWhereEveryVariantShowsIt) {
  const Files before = files({{legacy, 100, quiet}, {fresh, 10, quiet}});
  const Files after = files({{legacy, 110, quiet}, {fresh, 11, quiet}});
  expect_both_ways(before, after, true);
  EXPECT_EQ(compare_files(before, after).exit_code(), 1);
  expect_both_ways(before, files({{legacy, 100, quiet}, {fresh, 11, quiet}}), false);
}

TEST(MachineMoved, IsNotSaidWhereNoIntervalCanTell) {
  const Files before = files({{legacy, 100, 0.3}, {fresh, 10, 0.3}}, 2);
  const Files after = files({{legacy, 124, 0.3}, {fresh, 12.4, 0.3}}, 2);
  EXPECT_EQ(compare_files(before, after).count(Verdict::inconclusive), 2U);
  expect_both_ways(before, after, false);
}

TEST(MachineMoved, IsNotSaidWhereOneVariantShowsNothing) {
  expect_both_ways(files({{legacy, 100, noisy}, {fresh, 10, quiet}}),
                   files({{legacy, 110, noisy}, {fresh, 11, quiet}}), false);
  expect_both_ways(files({{legacy, 100, quiet}, {fresh, 10, noisy}}),
                   files({{legacy, 110, quiet}, {fresh, 11, noisy}}), false);
}

TEST(MachineMoved, ARowThatCannotTellIsNoObjectionAndOneThatWentTheOtherWayIs) {
  const auto rows = [](double share, double third, double spread) {
    return files({{legacy, 100 * share, quiet},
                  {fresh, 10 * share, quiet},
                  {"op/new/rows:2/timer:graph", 10 * share, quiet},
                  {"op/new/rows:3/timer:graph", third, spread}});
  };
  expect_both_ways(rows(1, 10, noisy), rows(1.1, 11, noisy), true);
  expect_both_ways(rows(1, 10, quiet), rows(1.1, 9, quiet), false);
}

TEST(CpuTime, OfOurRowsIsRefusedAndOfOthersCompared) {
  CompareOptions options;
  options.metric = "cpu_time";
  const Files ours{file_of({row(fresh, 49000, {{"cpu_time", 669}, {"check", 1}})})};
  const Files others{file_of({row("BM_other/timer:cpu/manual_time", 7), row("BM_a", 7, {{"check", 1}})})};
  for (const bool swapped : {false, true}) {
    const std::string why =
        usage_error_of([&] { compare_files(swapped ? others : ours, swapped ? ours : others, options); });
    EXPECT_TRUE(holds(why, "--metric cpu_time: " + fresh)) << why;
  }
  EXPECT_EQ(compare_files(others, others, options).rows.size(), 2U);
  options.metric = "real_time";
  EXPECT_EQ(compare_files(ours, ours, options).rows.size(), 1U);
}

}  // namespace
}  // namespace strictbench
