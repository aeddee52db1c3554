#include "report/benchmark_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "report/json_source.h"
#include "report/testing.h"

namespace strictbench {
namespace {

using testing::Folder;
using testing::holds;
using testing::usage_error_of;

struct File {
  Context context;
  std::vector<BenchmarkRow> rows;
};

File read(const std::string& text, const std::string& metric = "real_time") {
  const Folder folder;
  const std::string path = folder.write("file.json", text);
  File file;
  file.context =
      read_benchmark_file(path, metric, [&](BenchmarkRow& row) { file.rows.push_back(row); }).context;
  return file;
}

std::string error_of(const std::string& text) {
  return usage_error_of([&] { read(text); });
}

std::string rows(const std::string& inside) { return "{\"context\": {}, \"benchmarks\": [" + inside + "]}"; }

TEST(BenchmarkFile, ReadsRowsAndContext) {
  const File file =
      read(R"({"context": {"date": "today", "num_cpus": 16, "scaling": false, "load_avg": [1, 2],
    "caches": [{"size": 3}]}, "benchmarks": [
    {"name": "a/b", "run_type": "iteration", "real_time": 1.5e3, "time_unit": "us", "process": 3, "session": 2,
     "suspect": 1, "check": 1, "samples": 20, "label": "x"},
    {"name": "c", "run_name": "c", "real_time": 2, "error_occurred": true, "error_message": "no"}]})");
  EXPECT_EQ(file.context, (Context{{"date", "today"}, {"num_cpus", "16"}, {"scaling", "false"}}));
  ASSERT_EQ(file.rows.size(), 2U);
  EXPECT_EQ(file.rows[0].name, "a/b");
  EXPECT_EQ(file.rows[0].metric, 1500);
  EXPECT_EQ(file.rows[0].time_unit, "us");
  EXPECT_EQ(file.rows[0].process, 3);
  EXPECT_EQ(file.rows[0].session, 2);
  EXPECT_EQ(file.rows[0].suspect, 1);
  EXPECT_EQ(file.rows[0].samples, 20);
  EXPECT_TRUE(file.rows[1].error_occurred);
  EXPECT_EQ(file.rows[1].error_message, "no");
  // Nothing of the row before is left.
  EXPECT_TRUE(std::isnan(file.rows[1].process));
  EXPECT_TRUE(file.rows[1].time_unit.empty());
}

TEST(BenchmarkFile, TheContextMayComeLast) {
  const File file = read(R"({"benchmarks": [{"name": "a", "real_time": 1}], "context": {"gpu_name": "G"}})");
  EXPECT_EQ(file.rows.size(), 1U);
  EXPECT_EQ(file.context.at("gpu_name"), "G");
}

TEST(BenchmarkFile, BareWordsSpoilTheirRowAlone) {
  const std::vector<std::string> words{"NaN",
                                       "-NaN",
                                       "nan",
                                       "-nan",
                                       "inf",
                                       "-inf",
                                       "Infinity",
                                       "-Infinity",
                                       "1e999",
                                       "-1e999",
                                       std::string("1").append(400, '0'),
                                       "null",
                                       "\"5\"",
                                       "true",
                                       "{}",
                                       "[1]"};
  for (const std::string& word : words) {
    const File file = read(rows("{\"name\": \"NaN inf 1e999\", \"real_time\": " + word +
                                ", \"process\":" + word + "}, {\"name\": \"b\", \"real_time\": 7}"));
    ASSERT_EQ(file.rows.size(), 2U) << word;
    EXPECT_TRUE(std::isnan(file.rows[0].metric)) << word;
    EXPECT_TRUE(file.rows[0].has_metric) << word;
    EXPECT_EQ(file.rows[0].name, "NaN inf 1e999");
    EXPECT_EQ(file.rows[1].metric, 7) << word;
  }
  EXPECT_EQ(read(rows("{\"name\": \"a\", \"real_time\": 1e-999}")).rows[0].metric, 0);
  EXPECT_EQ(read(rows("{\"name\": \"a\", \"real_time\": 1e+0005}")).rows[0].metric, 1e5);
}

TEST(BenchmarkFile, BareWordsAcrossPiecesOfTheFile) {
  // The file is read in pieces; words of every length must be found wherever a piece ends.
  constexpr std::size_t piece = std::size_t{1} << 18U;
  for (std::size_t shift = 0; shift < 12; ++shift) {
    const std::string start = "{\"benchmarks\": [{\"name\": \"a\", \"real_time\": ";
    const std::string text = std::string(piece - start.size() - shift, ' ') + start +
                             "-Infinity}, {\"name\": \"Infinity\\\"NaN\"}]}";
    const File file = read(text);
    ASSERT_EQ(file.rows.size(), 2U);
    EXPECT_TRUE(std::isnan(file.rows[0].metric));
    EXPECT_EQ(file.rows[1].name, "Infinity\"NaN");
  }
}

TEST(BenchmarkFile, MendingKeepsEveryOffset) {
  std::string text = R"({"a": NaN, "b\"NaN": [ -inf,1e400 ], "c": nano, "d": null})";
  const std::string before = text;
  mend_json(text);
  EXPECT_EQ(text.size(), before.size());
  EXPECT_EQ(text, R"({"a": "" , "b\"NaN": [ ""  ,""    ], "c": nano, "d": null})");
}

TEST(BenchmarkFile, SaysWhereItIsNotJson) {
  const std::string cut = error_of(R"({"context": {}, "benchmarks": [{"name": "a")");
  EXPECT_TRUE(holds(cut, "file.json: not valid JSON at byte 44")) << cut;
  EXPECT_TRUE(holds(error_of(""), "at byte 1")) << error_of("");
  EXPECT_TRUE(holds(error_of("GPU 0\n{}"), "at byte 1"));
  EXPECT_TRUE(holds(error_of("{\"benchmarks\": []} trailing"), "at byte 22"));
  EXPECT_TRUE(holds(error_of("{\"benchmarks\": [{\"name\": \"\xff\"}]}"), "UTF-8"));
  EXPECT_TRUE(holds(error_of("{\"benchmarks\": [{\"name\": \"a\", \"real_time\": nano}]}"), "at byte 45"));
}

TEST(BenchmarkFile, SaysWhyItIsNotGoogleBenchmarks) {
  EXPECT_TRUE(holds(error_of("[1, 2, 3]"), "not a Google Benchmark file"));
  EXPECT_TRUE(holds(error_of("5"), "the top level is not an object"));
  EXPECT_TRUE(holds(error_of("{}"), "no \"benchmarks\" array"));
  EXPECT_TRUE(holds(error_of("{\"benchmarks\": 5}"), "not an array"));
  EXPECT_TRUE(holds(error_of("{\"benchmarks\": {\"name\": \"a\"}}"), "not an array"));
  EXPECT_TRUE(holds(error_of(rows("5")), "not an object"));
  EXPECT_TRUE(holds(error_of(rows("[{\"name\": \"a\"}]")), "not an object"));
  EXPECT_TRUE(holds(error_of(rows("{\"name\": \"a\"}, {}")), "row 1 of \"benchmarks\" has no name"));
  EXPECT_TRUE(holds(error_of(rows("{\"name\": 5}")), "no name"));
  EXPECT_TRUE(holds(error_of("{\"benchmarks\": [], \"benchmarks\": []}"), "twice"));
  EXPECT_TRUE(holds(error_of("[]"), "before byte"));
}

TEST(BenchmarkFile, DeepNestingIsNoRecursion) {
  const std::size_t depth = 1000000;
  const std::string deep = std::string(depth, '[') + std::string(depth, ']');
  const File file =
      read(rows("{\"name\": \"a\", \"real_time\": 1, \"odd\": " + deep + "}, {\"name\": \"b\"}"));
  ASSERT_EQ(file.rows.size(), 2U);
  EXPECT_EQ(file.rows[0].metric, 1);
  EXPECT_TRUE(holds(error_of(rows("{\"name\": \"a\", \"odd\": " + std::string(depth, '['))), "at byte"));
}

TEST(BenchmarkFile, ValuesInsideOthersAreNotTheRows) {
  const File file = read(
      rows(R"({"name": "a", "real_time": 1, "odd": {"name": "x", "real_time": 9}, "odder": [{"name": 7}]})"));
  ASSERT_EQ(file.rows.size(), 1U);
  EXPECT_EQ(file.rows[0].name, "a");
  EXPECT_EQ(file.rows[0].metric, 1);
}

TEST(BenchmarkFile, OfAKeyThatComesTwiceTheLastCounts) {
  const File file = read(rows(R"({"name": "a", "real_time": 1, "name": "b", "real_time": 2})"));
  EXPECT_EQ(file.rows[0].name, "b");
  EXPECT_EQ(file.rows[0].metric, 2);
  EXPECT_TRUE(std::isnan(read(rows(R"({"name": "a", "real_time": 1, "real_time": "x"})")).rows[0].metric));
}

TEST(BenchmarkFile, OtherMetrics) {
  const std::string text = rows(R"({"name": "a", "real_time": 1, "bytes_per_second": 5e9}, {"name": "b"})");
  const File file = read(text, "bytes_per_second");
  EXPECT_EQ(file.rows[0].metric, 5e9);
  EXPECT_FALSE(file.rows[1].has_metric);
}

TEST(BenchmarkFile, FilesThatCannotBeRead) {
  const Folder folder;
  const auto read_path = [&](const std::string& name) {
    return usage_error_of([&] { read_benchmark_file(folder.at(name), "real_time", [](BenchmarkRow&) {}); });
  };
  EXPECT_TRUE(holds(read_path("absent.json"), "No such file"));
  EXPECT_TRUE(holds(read_path(""), "is a folder"));
}

}  // namespace
}  // namespace strictbench
