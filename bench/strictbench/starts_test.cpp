#include "bench/strictbench/starts.h"

#include <gtest/gtest.h>

namespace strictbench::runner {
namespace {

using Cases = std::vector<std::string>;

const std::string legacy_a = "op/legacy/rows:1/timer:cpu";
const std::string new_a = "op/new/rows:1/timer:cpu";
const std::string third_a = "op/third/rows:1/timer:cpu";
const std::string legacy_b = "op/legacy/rows:2/timer:cpu";
const std::string new_b = "op/new/rows:2/timer:cpu";

StartResult death(const std::string& at, const std::string& phase, std::set<std::string> rows = {}) {
  return {.with_rows = std::move(rows), .died = true, .at = at, .phase = phase, .reason = "died in " + at};
}

StartResult end_in_order(std::set<std::string> rows) {
  StartResult result;
  result.with_rows = std::move(rows);
  return result;
}

TEST(Starts, OneIsEnoughWhereEveryCaseHasARow) {
  Starts starts({legacy_a, new_a}, true);
  EXPECT_EQ(starts.next(), (Cases{legacy_a, new_a}));
  starts.ended(end_in_order({legacy_a, new_a}));
  EXPECT_TRUE(starts.done());
  EXPECT_TRUE(starts.lost().empty());
  EXPECT_TRUE(Starts({}, true).done());
}

TEST(Starts, ACaseThatDiesInItsCheckIsLeftOutAndTheOthersStartAgain) {
  Starts starts({legacy_a, new_a, legacy_b, new_b}, true);
  starts.ended(death(new_a, "check"));
  EXPECT_EQ(starts.next(), (Cases{legacy_a, legacy_b, new_b}));
  starts.ended(death(legacy_b, "check", {legacy_a}));
  EXPECT_EQ(starts.next(), (Cases{new_b}));
  starts.ended(end_in_order({new_b}));
  EXPECT_TRUE(starts.done());
  EXPECT_EQ(starts.lost(), (std::map<std::string, std::string>{{new_a, "died in " + new_a},
                                                               {legacy_b, "died in " + legacy_b}}));
}

TEST(Starts, InputsBelongToEveryVariantOfTheShape) {
  Starts starts({legacy_a, new_a, legacy_b}, true);
  starts.ended(death(legacy_a, "inputs"));
  EXPECT_EQ(starts.next(), Cases{legacy_b});
  EXPECT_EQ(starts.lost().size(), 2u);
}

TEST(Starts, WhereCasesAreSampledByTurnsEachIsTriedAlone) {
  Starts starts({legacy_a, new_a, third_a, new_b}, true);
  starts.ended(death(legacy_a, "measure"));
  EXPECT_EQ(starts.next(), Cases{legacy_a});
  starts.ended(end_in_order({legacy_a}));
  EXPECT_EQ(starts.next(), Cases{new_a});
  starts.ended(death(new_a, "measure"));  // alone: there is nobody else to suspect
  EXPECT_EQ(starts.next(), Cases{third_a});
  starts.ended(end_in_order({third_a}));
  EXPECT_EQ(starts.next(), Cases{new_b});
  starts.ended(end_in_order({new_b}));
  EXPECT_TRUE(starts.done());
  EXPECT_EQ(starts.lost(), (std::map<std::string, std::string>{{new_a, "died in " + new_a}}));
}

TEST(Starts, ACaseThatSaidItselfThatItLostTheDeviceLeavesNobodyElseSuspected) {
  Starts starts({legacy_a, new_a, legacy_b}, true);
  StartResult result = death(legacy_a, "measure", {new_a});
  result.told = true;
  starts.ended(result);
  EXPECT_EQ(starts.next(), (Cases{legacy_a, legacy_b}));
  EXPECT_TRUE(starts.lost().empty());
}

TEST(Starts, WhereNoneDiesAloneNoneIsCleared) {
  Starts starts({legacy_a, new_a, legacy_b}, true);
  starts.ended(death(legacy_a, "measure"));
  starts.ended(end_in_order({legacy_a}));
  EXPECT_TRUE(starts.lost().empty());
  starts.ended(end_in_order({new_a}));
  EXPECT_EQ(starts.lost().size(), 2u);
  EXPECT_EQ(starts.lost().at(new_a),
            "died in " + legacy_a + "; it was this one or a neighbour, and none did so alone");
  EXPECT_EQ(starts.next(), Cases{legacy_b});
  starts.ended(end_in_order({legacy_b}));
  EXPECT_TRUE(starts.done());
  EXPECT_EQ(starts.lost().size(), 2u);
}

TEST(Starts, ADeathBetweenCasesCostsNone) {
  Starts starts({legacy_a, new_a, legacy_b}, true);
  starts.ended(death(new_a, "done", {legacy_a, new_a}));
  EXPECT_EQ(starts.next(), Cases{legacy_b});
  EXPECT_TRUE(starts.lost().empty());
}

TEST(Starts, OneThatEndsInOrderIsNotRepeated) {
  Starts starts({legacy_a, new_a}, true);
  StartResult result = end_in_order({new_a});
  result.at = new_a;
  result.phase = "done";
  starts.ended(result);
  EXPECT_TRUE(starts.done());
  EXPECT_EQ(starts.lost().count(legacy_a), 1u);
}

TEST(Starts, OneThatDiesBeforeAnyCaseIsNotRepeated) {
  Starts starts({legacy_a, new_a, legacy_b}, true);
  starts.ended(death(new_a, "check", {legacy_a}));
  starts.ended(death("", ""));
  EXPECT_TRUE(starts.done());
  EXPECT_EQ(starts.lost().size(), 2u);
}

TEST(Starts, ThereIsOneWhereNoOtherIsWanted) {
  Starts starts({legacy_a, new_a}, false);
  starts.ended(death(legacy_a, "check"));
  EXPECT_TRUE(starts.done());
  EXPECT_EQ(starts.lost().size(), 2u);
}

/// However a start ends, there is an end: `at` may be any case, or one that there is not.
TEST(Starts, StartsWithoutARowComeToAnEnd) {
  for (const bool timed_out : {false, true}) {
    for (const char* phase : {"inputs", "check", "measure", "done", ""}) {
      for (const bool lies : {false, true}) {
        Cases cases;
        for (int i = 0; i < 100; ++i) cases.push_back("op/new/rows:" + std::to_string(i) + "/timer:cpu");
        Starts starts(cases, true);
        int count = 0;
        for (; !starts.done(); ++count) {
          StartResult result = death(lies ? "op/new/no such case" : starts.next().front(), phase);
          result.timed_out = timed_out;
          starts.ended(result);
        }
        EXPECT_EQ(count, timed_out ? 2 : 6) << phase;
        EXPECT_EQ(starts.lost().size(), cases.size()) << phase;
      }
    }
  }
}

}  // namespace
}  // namespace strictbench::runner
