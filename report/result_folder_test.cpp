#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "report/compare.h"
#include "report/results.h"
#include "report/testing.h"

namespace strictbench {
namespace {

using testing::file_of;
using testing::Folder;
using testing::holds;
using testing::Json;
using testing::row;
using testing::usage_error_of;

Json process(const std::string& file, const std::string& status, const Json& more = Json::object()) {
  Json result{{"operator", "op"}, {"process", 0}, {"file", file}, {"status", status}, {"cases", {"a", "b"}}};
  result.update(more);
  return result;
}

TEST(ResultFolder, WhatAProcessDidNotMeasureHasFailed) {
  const Folder folder;
  folder.write("run.json",
               Json{{"status", "complete"},
                    {"processes",
                     {process("op.0.json", "ok", {{"cases", {"a"}}}),
                      process("op.1.json", "crashed", {{"process", 1}, {"reason", "signal 11"}})}}});
  folder.write("op.0.json", file_of({row("a", 1)}));
  const Side side = read_side({folder.path()}, "real_time");
  EXPECT_TRUE(side.find("a")->has_number());
  EXPECT_EQ(side.find("a")->troubles, nullptr);
  ASSERT_NE(side.find("b"), nullptr);
  EXPECT_EQ(side.find("b")->troubles->failed_message, "op, process 1 crashed: signal 11");
  EXPECT_EQ(side.runs.at(0).not_ok, 1U);
}

TEST(ResultFolder, WhatACrashedProcessWroteCountsIfItIsWhole) {
  const Folder folder;
  folder.write("run.json",
               Json{{"status", "complete"},
                    {"processes", {process("op.0.json", "failed"), process("op.1.json", "timed_out")}}});
  folder.write("op.0.json", file_of({row("a", 1)}));
  folder.write("op.1.json", std::string("{\"benchmarks\": [{\"name\": \"b\", "));
  const Side side = read_side({folder.path()}, "real_time");
  EXPECT_TRUE(side.find("a")->has_number());
  EXPECT_EQ(side.find("b")->troubles->failed, 2U);
  ASSERT_EQ(side.notes.size(), 1U);
  EXPECT_TRUE(holds(side.notes[0], "op.1.json: not valid JSON at byte")) << side.notes[0];
}

TEST(ResultFolder, AProcessThatFailedBehindGoodRowsIsNoted) {
  const Folder folder;
  folder.write("run.json",
               Json{{"status", "complete"},
                    {"processes",
                     {process("op.0.json", "failed", {{"reason", "exited with code 1"}}),
                      process("op.1.json", "failed",
                              {{"process", 1},
                               {"problems", {{{"case", "b"}, {"state", "wrong"}, {"reason", "x"}}}}})}}});
  for (const char* name : {"op.0.json", "op.1.json"}) folder.write(name, file_of({row("a", 1), row("b", 1)}));
  const Side side = read_side({folder.path()}, "real_time");
  EXPECT_TRUE(side.find("a")->has_number());
  ASSERT_EQ(side.notes.size(), 1U);  // the other one is told by its row
  EXPECT_EQ(side.notes[0], "op, process 0 failed: exited with code 1; its rows are compared all the same");
  EXPECT_EQ(side.runs.at(0).failed, 2U);
}

TEST(ResultFolder, AProcessThatWasNotMeasuredHasNotFailed) {
  const Folder folder;
  folder.write("run.json", Json{{"status", "interrupted"},
                                {"processes",
                                 {process("op.0.json", "ok", {{"cases", {"a"}}}),
                                  process("op.1.json", "running", {{"process", 1}, {"cases", {"a"}}}),
                                  process("op.2.json", "pending", {{"process", 2}, {"cases", {"a"}}})}}});
  folder.write("op.0.json", file_of({row("a", 1)}));
  const Side side = read_side({folder.path()}, "real_time");
  EXPECT_EQ(side.runs.at(0).not_ok, 2U);
  EXPECT_EQ(side.runs.at(0).failed, 0U);
}

TEST(ResultFolder, GoogleBenchmarksSuffixHidesNoRowOfACrashedProcess) {
  const Folder folder;
  const std::string name = "op/new/rows:1/timer:graph";
  folder.write("run.json", Json{{"status", "complete"},
                                {"processes",
                                 {process("op.0.json", "ok", {{"cases", {name}}}),
                                  process("op.1.json", "crashed", {{"process", 1}, {"cases", {name}}})}}});
  folder.write("op.0.json", file_of({row(name + "/manual_time", 1)}));
  const Side side = read_side({folder.path()}, "real_time");
  EXPECT_EQ(side.find(name), nullptr);
  EXPECT_EQ(side.benchmarks.size(), 1U);
  ASSERT_EQ(side.notes.size(), 1U);
  EXPECT_TRUE(holds(side.notes[0], "its rows come from the other processes")) << side.notes[0];
}

TEST(ResultFolder, ARowThatOneProcessCrashedOnHasFailed) {
  const Folder folder;
  const std::string kept = "op/new/rows:1/timer:graph";
  const std::string lost = "op/new/rows:2/timer:graph";
  const Json problems{{{"case", lost}, {"state", "failed"}, {"reason", "ended by SIGSEGV"}}};
  folder.write(
      "run.json",
      Json{{"status", "complete"},
           {"processes",
            {process("op.0.json", "ok", {{"cases", {kept, lost}}}), process("op.1.json", "crashed",
                                                                            {{"process", 1},
                                                                             {"cases", {kept, lost}},
                                                                             {"reason", "ended by SIGSEGV"},
                                                                             {"problems", problems}})}}});
  folder.write("op.0.json", file_of({row(kept + "/manual_time", 1), row(lost + "/manual_time", 1)}));
  folder.write("op.1.json", file_of({row(kept + "/manual_time", 1)}));
  const Side side = read_side({folder.path()}, "real_time");
  EXPECT_EQ(side.find(kept + "/manual_time")->troubles, nullptr);
  ASSERT_NE(side.find(lost + "/manual_time")->troubles, nullptr);
  EXPECT_EQ(side.find(lost + "/manual_time")->troubles->failed_message,
            "op, process 1 crashed: ended by SIGSEGV");
  EXPECT_EQ(side.benchmarks.size(), 2U);
}

TEST(ResultFolder, AProcessThatDiedOfSeveralCasesTellsEachByItsOwnReason) {
  const Folder folder;
  const std::string crashed = "op/new/rows:1/timer:graph";
  const std::string hung = "op/new/rows:2/timer:graph";
  const Json problems{{{"case", crashed}, {"state", "failed"}, {"reason", "ended by SIGSEGV"}},
                      {{"case", hung}, {"state", "failed"}, {"reason", "ran past its time limit"}}};
  folder.write("run.json", Json{{"status", "complete"},
                                {"processes",
                                 {process("op.0.json", "ok", {{"cases", {crashed, hung}}}),
                                  process("op.1.json", "crashed",
                                          {{"process", 1},
                                           {"cases", {crashed, hung}},
                                           {"reason", "ended by SIGSEGV"},
                                           {"problems", problems}})}}});
  folder.write("op.0.json", file_of({row(crashed, 1), row(hung, 1)}));
  const Side side = read_side({folder.path()}, "real_time");
  ASSERT_NE(side.find(crashed)->troubles, nullptr);
  EXPECT_EQ(side.find(crashed)->troubles->failed_message, "op, process 1 crashed: ended by SIGSEGV");
  ASSERT_NE(side.find(hung)->troubles, nullptr);
  EXPECT_EQ(side.find(hung)->troubles->failed_message, "op, process 1 failed: ran past its time limit");
}

TEST(ResultFolder, ALostProcessIsToldEvenWhereOthersHaveItsRows) {
  const Folder folder;
  folder.write("run.json",
               Json{{"status", "interrupted"},
                    {"processes", {process("op.0.json", "ok"), process("op.1.json", "pending")}}});
  folder.write("op.0.json", file_of({row("a", 1), row("b", 1)}));
  const Side side = read_side({folder.path()}, "real_time");
  EXPECT_EQ(side.find("b")->troubles, nullptr);
  ASSERT_EQ(side.notes.size(), 1U);
  EXPECT_TRUE(holds(side.notes[0], "was not measured")) << side.notes[0];
}

TEST(ResultFolder, UnusableOnes) {
  const auto error = [](const std::string& run) {
    const Folder folder;
    if (!run.empty()) folder.write("run.json", run);
    return usage_error_of([&] { read_side({folder.path()}, "real_time"); });
  };
  EXPECT_TRUE(holds(error(""), "holds no run.json"));
  EXPECT_TRUE(holds(error("{\"processes\": ["), "run.json: not valid JSON at byte 16"));
  EXPECT_TRUE(holds(error("{\"processes\": 1e999}"), "no \"processes\" array"));
  EXPECT_TRUE(holds(error("[]"), "no \"processes\" array"));
  EXPECT_TRUE(holds(error("{\"processes\": [5]}"), "\"processes\"[0] is not an object"));
  EXPECT_TRUE(holds(error("{\"processes\": [{}]}"), "has no status"));
  EXPECT_TRUE(
      holds(error(R"({"processes": [{"status": "ok", "file": "../x.json"}]})"), "outside the folder"));
  EXPECT_TRUE(holds(error(R"({"processes": [{"status": "ok", "cases": ["a", ""]}]})"),
                    "\"processes\"[0] lists a case without a name"));
  EXPECT_TRUE(holds(error(R"({"processes": [{"status": "ok", "file": "gone.json"}]})"), "it is not there"));
}

TEST(ReadSide, NoProcessCountsTwice) {
  const Folder folder;
  const auto file = [](int index, double time) {
    return file_of({row("op/new/rows:1", time)}, {{"process_index", std::to_string(index)}});
  };
  const auto record = [&](const std::string& name, const std::vector<std::string>& files) {
    Json processes = Json::array();
    for (const std::string& its : files)
      processes.push_back(process(its, "ok", {{"cases", {"op/new/rows:1"}}}));
    folder.write(name + "/run.json", Json{{"status", "complete"}, {"processes", processes}});
    folder.write(name + "/op.0.json", file(0, 5));
    folder.write(name + "/op.1.json", file(1, 5));
    return folder.at(name);
  };
  const auto error = [](const std::vector<std::string>& paths) {
    return usage_error_of([&] { read_side(paths, "real_time"); });
  };
  const std::string good = record("good", {"op.0.json", "op.1.json"});
  EXPECT_EQ(read_side({good}, "real_time").find("op/new/rows:1")->processes.size(), 2U);
  EXPECT_TRUE(
      holds(error({record("listed", {"op.0.json", "op.0.json"})}), "run.json: lists op.0.json twice"));
  const std::string copy = record("copy", {"op.0.json", "op.1.json"});
  EXPECT_TRUE(holds(error({good, copy}), "copy/op.0.json: holds the same bytes as " + good + "/op.0.json"));
  EXPECT_TRUE(holds(error({good, copy + "/op.1.json"}), "and one process must not count as two"));
  std::filesystem::remove(copy + "/op.1.json");
  std::filesystem::create_symlink("op.0.json", copy + "/op.1.json");
  EXPECT_TRUE(holds(error({copy}), "copy/op.1.json: holds the same bytes as"));
  // What others measured may be alike to the byte: it says nothing of processes.
  const std::string plain = folder.write("plain.json", file_of({row("a", 1)}));
  const std::string alike = folder.write("alike.json", file_of({row("a", 1)}));
  EXPECT_EQ(read_side({plain, alike}, "real_time").find("a")->processes.size(), 2U);
}

TEST(ReadSide, AFileUnderAnotherOperatorsNameIsRefused) {
  const Folder folder;
  folder.write("run.json", Json{{"status", "complete"}, {"processes", {process("op.0.json", "ok")}}});
  folder.write("op.0.json", file_of({row("op/new/rows:1", 1), row("other/new/rows:1", 1)}));
  EXPECT_TRUE(holds(usage_error_of([&] { read_side({folder.path()}, "real_time"); }),
                    "run.json: lists op.0.json as a process of op, and it holds rows of other"));
}

TEST(ReadSide, PathsThatCannotBe) {
  const Folder folder;
  const std::string file = folder.write("a.json", file_of({row("a", 1)}));
  EXPECT_TRUE(holds(usage_error_of([&] { read_side({folder.at("b\x1b.json")}, "real_time"); }),
                    "b\\x1b.json: does not exist"));
  EXPECT_TRUE(holds(usage_error_of([&] {
                      read_side({file, folder.at("./a.json")}, "real_time");
                    }),
                    "named twice"));
}

TEST(ReadSide, ARunKnowsWhichCasesItWasNotAskedFor) {
  const Folder folder;
  folder.write("row_fold.0.json", file_of({row("a", 1)}));
  folder.write("run.json", Json{{"status", "complete"},
                                {"not_selected", {"b", 7}},
                                {"processes", {process("row_fold.0.json", "ok", {{"cases", {"a"}}})}}});
  const Side side = read_side({folder.path()}, "real_time");
  EXPECT_TRUE(side.not_asked_for("b"));
  EXPECT_FALSE(side.not_asked_for("c"));  // it does not exist any more
  // A baseline's row of either kind: one is left out with a note, one is missing.
  const std::string baseline =
      folder.write("baseline.json", file_of({row("a", 1), row("b", 1), row("c", 1)}));
  const Comparison comparison = compare(read_side({baseline}, "real_time"), side, {});
  ASSERT_EQ(comparison.rows.size(), 2u);
  EXPECT_EQ(comparison.rows[1].name, "c");
  EXPECT_EQ(comparison.rows[1].verdict, Verdict::missing);
  EXPECT_TRUE(std::any_of(comparison.notes.begin(), comparison.notes.end(),
                          [](const std::string& note) { return holds(note, "1 row left out"); }));
  const std::string other = folder.write("other.json", file_of({row("b", 1)}));
  EXPECT_TRUE(holds(usage_error_of([&] { compare(read_side({other}, "real_time"), side, {}); }),
                    "none of the baseline's rows"));
}

}  // namespace
}  // namespace strictbench
