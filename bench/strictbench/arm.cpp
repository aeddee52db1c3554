#include "bench/strictbench/arm.h"

#include <algorithm>
#include <optional>
#include <system_error>

#include "bench/strictbench/files.h"
#include "bench/strictbench/machine.h"
#include "bench/strictbench/plan.h"
#include "bench/strictbench/rows.h"

namespace fs = std::filesystem;

namespace strictbench::runner {
namespace {

std::vector<std::string> arguments_of(const RunRecord& record, const ProcessRecord& process,
                                      const fs::path& folder) {
  const MeasuredExecutable& executable = record.executables.at(process.operator_name);
  std::vector<std::string> arguments{executable_path(record, process.operator_name).string(),
                                     "--device=" + executable.device,
                                     "--benchmark_out=" + (folder / process.file).string() + ".tmp",
                                     "--benchmark_out_format=json",
                                     "--oracle-cache=" + oracle_folder(folder).string(),
                                     "--progress-fd=" + std::to_string(progress_descriptor),
                                     "--benchmark_context=process_index=" + std::to_string(process.process) +
                                         ",binary_sha256=" + executable.sha256};
  arguments.insert(arguments.end(), record.options.flags.begin(), record.options.flags.end());
  if (!record.options.filter.empty()) arguments.push_back("--benchmark_filter=" + record.options.filter);
  return arguments;
}

std::string with_message(const std::string& reason, const Ending& ending) {
  return ending.error_lines.empty() ? reason : reason + ": " + ending.error_lines.back();
}

/// Keeps what the process wrote, all of it or its whole rows, and judges the cases by it.
void keep_results(ProcessRecord& process, const fs::path& temporary, const fs::path& kept) {
  nlohmann::json document;
  std::string unreadable = "left no result file";
  bool whole = false;
  if (fs::exists(temporary)) {
    const std::string text = read_file(temporary);
    try {
      document = parse_results(text);
      whole = true;
    } catch (const nlohmann::json::exception& error) {
      unreadable = std::string("left a result file that cannot be read: ") + error.what();
      if (const std::optional<std::string> rows = salvage(text)) {
        write_whole(kept, *rows);
        document = parse_results(*rows);
      }
    }
  }
  if (whole) {
    publish(temporary, kept);
  } else {
    fs::remove(temporary);
    if (document.is_null()) fs::remove(kept);  // an earlier attempt's, on a resumed run
    if (process.status == ProcessStatus::ok) {
      process.status = ProcessStatus::failed;
      process.reason = unreadable;
    }
  }
  const std::string lost = process.reason.empty() ? "the process wrote no row of it" : process.reason;
  process.problems = find_problems(document, process.cases, lost);
  process.suspects = suspects_of(document);
  const auto serious = std::ranges::find_if(
      process.problems, [](const Problem& problem) { return problem.state != CaseState::skipped; });
  if (serious == process.problems.end()) return;
  if (process.status == ProcessStatus::ok) process.status = ProcessStatus::failed;
  // A row that says what is wrong tells more than an exit code that says that something is.
  const bool by_exit_code = process.exit_code.value_or(0) != 0 && serious->reason != lost;
  if (process.reason.empty() || by_exit_code) process.reason = serious->name + ": " + serious->reason;
}

}  // namespace

fs::path executable_path(const RunRecord& record, const std::string& operator_name) {
  return fs::path(record.options.executables) / ("bench_" + operator_name);
}

fs::path scratch_folder(const fs::path& folder) { return folder / ".scratch"; }
fs::path oracle_folder(const fs::path& folder) { return scratch_folder(folder) / "oracle"; }

void judge_ending(ProcessRecord& process, const Ending& ending, const CaseProgress& at, double timeout) {
  const std::string place = at.name.empty() ? std::string() : " in " + at.text();
  process.exit_code.reset();
  process.signal.reset();
  process.reason.clear();
  process.seconds = ending.seconds;
  if (ending.signal != 0) {
    process.signal = ending.signal;
  } else {
    process.exit_code = ending.exit_code;
  }
  if (ending.timed_out) {
    process.status = ProcessStatus::timed_out;
    process.reason = "ran past its time limit of " + duration_text(timeout) + place;
  } else if (ending.signal != 0) {
    process.status = ProcessStatus::crashed;
    process.reason = with_message("ended by " + signal_name(ending.signal) + place, ending);
  } else if (ending.exit_code != 0) {
    process.status = ProcessStatus::failed;
    process.reason = with_message("exited with code " + std::to_string(ending.exit_code) + place, ending);
  } else {
    process.status = ProcessStatus::ok;
  }
}

Arm::Arm(RunRecord& record, fs::path folder) : record_(record), folder_(std::move(folder)) {
  for (const auto& [name, executable] : record_.executables) built_[name] = build_of(name);
  fs::remove_all(scratch_folder(folder_));  // of a run that was killed: its last file may be a part
  fs::create_directories(oracle_folder(folder_));
  record_.status = RunStatus::running;
  record_.finished_utc.clear();
}

Arm::~Arm() {
  std::error_code ignored;  // a folder taken away meanwhile is no scratch left behind
  fs::remove_all(scratch_folder(folder_), ignored);
}

Arm::Build Arm::build_of(const std::string& operator_name) const {
  const fs::path path = executable_path(record_, operator_name);
  return {fs::last_write_time(path), fs::file_size(path)};
}

int Arm::measure(ProcessRecord& process, StopSignals& signals, const Watch& watch) {
  if (build_of(process.operator_name) != built_.at(process.operator_name)) {
    throw std::runtime_error(executable_path(record_, process.operator_name).string() +
                             " was built anew during the run");
  }
  const fs::path kept = folder_ / process.file;
  fs::path temporary = kept;
  temporary += ".tmp";
  fs::remove(temporary);
  process.status = ProcessStatus::running;
  save(record_, folder_);

  CaseProgress at;
  ChildCommand command;
  command.arguments = arguments_of(record_, process, folder_);
  if (process.cases.size() < record_.executables.at(process.operator_name).cases.size()) {
    command.arguments.push_back("--cases=" + write_cases(process).string());
  }
  command.timeout_seconds = record_.options.timeout_seconds;
  command.on_progress = [&](std::string_view line) { at.read(line); };
  command.tick_seconds = watch.tick_seconds;
  command.on_tick = [&] { watch.on_tick(at); };
  watch.on_tick(at);
  const Ending ending = run_child(command, signals);
  if (ending.stopped_by != 0) {
    process.status = ProcessStatus::pending;
    fs::remove(temporary);
    return ending.stopped_by;
  }
  judge_ending(process, ending, at, record_.options.timeout_seconds);
  keep_results(process, temporary, kept);
  save(record_, folder_);
  return 0;
}

fs::path Arm::write_cases(const ProcessRecord& process) const {
  const fs::path path = scratch_folder(folder_) / (process.operator_name + ".cases");
  std::string text;
  for (const std::string& name : process.cases) text += name + "\n";
  write_whole(path, text);
  return path;
}

void Arm::finish(bool complete) {
  record_.status = complete ? RunStatus::complete : RunStatus::interrupted;
  record_.finished_utc = utc_readable();
  record_.machine_after = describe_machine(record_.gpu_name, record_.machine_before.value("gpu_uuid", ""));
  save(record_, folder_);
}

}  // namespace strictbench::runner
