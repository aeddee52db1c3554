/// run.json as others may have written it.
#include "bench/strictbench/run_record.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>

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
             {"file", operator_name + ".0.json"},
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

/// What load() says of a record that `change` spoils.
std::string refusal_of(const std::function<void(Json&)>& change) {
  const Folder folder;
  Json record = record_of("op");
  change(record);
  folder.write("run.json", record);
  return usage_error_of([&] { load(folder.path()); });
}

TEST(RunRecord, AFileOfAProcessIsWhatARunCallsIt) {
  for (const char* name :
       {"../../../etc/passwd", "/etc/passwd", "..", ".", "", "a/op.0.json", "./op.0.json"}) {
    const std::string said = refusal_of([&](Json& record) { record["processes"][0]["file"] = name; });
    EXPECT_NE(said.find("\"processes\"[0]: it names a file outside the folder: " + std::string(name)),
              std::string::npos)
        << said;
  }
  const auto said = [](const Json& name) {
    return refusal_of([&](Json& record) { record["processes"][0]["file"] = name; });
  };
  EXPECT_NE(
      said("op.1.json").find("\"processes\"[0]: it names the file 'op.1.json', which a run calls op.0.json"),
      std::string::npos);
  EXPECT_NE(said(5).find("\"processes\"[0]: \"file\" must be text"), std::string::npos);
}

TEST(RunRecord, EveryCaseHasAName) {
  const std::string said = refusal_of([](Json& record) { record["processes"][0]["cases"] = {"a/b/c", ""}; });
  EXPECT_NE(said.find("\"processes\"[0]: it lists a case without a name"), std::string::npos) << said;
}

/// Every member of a record, of its options, processes and problems, in every wrong type, and left out.
TEST(RunRecord, WhatIsWrongIsSaidInOurOwnWords) {
  const std::vector<Json> wrong{5,   -1.5,      "text", true, nullptr, Json::array(), Json::object(),
                                {1}, {{"a", 1}}};
  const auto pointers = [](const Json& record) {
    std::vector<Json::json_pointer> all;
    for (const char* at :
         {"", "/options", "/executables/op", "/machine", "/processes/0", "/processes/0/problems/0",
          "/processes/0/watched", "/evidence", "/evidence/wide/0", "/kernels/0"}) {
      const Json::json_pointer parent(at);
      for (const auto& [key, value] : record.at(parent).items()) all.push_back(parent / key);
    }
    return all;
  };
  Json whole = record_of("op");
  whole["not_selected"] = {"x"};
  whole["evidence"] = {{"stopped_early", 0}, {"wide", {{{"case", "a"}, {"half_width", 0.5}}}}};
  whole["processes"][0]["restarts"] = {"x"};
  whole["processes"][0]["watched"] = {{"samples", 5}, {"suspect", 1}, {"why", {{"heat", 1}}}};
  whole["options"]["flags"] = Json::array();
  whole["kernels"] = {{{"operator", "op"},
                       {"file", "op.kernels.json"},
                       {"status", "ok"},
                       {"seconds", 1},
                       {"cases", {"a/b/c"}}}};
  const Folder folder;
  folder.write("run.json", whole);
  load(folder.path());
  int refused = 0;
  const auto check = [&](const Json& record, const std::string& where) {
    folder.write("run.json", record);
    try {
      load(folder.path());
    } catch (const UsageError& error) {
      ++refused;
      const std::string said = error.what();
      // The library's own: "cannot use at() with string", "type must be string, but is number", "key 'x' not
      // found".
      for (const char* words : {"json.exception", "cannot use", "type must be", "not found", "iterator"})
        EXPECT_EQ(said.find(words), std::string::npos) << where << ": " << said;
    }
  };
  for (const Json::json_pointer& place : pointers(whole)) {
    for (const Json& value : wrong) {
      Json record = whole;
      record[place] = value;
      check(record, place.to_string() + " = " + value.dump());
    }
    Json record = whole;
    record.at(place.parent_pointer()).erase(place.back());
    check(record, "without " + place.to_string());
  }
  for (const Json& value : wrong) check(value, value.dump());
  EXPECT_GT(refused, 200);
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
