#include "report/compare_output.h"

#include <gtest/gtest.h>

#include <limits>
#include <sstream>

#include "report/testing.h"

namespace strictbench {
namespace {

using testing::compare_rows;
using testing::holds;
using testing::Json;
using testing::row;

std::string json_of(const Comparison& comparison) {
  std::ostringstream out;
  write_json(out, comparison);
  return out.str();
}

TEST(Output, JsonHoldsEveryRowAndNull) {
  const Comparison comparison = compare_rows({row("a\"|\n", 1), row("b", 1)}, {row("a\"|\n", 3)});
  const Json json = Json::parse(json_of(comparison));
  EXPECT_EQ(json["verdict"], "regressed");
  EXPECT_EQ(json["exit_code"], 1);
  EXPECT_EQ(json["counts"]["missing"], 1);
  EXPECT_EQ(json["counts"]["new"], 0);
  EXPECT_EQ(json["rows_read"]["baseline"], 2);
  ASSERT_EQ(json["rows"].size(), 2U);
  EXPECT_EQ(json["rows"][0]["name"], "a\"|\n");
  EXPECT_EQ(json["rows"][0]["baseline"]["processes"], 1);
  EXPECT_TRUE(json["rows"][1]["ratio"].is_null());
  EXPECT_TRUE(json["rows"][1]["contender"]["median"].is_null());
}

TEST(Output, NumbersThatCannotBeWrittenAreNull) {
  Comparison comparison;
  ComparedRow& extreme = comparison.rows.emplace_back();
  extreme.name = "a";
  extreme.ratio = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(Json::parse(json_of(comparison))["rows"][0]["ratio"].is_null());
}

TEST(Output, TextPutsWhatMattersFirstAndDisarmsNames) {
  std::vector<Json> before;
  std::vector<Json> after;
  for (int i = 0; i < 3; ++i) before.push_back(row(std::string("same").append(std::to_string(i)), 1));
  after = before;
  before.push_back(row("slow\x1b[2J\n", 1));
  after.push_back(row("slow\x1b[2J\n", 3));
  CompareOptions options;
  options.threshold = 0.1;
  std::ostringstream out;
  write_text(out, compare_rows(before, after, options), false);
  const std::string text = out.str();
  EXPECT_EQ(text.find("regressed: 1 slower, 3 same"), 0U) << text;
  EXPECT_LT(text.find("slow\\x1b[2J\\x0a"), text.find("same0"));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  std::ostringstream coloured;
  write_text(coloured, compare_rows(before, after, options), true);
  EXPECT_TRUE(holds(coloured.str(), "\x1b[31mslower"));
}

TEST(Output, LongQuietTablesAreCutAndSaySo) {
  std::vector<Json> rows;
  for (int i = 0; i < 150; ++i) rows.push_back(row(std::string("r").append(std::to_string(i)), 1));
  CompareOptions options;
  options.threshold = 0.2;
  std::ostringstream out;
  write_text(out, compare_rows(rows, rows, options), false);
  EXPECT_TRUE(holds(out.str(), "150 rows the same or skipped")) << out.str();
}

TEST(Output, MarkdownKeepsBothEndsOfWhatIsTooLong) {
  const std::string name = "op/new/" + std::string(100000, 'x') + "/timer:graph";
  const std::string message = "boom " + std::string(100000, '<') + " the end";
  std::ostringstream out;
  write_markdown(out, compare_rows({row(name, 1)}, {testing::error_row(name, message)}));
  EXPECT_LT(out.str().size(), 10000U);
  EXPECT_TRUE(holds(out.str(), "`op/new/xxx")) << out.str();
  EXPECT_TRUE(holds(out.str(), "x...x")) << out.str();
  EXPECT_TRUE(holds(out.str(), "x/timer:graph`")) << out.str();
  EXPECT_TRUE(holds(out.str(), " the end |")) << out.str();
}

TEST(Output, MarkdownAndJunitSurviveHostileNames) {
  const std::string name = "a|b</td><script>`x`&\x01";
  const Comparison comparison = compare_rows({row(name, 1)}, {row(name, 3)});
  std::ostringstream markdown;
  write_markdown(markdown, comparison);
  EXPECT_FALSE(holds(markdown.str(), "<script>"));
  EXPECT_FALSE(holds(markdown.str(), "a|b"));
  std::ostringstream junit;
  write_junit(junit, comparison);
  EXPECT_TRUE(holds(junit.str(), "failures=\"1\""));
  EXPECT_TRUE(holds(junit.str(), "name=\"a|b&lt;/td&gt;&lt;script&gt;`x`&amp;\\x01\"")) << junit.str();
}

}  // namespace
}  // namespace strictbench
