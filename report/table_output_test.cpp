/// The forms of the speedup table that other programs read: JSON, and Markdown on GitHub.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "report/table.h"
#include "report/testing.h"

namespace strictbench {
namespace {

using testing::error_row;
using testing::file_of;
using testing::Files;
using testing::holds;
using testing::Json;
using testing::row;
using testing::side_of;

std::string name_of(const std::string& variant, const std::string& op = "op") {
  return op + "/" + variant + "/rows:8/dtype:fp32/timer:graph";
}

/// Six processes of legacy and new, and what else each holds.
Files processes(double ratio, const std::vector<Json>& more = {}, const std::string& op = "op") {
  Files files;
  for (int i = 0; i < 6; ++i) {
    const double drift = 1 + 0.0002 * (i % 3);
    std::vector<Json> rows{row(name_of("legacy", op), 3000 * drift, {{"check", 1}}),
                           row(name_of("new", op), 1000 * ratio * drift, {{"check", 1}})};
    rows.insert(rows.end(), more.begin(), more.end());
    files.push_back(file_of(std::move(rows), {{"gpu_name", "NVIDIA H200"}, {"driver_version", "580.1"}}));
  }
  return files;
}

Json json_of(const SpeedupTable& table) {
  std::ostringstream out;
  write_table_json(out, table);
  return Json::parse(out.str());
}

std::string markdown_of(const SpeedupTable& table) {
  std::ostringstream out;
  write_table_markdown(out, table);
  return out.str();
}

std::string text_of(const SpeedupTable& table) {
  std::ostringstream out;
  write_table_text(out, table);
  return out.str();
}

SpeedupTable judged(const Files& result, const Files& baseline) {
  const Side side = side_of(result);
  SpeedupTable table = make_table(side, {});
  CompareOptions options;
  options.threshold = 0.01;
  add_verdicts(table, compare(side_of(baseline), side, options), "base|line");
  return table;
}

TEST(TableJson, HasEveryLineAndNulls) {
  const Files files =
      processes(1, {row(name_of("tuned", "other"), 5), error_row(name_of("bad"), "check failed: 1 of 9")});
  std::vector<Side> published;
  published.push_back(
      side_of({file_of({row(name_of("new"), 500, {{"provenance", "published"}})}, {{"gpu_name", "H100"}})}));
  const Json json = json_of(make_table(side_of(files), published));
  EXPECT_EQ(json["header"][0], "device: NVIDIA H200");
  EXPECT_TRUE(json["notes"].is_array());
  ASSERT_EQ(json["operators"].size(), 2U);
  const Json& op = json["operators"][0];
  EXPECT_EQ(op["op"], "op");
  EXPECT_EQ(op["variants"], Json({"legacy", "new", "bad"}));
  const Json& line = op["lines"][0];
  EXPECT_EQ(line["shape"], "rows:8/dtype:fp32");
  EXPECT_EQ(line["timer"], "graph");
  EXPECT_EQ(line["check"], "FAILED");
  EXPECT_EQ(line["control"], "");
  EXPECT_NEAR(line["variants"]["legacy"]["time_ns"].get<double>(), 3000, 2);
  EXPECT_FALSE(line["variants"]["legacy"].contains("speedup"));
  EXPECT_NEAR(line["variants"]["new"]["speedup"].get<double>(), 3, 1e-9);
  EXPECT_LT(line["variants"]["new"]["speedup_low"], line["variants"]["new"]["speedup_high"]);
  EXPECT_FALSE(line["variants"]["new"].contains("verdict"));
  EXPECT_TRUE(line["variants"]["bad"]["time_ns"].is_null());
  EXPECT_TRUE(line["variants"]["bad"]["speedup"].is_null());
  EXPECT_EQ(line["variants"]["bad"]["trouble"], "wrong: check failed: 1 of 9");
  EXPECT_EQ(json["operators"][1]["lines"][0]["check"], "not stated");
  ASSERT_EQ(json["published"].size(), 1U);
  EXPECT_EQ(json["published"][0]["published_ns"], 500);
  EXPECT_EQ(json["published"][0]["published_on"], "H100");
  EXPECT_EQ(json["published"][0]["measured_on"], "NVIDIA H200");
  EXPECT_TRUE(json["published"][0]["published_speedup"].is_null());
}

TEST(TableJson, ControlsAreAWord) {
  Files files = processes(3);
  for (Json& file : files)
    for (Json& one : file["benchmarks"]) one["control"] = 1;
  EXPECT_EQ(json_of(make_table(side_of(files), {}))["operators"][0]["lines"][0]["control"], "steady");
}

TEST(TableVerdicts, StandBesideTheSpeedups) {
  const SpeedupTable table = judged(processes(1.05), processes(1));
  EXPECT_TRUE(holds(markdown_of(table), "| legacy / new | floor / new | verdict | check |")) << markdown_of(table);
  EXPECT_TRUE(holds(markdown_of(table), "| - | legacy same, new slower +5.00 % | bits |")) << markdown_of(table);
  const std::string above = "- baseline: base&#124;line; regressed: 1 slower, 1 same; threshold 1.00 %";
  EXPECT_TRUE(holds(markdown_of(table), above)) << markdown_of(table);
  EXPECT_EQ(json_of(table)["operators"][0]["lines"][0]["variants"]["new"]["verdict"], "slower");
  const SpeedupTable quiet = judged(processes(1), processes(1));
  EXPECT_TRUE(holds(markdown_of(quiet), ") | - | same | bits |")) << markdown_of(quiet);
}

TEST(TableVerdicts, WhatIsMissingIsNamed) {
  const SpeedupTable table = judged(processes(1), processes(1, {row(name_of("gone"), 5)}));
  EXPECT_TRUE(holds(text_of(table), "note: missing: " + name_of("gone"))) << text_of(table);
  const SpeedupTable fresh = judged(processes(1, {row(name_of("fresh"), 5)}), processes(1));
  EXPECT_TRUE(holds(text_of(fresh), "legacy same, new same, fresh new")) << text_of(fresh);
}

TEST(TableMarkdown, SaysWhatTheFiguresAre) {
  const std::string kernel = "embedding_backward/legacy/tokens:8/part:kernel/timer:cold";
  const std::string whole = "embedding_backward/legacy/tokens:8/part:whole/timer:cold";
  const std::string fold = "row_fold/new/rows:8/timer:graph";
  const std::string both = markdown_of(make_table(side_of({file_of({row(kernel, 5), row(fold, 5)})}), {}));
  EXPECT_TRUE(holds(both,
                    "\n- not in the figures: embedding_backward part&#58;kernel: sorting of the ids, "
                    "allocation, zeroing of the gradient; row_fold: preparation of the inputs\n"))
      << both;
  EXPECT_TRUE(holds(both, "\n- protocol: a time is the median")) << both;
  EXPECT_TRUE(holds(both, "timer graph: mean of")) << both;
  EXPECT_TRUE(holds(both, "timer cold: one launch")) << both;
  EXPECT_FALSE(holds(both, "timer wall")) << both;
  EXPECT_FALSE(holds(markdown_of(make_table(side_of({file_of({row(whole, 5)})}), {})), "not in the figures"));
  EXPECT_FALSE(holds(markdown_of(make_table(side_of(processes(1)), {})), "not in the figures"));
}

/// Every table row has as many cells as its header, and nothing is markup but what is meant to be.
void expect_harmless(const std::string& markdown) {
  for (const char* bad : {"<script", "<img", "</td", "\x1b", "\n# ", "![", "](", "&lt;b"}) {
    EXPECT_FALSE(holds(markdown, bad)) << bad << "\n" << markdown;
  }
  std::istringstream lines(markdown);
  std::ptrdiff_t cells = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("- ") || line.empty() || !line.starts_with("|")) {
      cells = 0;
      continue;
    }
    const std::ptrdiff_t count = std::count(line.begin(), line.end(), '|');
    if (cells == 0) cells = count;
    EXPECT_EQ(count, cells) << line;
    // A code span's quotes are a pair, or the rest of the row would be code.
    EXPECT_EQ(std::count(line.begin(), line.end(), '`') % 2, 0) << line;
  }
}

TEST(TableMarkdown, SurvivesHostileNamesAndMessages) {
  const std::string evil =
      "a|b`c</td><script>x</script><img src=x>\n\n# y\r![z](http:w)\x1b[31m&lt;b&gt;\\|*_~";
  const std::string flat = [&] {
    std::string text = evil;
    std::replace(text.begin(), text.end(), '/', ':');
    return text;
  }();
  Files files = processes(1, {}, flat);
  for (Json& file : files) {
    file["benchmarks"].push_back(row(flat + "/" + flat + "/" + evil + "/timer:" + flat, 5));
    file["benchmarks"].push_back(
        error_row(flat + "/bad/rows:8/dtype:fp32/timer:graph", "check failed: " + evil));
    file["context"]["gpu_name"] = evil;
    file["context"]["compiler"] = evil;
  }
  const SpeedupTable table = judged(files, processes(1, {row("gone/" + flat + "/x/timer:graph", 5)}, flat));
  expect_harmless(markdown_of(table));
  EXPECT_TRUE(holds(markdown_of(table), "<code>a&#124;b&#96;c")) << markdown_of(table);
  EXPECT_EQ(json_of(table)["operators"][0]["op"], flat);
  EXPECT_FALSE(holds(text_of(table), "\x1b"));
}

TEST(TableMarkdown, LongTablesAreCutAndSaySo) {
  std::vector<Json> rows;
  for (int i = 0; i < 230; ++i)
    rows.push_back(row(std::string("op/new/rows:").append(std::to_string(i)).append("/timer:graph"), 5));
  const SpeedupTable table = make_table(side_of({file_of(rows)}), {});
  EXPECT_TRUE(holds(markdown_of(table), "\n30 more lines.\n"));
  EXPECT_EQ(json_of(table)["operators"][0]["lines"].size(), 230U);
  EXPECT_EQ(headline(table), "1 operator, 230 lines");
}

}  // namespace
}  // namespace strictbench
