#include "bench/strictbench/arm.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <optional>
#include <system_error>

#include "bench/strictbench/files.h"
#include "bench/strictbench/machine.h"
#include "bench/strictbench/plan.h"
#include "bench/strictbench/rows.h"
#include "bench/strictbench/starts.h"

namespace fs = std::filesystem;

namespace strictbench::runner {
namespace {

/// Where a process writes its results before they are whole.
fs::path temporary_of(const fs::path& folder, const ProcessRecord& process) {
  return folder / (process.file + ".tmp");
}

std::vector<std::string> arguments_of(const RunRecord& record, const ProcessRecord& process,
                                      const fs::path& folder) {
  const MeasuredExecutable& executable = record.executables.at(process.operator_name);
  std::vector<std::string> arguments{executable_path(record, process.operator_name).string(),
                                     "--device=" + executable.device,
                                     "--benchmark_out=" + temporary_of(folder, process).string(),
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

/// What a start left in its result file.
struct Left {
  std::string text;  ///< the file, or its whole rows; empty: none
  bool whole = false;
  std::string unreadable = "left no result file";
};

Left read_left(const fs::path& temporary) {
  Left left;
  if (!fs::exists(temporary)) return left;
  left.text = read_file(temporary);
  try {
    left.whole = holds_array(parse_results(left.text), "benchmarks");
    if (!left.whole)
      left.unreadable = "left a result file that cannot be read: it holds no array \"benchmarks\"";
  } catch (const std::exception& error) {
    left.unreadable = "left a result file that cannot be read: " + plain_words(error);
  }
  if (!left.whole) left.text = salvage(left.text).value_or("");
  return left;
}

constexpr int exit_device_lost = 3;  // of a benchmark executable

/// Whether a start ended amid a case, so that another may measure those behind it. One that came to the end
/// of its cases has said what there is to say.
bool died(const Ending& ending, const Left& left, const CaseProgress& at) {
  if (ending.timed_out || ending.signal != 0 || ending.exit_code == exit_device_lost) return true;
  return !left.whole && at.phase != "done";  // something called exit()
}

/// Takes over how one start ended; the first that did not end well stands for the process.
void add_ending(ProcessRecord& process, const ProcessRecord& start) {
  process.seconds += start.seconds;
  if (process.status != ProcessStatus::running && process.status != ProcessStatus::ok) return;
  process.status = start.status;
  process.exit_code = start.exit_code;
  process.signal = start.signal;
  process.reason = start.reason;
}

/// Judges the cases by the rows of all starts.
void judge_cases(ProcessRecord& process, const std::string& rows, const Starts& starts) {
  const std::string lost = "the process wrote no row of it";
  const nlohmann::json document = rows.empty() ? nlohmann::json() : parse_results(rows);
  process.problems = find_problems(document, process.cases, lost, starts.lost());
  process.suspects = suspects_of(document);
  const auto serious = std::ranges::find_if(
      process.problems, [](const Problem& problem) { return problem.state != CaseState::skipped; });
  if (serious == process.problems.end()) return;
  if (process.status == ProcessStatus::ok) process.status = ProcessStatus::failed;
  // A row that says what is wrong tells more than an exit code that says that something is.
  const bool by_exit_code = process.exit_code.value_or(0) != 0 && !starts.lost().contains(serious->name);
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
    // We did not: that would be its time limit or a stop signal.
    const std::string by = ending.signal == SIGKILL ? ", which strictbench did not send: out of memory?" : "";
    process.reason = with_message("ended by " + signal_name(ending.signal) + place + by, ending);
  } else if (ending.exit_code != 0) {
    process.status = ProcessStatus::failed;
    process.reason = with_message("exited with code " + std::to_string(ending.exit_code) + place, ending);
  } else {
    process.status = ProcessStatus::ok;
  }
}

void forget_ending(ProcessRecord& process, ProcessStatus status) {
  process.status = status;
  process.exit_code.reset();
  process.signal.reset();
  process.reason.clear();
  process.seconds = 0;
  process.restarts.clear();
  process.problems.clear();
  process.suspects = {};
}

void remove_leftovers(const RunRecord& record, const fs::path& folder) {
  fs::remove_all(scratch_folder(folder));
  for (const ProcessRecord& process : record.processes) fs::remove(temporary_of(folder, process));
}

Arm::Arm(RunRecord& record, fs::path folder) : record_(record), folder_(std::move(folder)) {}

void Arm::begin() {
  for (const auto& [name, executable] : record_.executables) built_[name] = build_of(name);
  folder_.require();
  remove_leftovers(record_, folder_.path());
  // Not with its parents: a result folder that was removed meanwhile must not come back.
  fs::create_directory(scratch_folder(folder_.path()));
  fs::create_directory(oracle_folder(folder_.path()));
  record_.status = RunStatus::running;
  record_.finished_utc.clear();
}

Arm::~Arm() { end(); }

void Arm::end() {
  if (!folder_.what_is_lost().empty()) return;  // what has its name now is another run's
  std::error_code ignored;
  fs::remove_all(scratch_folder(folder_.path()), ignored);
}

Arm::Build Arm::build_of(const std::string& operator_name) const {
  const fs::path path = executable_path(record_, operator_name);
  struct stat info {};
  if (stat(path.c_str(), &info) != 0)
    throw std::system_error(errno, std::generic_category(), "cannot look at " + path.string());
  // Size and time of writing are easily kept where a file is put in another's place; these are not.
  return {info.st_size,
          info.st_mtim.tv_sec,
          info.st_mtim.tv_nsec,
          info.st_ctim.tv_sec,
          info.st_ctim.tv_nsec,
          static_cast<std::int64_t>(info.st_ino),
          static_cast<std::int64_t>(info.st_dev)};
}

int Arm::measure(ProcessRecord& process, StopSignals& signals, const Watch& watch) {
  if (build_of(process.operator_name) != built_.at(process.operator_name)) {
    throw std::runtime_error(executable_path(record_, process.operator_name).string() +
                             " was built anew or exchanged during the run");
  }
  const fs::path kept = folder_.path() / process.file;
  const fs::path temporary = temporary_of(folder_.path(), process);
  forget_ending(process, ProcessStatus::running);
  save();

  // Arms of a calibration are measured against each other: there the cases of a process stay together.
  Starts starts(process.cases, /*again=*/record_.options.flags.empty());
  std::vector<std::string> texts;
  bool last_is_whole = false;
  while (!starts.done()) {
    fs::remove(temporary);
    CaseProgress at;
    const Ending ending = start(process, starts.next(), at, signals, watch);
    folder_.require();  // before anything is taken away or written under its name
    if (ending.stopped_by != 0) {
      forget_ending(process, ProcessStatus::pending);
      fs::remove(temporary);
      return ending.stopped_by;
    }
    ProcessRecord one = process;
    judge_ending(one, ending, at, record_.options.timeout_seconds);
    const Left left = read_left(temporary);
    if (one.status == ProcessStatus::ok && !left.whole) {
      one.status = ProcessStatus::failed;
      one.reason = (at.name.empty() ? "" : "exited with code 0 in " + at.text() + ": ") + left.unreadable;
    }
    add_ending(process, one);
    last_is_whole = left.whole;
    if (!left.text.empty()) texts.push_back(left.text);
    starts.ended({.with_rows = cases_with_rows(left.text),
                  .died = died(ending, left, at),
                  .timed_out = ending.timed_out,
                  .told = ending.exit_code == exit_device_lost,
                  .at = at.name,
                  .phase = at.phase,
                  .reason = one.reason});
    if (!starts.done())
      process.restarts.push_back(one.reason.empty() ? "a case that was suspected is measured alone"
                                                    : one.reason);
  }
  const std::string rows = texts.size() > 1 ? merged(texts) : texts.empty() ? "" : texts[0];
  if (texts.size() == 1 && last_is_whole) {
    publish(temporary, kept);
  } else if (!rows.empty()) {
    write_whole(kept, rows);  // over the same temporary name
  } else {
    fs::remove(temporary);
    fs::remove(kept);  // an earlier attempt's, on a resumed run
  }
  judge_cases(process, rows, starts);
  save();
  return 0;
}

Ending Arm::start(const ProcessRecord& process, const std::vector<std::string>& cases, CaseProgress& at,
                  StopSignals& signals, const Watch& watch) {
  ChildCommand command;
  command.arguments = arguments_of(record_, process, folder_.path());
  if (cases.size() < record_.executables.at(process.operator_name).cases.size()) {
    command.arguments.push_back("--cases=" + write_cases(process.operator_name, cases).string());
  }
  command.timeout_seconds = record_.options.timeout_seconds;
  command.on_progress = [&](std::string_view line) { at.read(line); };
  command.tick_seconds = watch.tick_seconds;
  const std::size_t before = process.cases.size() - cases.size();
  command.on_tick = [&] {
    CaseProgress all = at;
    all.done += before;
    watch.on_tick(all);
  };
  watch.on_tick(at);
  return run_child(command, signals);
}

fs::path Arm::write_cases(const std::string& operator_name, const std::vector<std::string>& cases) const {
  const fs::path path = scratch_folder(folder_.path()) / (operator_name + ".cases");
  std::string text;
  for (const std::string& name : cases) text += name + "\n";
  write_whole(path, text);
  return path;
}

void Arm::finish(bool complete) {
  record_.status = complete ? RunStatus::complete : RunStatus::interrupted;
  record_.finished_utc = utc_readable();
  record_.machine_after = describe_machine(record_.gpu_name, record_.machine_before.value("gpu_uuid", ""));
  save();
}

}  // namespace strictbench::runner
