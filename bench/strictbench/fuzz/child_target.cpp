/// Fuzz target: what a benchmark executable says to its runner. The parts of the input are its answer to
/// --describe, its progress lines and its result file.
#include "bench/strictbench/executables.h"
#include "bench/strictbench/progress.h"
#include "bench/strictbench/rows.h"
#include "report/error.h"
#include "report/fuzz/checks.h"
#include "report/fuzz/fuzzing.h"

namespace strictbench::fuzz {
namespace {

void check_description(const std::string& text) {
  try {
    const runner::Executable executable = runner::read_description("/nowhere/bench_op", text);
    require(executable.operator_name == "op", "an executable of another operator");
    require(executable.selected_names().size() <= executable.cases.size(), "cases that do not exist");
    runner::require_selected({executable}, "new");
  } catch (const UsageError& error) {
    check_error(error);
  }
}

void check_progress(std::string_view text) {
  runner::CaseProgress progress;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    progress.read(text.substr(0, end));
    progress.text();
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

/// Every case that was to be measured is measured or has a problem, whatever the process left behind.
void check_rows(const std::string& text) {
  const std::vector<std::string> cases{"op/new/rows:8/dtype:fp32/timer:graph", "op/new/rows:9/timer:graph"};
  nlohmann::json document;
  try {
    document = runner::parse_results(text);
  } catch (const std::exception&) {
    const std::optional<std::string> rows = runner::salvage(text);
    if (!rows) return;
    document = runner::parse_results(*rows);
  }
  const std::vector<runner::Problem> problems = runner::find_problems(document, cases, "lost");
  require(problems.size() <= cases.size(), "more problems than cases");
  for (const runner::Problem& problem : problems)
    require(problem.state != runner::CaseState::measured, "a problem that is none");
}

}  // namespace

void fuzz_one(std::string_view input) {
  const std::vector<std::string_view> parts = parts_of(input);
  check_description(std::string(parts.front()));
  if (parts.size() > 1) check_progress(parts[1]);
  if (parts.size() > 2) check_rows(std::string(parts[2]));
}

}  // namespace strictbench::fuzz
