/// Fuzz target: a result folder. The parts of the input are its run.json, its result files op.0.json and
/// op.1.json. Through what `run --resume` reads and says, and through comparison and summary.
#include <sstream>

#include "bench/strictbench/arm.h"
#include "bench/strictbench/files.h"
#include "bench/strictbench/plan.h"
#include "bench/strictbench/run_record.h"
#include "bench/strictbench/run_summary.h"
#include "report/accept.h"
#include "report/compare.h"
#include "report/error.h"
#include "report/fuzz/checks.h"
#include "report/fuzz/fuzzing.h"
#include "report/text.h"

namespace strictbench::fuzz {
namespace {

namespace fs = std::filesystem;

/// A name that becomes a part of a path stays in its folder.
void check_inside(const fs::path& folder, const fs::path& path) {
  require(path == folder / path.filename() && path.filename() != "." && path.filename() != "..",
          "a name leaves the folder: " + path.string());
}

void check_record(const Folder& folder) {
  runner::RunRecord record;
  try {
    record = runner::load(folder.path());
  } catch (const UsageError& error) {
    check_error(error);
    return;
  }
  for (const auto* processes : {&record.processes, &record.kernels}) {
    for (const runner::ProcessRecord& process : *processes) {
      check_inside(folder.path(), folder.path() / process.file);
      check_inside(record.options.executables, runner::executable_path(record, process.operator_name));
    }
  }
  for (const auto& [name, executable] : record.executables)
    check_inside(record.options.executables, runner::executable_path(record, name));
  const std::string said = runner::summary(record, folder.path(), "strictbench");
  check_terminal(said);
  require(record.processes.empty() || !said.empty(), "a run of which nothing is said");
  runner::forecast(record.processes, runner::ProcessRecord{}, 0, 0);
  runner::round_fits(record.processes, 1, record.options.budget_seconds);
  // What is kept reads as the same.
  const fs::path again = folder.path() / "again";
  fs::create_directory(again);
  runner::save(record, again);
  const std::string once = runner::read_file(again / "run.json");
  require(nlohmann::json::accept(once), "a record that is no JSON");
  runner::save(runner::load(again), again);
  require(runner::read_file(again / "run.json") == once, "a record changes when it is read and kept");
}

void check_results(const Folder& folder) {
  try {
    const Side side = read_side({folder.path().string()}, "real_time");
    check_side(side);
    const Comparison comparison = compare(side, side, CompareOptions{});
    check_comparison(side, side, comparison);
    std::ostringstream text;
    write_summary(text, side, read_side({folder.path().string()}, "cpu_time"));
    check_json(text.str());
  } catch (const UsageError& error) {
    check_error(error);
  }
}

}  // namespace

void fuzz_one(std::string_view input) {
  static const Folder folder;
  folder.clear();
  const std::vector<std::string_view> parts = parts_of(input);
  folder.write("run.json", parts[0]);
  for (std::size_t i = 1; i < parts.size() && i < 3; ++i)
    folder.write("op." + std::to_string(i - 1) + ".json", parts[i]);
  check_results(folder);
  check_record(folder);
}

}  // namespace strictbench::fuzz
