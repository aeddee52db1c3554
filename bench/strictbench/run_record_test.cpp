/// run.json as others may have written it.
#include "bench/strictbench/run_record.h"

#include <gtest/gtest.h>

#include <chrono>

#include "bench/strictbench/executables.h"
#include "bench/strictbench/run_summary.h"
#include "report/testing.h"

namespace strictbench::runner {
namespace {

using strictbench::testing::Folder;
using strictbench::testing::usage_error_of;
using Json = nlohmann::ordered_json;

Json record_of(const std::string& operator_name) {
  return {{"format", 1},
          {"status", "interrupted"},
          {"command", {"strictbench", "run"}},
          {"started_utc", "2026-11-29T10:00:00Z"},
          {"device", "cpu"},
          {"seed", 1},
          {"runner_pid", 1},
          {"options",
           {{"processes", 1},
            {"budget", 1},
            {"timeout", 1},
            {"allow_debug", false},
            {"executables", "/nowhere"}}},
          {"build", Json::object()},
          {"executables", {{operator_name, {{"sha256", "f00d"}, {"device", "cpu"}}}}},
          {"machine", {{"before", Json::object()}}},
          {"notes", Json::array()},
          {"processes",
           {{{"operator", operator_name},
             {"process", 0},
             {"status", "ok"},
             {"seconds", 1},
             {"cases", {"a/b/c"}},
             {"problems", {{{"case", "a\x1b[2J"}, {"state", "wrong"}, {"reason", "b\nc"}}}}}}}};
}

TEST(RunRecord, AnOperatorNamesFilesAndIsAPlainWord) {
  const Folder folder;
  folder.write("run.json", record_of("op_1"));
  EXPECT_EQ(load(folder.path()).processes.at(0).file, "op_1.0.json");
  for (const char* name : {"../../x", "/etc/x", "a b", "$(touch x)", "a\nb", "", "."}) {
    folder.write("run.json", record_of(name));
    EXPECT_NE(usage_error_of([&] { load(folder.path()); }).find("is no name of an operator"),
              std::string::npos)
        << name;
  }
}

TEST(RunRecord, NestedWithoutEndIsRefused) {
  const Folder folder;
  std::string text = record_of("op").dump();
  const std::string build = "\"build\":{}";
  text.replace(text.find(build), build.size(),
               "\"build\":" + std::string(300000, '[') + std::string(300000, ']'));
  folder.write("run.json", text);
  EXPECT_NE(usage_error_of([&] { load(folder.path()); }).find("deep at byte"), std::string::npos);
  const std::string description =
      "{\"operator\": " + std::string(300000, '[') + std::string(300000, ']') + "}";
  EXPECT_NE(usage_error_of([&] { read_description("/nowhere/bench_op", description); }).find("deep at byte"),
            std::string::npos);
}

TEST(RunRecord, WhatIsSaidOfARunHoldsNoEscapeOfANamesMaking) {
  const Folder folder;
  folder.write("run.json", record_of("op"));
  const std::string said = summary(load(folder.path()), folder.path(), "strictbench");
  EXPECT_NE(said.find("wrong    a\\x1b[2J: b\\x0ac\n"), std::string::npos) << said;
}

TEST(RunRecord, ManyProblemsAreSummedUpInATimeThatGrowsWithThem) {
  RunRecord record;
  ProcessRecord& process = record.processes.emplace_back();
  process.operator_name = "op";
  process.status = ProcessStatus::failed;
  for (int i = 0; i < 100000; ++i) {
    process.cases.push_back("op/new/rows:" + std::to_string(i));
    process.problems.push_back(
        {process.cases.back(), CaseState::failed, "reason " + std::to_string(i % 50000)});
  }
  const auto began = std::chrono::steady_clock::now();
  EXPECT_FALSE(summary(record, "folder", "strictbench").empty());
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));
}

}  // namespace
}  // namespace strictbench::runner
