#include "bench/strictbench/rows.h"

#include <gtest/gtest.h>

#include "report/error.h"

namespace strictbench::runner {
namespace {

const std::string name = "row_fold/new/rows:64/cols:128/dtype:fp32/timer:graph";

std::string file(const std::string& rows) {
  return "{\n  \"context\": {\"date\": \"today\"},\n  \"benchmarks\": [\n" + rows + "\n  ]\n}\n";
}

std::string row(const std::string& rest, const std::string& suffix = "/manual_time") {
  return "    {\n      \"name\": \"" + name + suffix + "\",\n      " + rest + "\n    }";
}

std::vector<Problem> problems(const std::string& rows) {
  return find_problems(parse_results(file(rows)), {name}, "lost");
}

TEST(ParseResults, ReadsBareWordsAsNull) {
  for (const char* word : {"NaN", "-NaN", "nan", "-nan", "inf", "-inf", "Infinity", "-Infinity"}) {
    const nlohmann::json document = parse_results(file(row(std::string("\"real_time\": ") + word)));
    EXPECT_TRUE(document["benchmarks"][0]["real_time"].is_null()) << word;
  }
}

TEST(ParseResults, LeavesStringsAlone) {
  const nlohmann::json document =
      parse_results(R"({"a": NaN, "b": "NaN \" inf", "c\\": "nan", "d": [-inf, null, -1.5, true]})");
  EXPECT_TRUE(document["a"].is_null());
  EXPECT_EQ(document["b"], "NaN \" inf");
  EXPECT_EQ(document["c\\"], "nan");
  EXPECT_EQ(document["d"][2], -1.5);
}

TEST(ParseResults, RefusesWhatIsCutShort) {
  const std::string whole = file(row("\"real_time\": NaN"));
  for (std::size_t length = 0; length + 2 < whole.size(); ++length) {
    EXPECT_THROW(parse_results(whole.substr(0, length)), nlohmann::json::parse_error) << length;
  }
}

TEST(ParseResults, RefusesWhatIsNestedWithoutEnd) {
  const std::string deep = std::string(300000, '[') + std::string(300000, ']');
  const std::string text = file(row("\"real_time\": " + deep));
  EXPECT_THROW(parse_results(text), UsageError);
  EXPECT_EQ(salvage(text), std::nullopt);
  // Rows that were whole before it are kept.
  const std::optional<std::string> kept =
      salvage(file(row("\"real_time\": 1") + ",\n" + row("\"a\": " + deep)));
  ASSERT_TRUE(kept);
  EXPECT_EQ(parse_results(*kept)["benchmarks"].size(), 1U);
}

TEST(Salvage, KeepsTheWholeRowsWhereverTheCutIs) {
  const std::string whole =
      file(row("\"real_time\": 1.5") + ",\n" + row("\"real_time\": NaN, \"label\": \"}{\""));
  const std::size_t first_end = whole.find("    },") + 5;
  const std::size_t second_end = whole.rfind("    }\n  ]") + 5;
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const std::optional<std::string> kept = salvage(whole.substr(0, length));
    const std::size_t rows = length >= second_end ? 2 : length >= first_end ? 1 : 0;
    const std::size_t found =
        kept && parse_results(*kept).contains("benchmarks") ? parse_results(*kept)["benchmarks"].size() : 0;
    EXPECT_EQ(found, rows) << length;
  }
}

TEST(FindProblems, AUsableTimeIsNone) {
  EXPECT_TRUE(problems(row("\"real_time\": 1.5")).empty());
  EXPECT_TRUE(problems(row("\"real_time\": 1.5", "")).empty());
  EXPECT_TRUE(problems(row("\"real_time\": 1.5, \"error_occurred\": false")).empty());
}

TEST(FindProblems, ATimeThatIsNoTimeIsFailed) {
  for (const char* time : {"0", "0.0", "-1.5", "NaN", "inf", "\"1.5\"", "null"}) {
    const std::vector<Problem> found = problems(row(std::string("\"real_time\": ") + time));
    ASSERT_EQ(found.size(), 1u) << time;
    EXPECT_EQ(found[0].state, CaseState::failed) << time;
    EXPECT_EQ(found[0].name, name);
  }
  EXPECT_EQ(problems(row("\"cpu_time\": 1.5")).size(), 1u);
}

TEST(FindProblems, AnErrorIsWrongFailedOrSkippedByItsMessage) {
  const auto state = [](const std::string& message) {
    const std::vector<Problem> found =
        problems(row("\"real_time\": 0, \"error_occurred\": true, \"error_message\": \"" + message + "\""));
    EXPECT_EQ(found.at(0).reason, message);
    return found.at(0).state;
  };
  EXPECT_EQ(state("check failed: index 3"), CaseState::wrong);
  EXPECT_EQ(state("launch failed, check failed: no"), CaseState::failed);
  EXPECT_EQ(state("skipped: needs 3.7 GB"), CaseState::skipped);
  const std::vector<Problem> found = problems(row("\"skipped\": true, \"skip_message\": \"needs 3.7 GB\""));
  EXPECT_EQ(found.at(0).state, CaseState::skipped);
  EXPECT_EQ(found.at(0).reason, "needs 3.7 GB");
}

TEST(FindProblems, TheWorstRowOfACaseDecides) {
  const std::string good = row("\"real_time\": 1.5");
  const std::string failed = row("\"real_time\": 0");
  const std::string wrong = row("\"error_occurred\": true, \"error_message\": \"check failed: index 3\"");
  EXPECT_EQ(problems(good + ",\n" + failed + ",\n" + good).at(0).state, CaseState::failed);
  EXPECT_EQ(problems(failed + ",\n" + wrong + ",\n" + good).at(0).state, CaseState::wrong);
}

TEST(FindProblems, ACaseWithoutARowIsFailedForTheReasonGiven) {
  const std::string other = "row_fold/new/rows:6/cols:128/dtype:fp32/timer:graph";
  const std::vector<Problem> found =
      find_problems(parse_results(file(row("\"real_time\": 1.5"))), {name, other}, "lost");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].name, other);
  EXPECT_EQ(found[0].reason, "lost");
  EXPECT_EQ(find_problems(nlohmann::json(), {name}, "lost").size(), 1u);
}

TEST(FindProblems, AReasonFromElsewhereFailsACaseWithRowsToo) {
  const std::map<std::string, std::string> why{{name, "died with its neighbour"}};
  const auto found = [&](const std::string& fields) {
    return find_problems(parse_results(file(row(fields))), {name}, "lost", why).at(0);
  };
  EXPECT_EQ(found("\"real_time\": 1.5").reason, "died with its neighbour");
  EXPECT_EQ(found("\"error_occurred\": true, \"error_message\": \"check failed: 3\"").state,
            CaseState::wrong);
  EXPECT_EQ(find_problems(nlohmann::json(), {name}, "lost", why).at(0).reason, "died with its neighbour");
}

TEST(Merged, RowsOfAllUnderTheFirstContext) {
  const std::string text = merged({file(row("\"real_time\": 1.5")), file(row("\"real_time\": NaN"))});
  const nlohmann::json document = parse_results(text);
  ASSERT_EQ(document.at("benchmarks").size(), 2u);
  EXPECT_EQ(document["benchmarks"][0]["real_time"], 1.5);
  EXPECT_TRUE(document["benchmarks"][1]["real_time"].is_null());
  EXPECT_EQ(cases_with_rows(text), std::set<std::string>{name});
  EXPECT_TRUE(cases_with_rows("").empty());
}

TEST(FindProblems, AnAggregateIsNoRowOfItsCase) {
  EXPECT_EQ(problems(row("\"run_type\": \"aggregate\", \"real_time\": 1.5")).size(), 1u);
}

}  // namespace
}  // namespace strictbench::runner
