#include "report/accept.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "report/baselines_folder.h"
#include "report/compare.h"
#include "report/output_file.h"
#include "report/testing.h"

namespace strictbench {
namespace {

using testing::contents;
using testing::error_row;
using testing::file_of;
using testing::Folder;
using testing::holds;
using testing::Json;
using testing::row;
using testing::skipped_row;
using testing::usage_error_of;

const std::string a = "op/new/rows:8/timer:graph";

Json good_context(const Json& more = Json::object()) {
  Json context{{"gpu_name", "NVIDIA H200"}, {"gpu_uuid", "g"},        {"boot_id", "x"},
               {"driver_version", "580"},   {"cuda_version", "13.0"}, {"compiler", "GNU 12"},
               {"git_commit", "abc"},       {"git_dirty", "false"},   {"build_type", "release"},
               {"binary_sha256", "f00d"}};
  context.update(more);
  return context;
}

/// Files in a folder, read twice as accept does.
struct Result {
  Folder folder;
  std::vector<std::string> paths;
  Side real;
  Side cpu;

  explicit Result(const std::vector<Json>& files) {
    for (const Json& file : files)
      paths.push_back(folder.write(std::to_string(paths.size()) + ".json", file));
    real = read_side(paths, "real_time");
    cpu = read_side(paths, "cpu_time");
  }
  std::string written() const {
    std::ostringstream out;
    write_baseline(out, real, cpu);
    return out.str();
  }
};

std::string objections_to(const std::vector<Json>& files) {
  std::string all;
  for (const std::string& objection : objections(Result(files).real)) all += objection + "\n";
  return all;
}

std::vector<Json> quiet(double time, const Json& context, int processes = 6) {
  std::vector<Json> files;
  for (int i = 0; i < processes; ++i) {
    const double own = time * (1 + 0.0004 * (i % 3));
    files.push_back(
        file_of({row(a, own, {{"check", 1}, {"cpu_time", 7}}), row(a, own, {{"check", 1}, {"cpu_time", 9}})},
                context));
  }
  return files;
}

TEST(Objections, NoneToAGoodResult) { EXPECT_EQ(objections_to(quiet(100, good_context())), ""); }

TEST(Objections, MissingProvenance) {
  for (const std::string key : {"gpu_uuid", "boot_id", "driver_version", "cuda_version", "compiler",
                                "git_commit", "git_dirty", "build_type", "binary_sha256"}) {
    Json context = good_context();
    context.erase(key);
    std::vector<Json> files = quiet(100, context);
    EXPECT_TRUE(holds(objections_to(files), "no " + key + " in the context")) << key;
  }
}

TEST(Objections, AreMadeOncePerReason) {
  const std::string text = objections_to(quiet(1, good_context({{"git_dirty", "true"}})));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  EXPECT_TRUE(holds(text, "0.json and 5 more: built from")) << text;
}

TEST(Objections, BuildsThatAreNoRelease) {
  EXPECT_TRUE(holds(objections_to(quiet(1, good_context({{"git_dirty", "true"}}))), "uncommitted changes"));
  EXPECT_TRUE(holds(objections_to(quiet(1, good_context({{"build_type", "debug"}}))), "a debug build"));
}

TEST(Objections, BadRowsAreNamed) {
  std::vector<Json> files = quiet(100, good_context());
  files[0]["benchmarks"].push_back(error_row("op/new/rows:9/timer:graph", "check failed: 1 of 9"));
  EXPECT_TRUE(holds(objections_to(files), "op/new/rows:9/timer:graph is wrong"));
  files = quiet(100, good_context());
  files[0]["benchmarks"].push_back(error_row("op/new/rows:9/timer:graph", "boom"));
  EXPECT_TRUE(holds(objections_to(files), "op/new/rows:9/timer:graph failed: boom"));
  files = quiet(100, good_context());
  files[0]["benchmarks"].push_back({{"name", a}, {"skipped", true}, {"skip_message", "no room"}});
  EXPECT_TRUE(holds(objections_to(files), a + " was skipped in part: no room")) << objections_to(files);
  files = quiet(100, good_context());
  files[0]["benchmarks"][0]["suspect"] = 1;
  EXPECT_TRUE(holds(objections_to(files), a + " was measured while the machine was throttled"));
  files = quiet(100, good_context());
  for (Json& file : files)
    for (Json& one : file["benchmarks"]) one["time_unit"] = "fortnight";
  EXPECT_TRUE(holds(objections_to(files), a + " holds no times: its time_unit is")) << objections_to(files);
  files = quiet(100, good_context());
  for (std::size_t i = 0; i < 3; ++i) files[i] = file_of({row(a, 120)}, good_context());
  EXPECT_TRUE(holds(objections_to(files), a + " is noisy")) << objections_to(files);
}

TEST(Objections, OneDeviceAndOneCommitASession) {
  std::vector<Json> files = quiet(100, good_context());
  files[0]["context"]["gpu_name"] = "NVIDIA H100";
  EXPECT_TRUE(holds(objections_to(files), "one device"));
  files = quiet(100, good_context());
  files[0]["context"]["git_commit"] = "def";
  EXPECT_TRUE(holds(objections_to(files), "several commits"));
  // Machines may differ in level: that is what sessions are for.
  files = quiet(100, good_context());
  for (const Json& file : quiet(110, good_context({{"boot_id", "y"}, {"git_commit", "def"}})))
    files.push_back(file);
  EXPECT_EQ(objections_to(files), "");
}

TEST(DeviceFolder, IsTheNameWithoutNvidia) {
  EXPECT_EQ(device_folder("NVIDIA H200"), "h200");
  EXPECT_EQ(device_folder("NVIDIA H100 80GB HBM3"), "h100-80gb-hbm3");
  EXPECT_EQ(device_folder("Intel(R) Xeon(R) CPU @ 2.70GHz"), "intel-r-xeon-r-cpu-2.70ghz");
  EXPECT_EQ(device_folder("../../etc/.."), "etc");
  EXPECT_EQ(device_folder("/"), "");
}

TEST(Baseline, OneRowAProcessWithItsMedians) {
  std::vector<Json> files = quiet(100, good_context(), 2);
  for (const Json& file : quiet(110, good_context({{"boot_id", "y"}}), 1)) files.push_back(file);
  const std::string text = Result(files).written();
  const Json json = Json::parse(text);
  ASSERT_EQ(json["benchmarks"].size(), 3U);
  const Json& first = json["benchmarks"][0];
  EXPECT_EQ(first["name"], a);
  EXPECT_EQ(first["real_time"], 100);
  EXPECT_EQ(first["cpu_time"], 8);
  EXPECT_EQ(first["process"], 0);
  EXPECT_EQ(first["session"], 1);
  EXPECT_EQ(first["samples"], 2);
  EXPECT_EQ(first["check"], 1);
  EXPECT_EQ(json["benchmarks"][1]["process"], 1);
  EXPECT_EQ(json["benchmarks"][2]["process"], 0);
  EXPECT_EQ(json["benchmarks"][2]["session"], 2);
  EXPECT_EQ(json["context"]["session.1.boot_id"], "x");
  EXPECT_EQ(json["context"]["session.2.boot_id"], "y");
  EXPECT_EQ(json["context"]["gpu_name"], "NVIDIA H200");
  EXPECT_FALSE(json["context"].contains("git_dirty"));
  // One line a row.
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3 + 6 + static_cast<long>(json["context"].size()));
}

TEST(Baseline, ReadBackItIsTheResultItCameFrom) {
  std::vector<Json> files = quiet(100, good_context());
  for (const Json& file : quiet(101, good_context({{"boot_id", "y"}}))) files.push_back(file);
  const Result result(files);
  const Folder folder;
  const Side baseline = read_side({folder.write("b.json", result.written())}, "real_time");
  ASSERT_EQ(baseline.find(a)->processes.size(), 12U);
  EXPECT_EQ(baseline.sessions.size(), 2U);
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_NEAR(baseline.find(a)->processes[i].value(), result.real.find(a)->processes[i].value(), 1e-4);
  }
  const Comparison comparison = compare(baseline, result.real, {});
  EXPECT_EQ(comparison.rows.at(0).verdict, Verdict::same);
  EXPECT_EQ(comparison.rows.at(0).baseline.samples, comparison.rows.at(0).contender.samples);
}

TEST(Baseline, ADefaultSuiteStaysUnderAMegabyte) {
  std::vector<Json> files;
  for (int process = 0; process < 10; ++process) {
    std::vector<Json> rows;
    for (int shape = 0; shape < 150; ++shape) {
      std::string name = "embedding_backward/legacy/tokens:512/vocab:151936/hidden:";
      name.append(std::to_string(shape)).append("/ids:uniform/dtype:bf16/part:kernel/timer:graph");
      rows.push_back(row(name, 1234567.891 * (1 + 0.0001 * process)));
    }
    files.push_back(file_of(rows, good_context()));
  }
  EXPECT_LT(Result(files).written().size(), 1000000U);
}

TEST(Summary, HasEveryRowAndTheSameVerdicts) {
  const auto name = [](const std::string& variant) { return "op/" + variant + "/rows:8/timer:graph"; };
  std::vector<Json> files = quiet(100, good_context({{"git_dirty", "true"}}));
  for (Json& file : files) {
    file["benchmarks"].push_back(row(name("throttled"), 5, {{"suspect", 1}, {"check", 1}}));
    file["benchmarks"].push_back(skipped_row(name("skipped"), "needs 3 GB"));
    file["benchmarks"].push_back(row(name("flaky"), 7));
  }
  files[0]["benchmarks"].push_back(testing::error_row(name("wrong"), "check failed: 1 of 9 \"x\""));
  files[1]["benchmarks"].push_back(testing::error_row(name("flaky"), "boom"));
  const Result result(files);
  std::ostringstream out;
  write_summary(out, result.real, result.cpu);
  const Json json = Json::parse(out.str());
  EXPECT_EQ(json["benchmarks"].size(), 6U + 6 + 1 + 7 + 1);
  EXPECT_EQ(json["context"]["git_dirty"], "true");
  EXPECT_EQ(json["context"]["caches"], Json::array());
  EXPECT_FALSE(Json::parse(result.written())["context"].contains("caches"));
  const Folder folder;
  const Side again = read_side({folder.write("summary.json", json)}, "real_time");
  EXPECT_EQ(again.find(name("throttled"))->suspect_rows(), 6U);
  EXPECT_EQ(again.find(name("throttled"))->processes[0].suspect_samples.at(0), 5);
  const std::vector<std::string> verdicts = [&] {
    std::vector<std::string> all;
    const Side good = read_side({folder.write("good.json", files[2])}, "real_time");
    for (const Side* side : {&result.real, &again}) {
      std::string text;
      for (const ComparedRow& one : compare(good, *side, {}).rows)
        text += one.name + " " + std::string(name_of(one.verdict)) + "\n";
      all.push_back(text);
    }
    return all;
  }();
  EXPECT_EQ(verdicts[0], verdicts[1]);
  EXPECT_TRUE(holds(verdicts[1], name("flaky") + " failed")) << verdicts[1];
}

TEST(Summary, OfNothingIsStillAFile) {
  std::ostringstream out;
  write_summary(out, Side(), Side());
  EXPECT_EQ(Json::parse(out.str())["benchmarks"].size(), 0U);
  EXPECT_EQ(Json::parse(out.str())["context"], (Json{{"caches", Json::array()}}));
}

TEST(BaselinesAbove, IsTheNearest) {
  const Folder folder;
  folder.write("baselines/x", std::string("1"));
  folder.write("build/bin/x", std::string("1"));
  EXPECT_EQ(baselines_above(folder.at("build/bin")), std::filesystem::path(folder.at("baselines")));
  EXPECT_EQ(baselines_above("/proc"), std::nullopt);
}

TEST(WriteFile, AllOrNothing) {
  const Folder folder;
  const std::string path = folder.write("out.txt", std::string("old"));
  EXPECT_THROW(write_file(path,
                          [](std::ostream& out) {
                            out << "half";
                            throw std::runtime_error("stop");
                          }),
               std::runtime_error);
  EXPECT_EQ(contents(path), "old");
  write_file(path, [](std::ostream& out) { out << "new"; });
  EXPECT_EQ(contents(path), "new");
  const auto files = std::distance(std::filesystem::directory_iterator(folder.path()), {});
  EXPECT_EQ(files, 1);  // nothing temporary is left
}

TEST(WriteFile, WhereItCannot) {
  const Folder folder;
  const auto nothing = [](std::ostream&) {};
  EXPECT_TRUE(holds(usage_error_of([&] { write_file(folder.path(), nothing); }), "it is a folder"));
  EXPECT_TRUE(
      holds(usage_error_of([&] { write_file(folder.at("no/such/folder"), nothing); }), "cannot be written"));
  write_file("/dev/null", [](std::ostream& out) { out << "gone"; });
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(WriteFile, SaysWhy) {
  const auto much = [](std::ostream& out) { out << std::string(1 << 20, 'x'); };
  EXPECT_TRUE(holds(usage_error_of([&] { write_file("/dev/full", much); }), "No space left on device"));
}

TEST(WriteFile, NotOverWhatIsRead) {
  const Folder folder;
  const std::string file = folder.write("same.json", std::string("{}"));
  const std::string run = folder.write("result/run.json", std::string("{}"));
  const std::string result = folder.at("result");
  folder.write("result/row_fold.1.json", std::string("{}"));
  folder.write("result/compare.json", std::string("{}"));
  std::filesystem::create_symlink(file, folder.at("link"));
  std::filesystem::create_directory_symlink(result, folder.at("other_name"));
  for (const std::string& output : {file, folder.at("link"), folder.at("result/../same.json")}) {
    EXPECT_TRUE(holds(usage_error_of([&] {
                        require_apart(output, {result, file});
                      }),
                      "would be overwritten"))
        << output;
    EXPECT_NO_THROW(require_apart(output, {result}));
  }
  for (const char* part : {"run.json", "row_fold.1.json", "row_fold.2.json", "row_fold.kernels.json"})
    for (const std::string& output : {folder.at("result/") + part, folder.at("other_name/") + part})
      EXPECT_TRUE(holds(usage_error_of([&] { require_apart(output, {result}); }), "would be overwritten"))
          << output;
  EXPECT_NO_THROW(require_apart(folder.at("result/compare.json"), {result}));  // which nothing reads here
  EXPECT_NO_THROW(require_apart(folder.at("new.json"), {result, file, "no/such/file"}));
  EXPECT_NO_THROW(require_apart("/dev/null", {"/dev/null"}));
  EXPECT_NO_THROW(require_apart("", {file}));
}

TEST(WriteFile, ALinkStaysALink) {
  const Folder folder;
  const std::string target = folder.write("target", std::string("old"));
  std::filesystem::create_symlink(target, folder.at("link"));
  write_file(folder.at("link"), [](std::ostream& out) { out << "new"; });
  EXPECT_TRUE(std::filesystem::is_symlink(folder.at("link")));
  EXPECT_EQ(contents(target), "new");
}

}  // namespace
}  // namespace strictbench
