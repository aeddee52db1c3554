/// What the tests of this folder share: folders that go away, and Google Benchmark files made on the spot.
#pragma once
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "report/compare.h"
#include "report/error.h"
#include "report/results.h"

namespace strictbench::testing {

using Json = nlohmann::ordered_json;

/// A fresh folder, removed with all that is in it at the end of the test.
class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "strictbench-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = pattern;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  std::string at(const std::string& name) const { return (path_ / name).string(); }
  std::string path() const { return path_.string(); }

  std::string write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << text;
    return at(name);
  }
  std::string write(const std::string& name, const Json& json) const { return write(name, json.dump(1)); }

 private:
  std::filesystem::path path_;
};

inline std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// A row as Google Benchmark writes it; `more` adds or replaces fields.
inline Json row(const std::string& name, double time, const Json& more = Json::object()) {
  Json result{{"name", name},          {"run_name", name}, {"run_type", "iteration"}, {"repetitions", 1},
              {"repetition_index", 0}, {"threads", 1},     {"iterations", 1000},      {"real_time", time},
              {"cpu_time", time},      {"time_unit", "ns"}};
  result.update(more);
  return result;
}

inline Json error_row(const std::string& name, const std::string& message) {
  return row(name, 0, {{"error_occurred", true}, {"error_message", message}});
}

inline Json skipped_row(const std::string& name, const std::string& message) {
  return row(name, 0, {{"skipped", true}, {"skip_message", message}});
}

/// A file of rows; `context` adds or replaces fields.
inline Json file_of(std::vector<Json> rows, const Json& context = Json::object()) {
  Json all{{"date", "2026-11-29T10:00:00+00:00"}, {"host_name", "node"}, {"library_build_type", "release"}};
  all.update(context);
  return {{"context", all}, {"benchmarks", std::move(rows)}};
}

/// The message of the UsageError that `action` throws; fails the test where it throws none, or not one line.
template <typename Action>
std::string usage_error_of(const Action& action) {
  try {
    action();
  } catch (const UsageError& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    return message;
  }
  ADD_FAILURE() << "no UsageError";
  return {};
}

/// The files of one side.
using Files = std::vector<Json>;

inline Side side_of(const Files& files, const std::string& metric = "real_time") {
  const Folder folder;
  std::vector<std::string> paths;
  for (const Json& file : files) paths.push_back(folder.write(std::to_string(paths.size()) + ".json", file));
  return read_side(paths, metric);
}

inline Comparison compare_files(const Files& baseline, const Files& contender,
                                const CompareOptions& options = {}) {
  return compare(side_of(baseline, options.metric), side_of(contender, options.metric), options);
}

inline Comparison compare_rows(std::vector<Json> baseline, std::vector<Json> contender,
                               const CompareOptions& options = {}) {
  return compare_files({file_of(std::move(baseline))}, {file_of(std::move(contender))}, options);
}

inline bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace strictbench::testing
