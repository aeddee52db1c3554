#include "bench/strictbench/runner.h"

#include <algorithm>
#include <chrono>

#include "bench/strictbench/files.h"
#include "bench/strictbench/machine.h"
#include "bench/strictbench/plan.h"
#include "bench/strictbench/progress.h"
#include "bench/strictbench/rows.h"

namespace fs = std::filesystem;

namespace strictbench::runner {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Where the processes of a run share what the oracle said; there while the run lasts.
class OracleFolder {
 public:
  static fs::path path(const fs::path& folder) { return folder / ".oracle"; }

  explicit OracleFolder(const fs::path& folder) : path_(path(folder)) {
    fs::remove_all(path_);  // of a run that was killed: its last file may be a part
    fs::create_directory(path_);
  }
  ~OracleFolder() {
    std::error_code ignored;  // a folder taken away meanwhile is no oracle folder left behind
    fs::remove_all(path_, ignored);
  }
  OracleFolder(const OracleFolder&) = delete;
  OracleFolder& operator=(const OracleFolder&) = delete;

 private:
  fs::path path_;
};

std::vector<std::string> arguments_of(const RunRecord& record, const ProcessRecord& process,
                                      const fs::path& folder) {
  const MeasuredExecutable& executable = record.executables.at(process.operator_name);
  std::vector<std::string> arguments{executable_path(record, process.operator_name).string(),
                                     "--device=" + executable.device,
                                     "--benchmark_out=" + (folder / process.file).string() + ".tmp",
                                     "--benchmark_out_format=json",
                                     "--oracle-cache=" + OracleFolder::path(folder).string(),
                                     "--progress-fd=" + std::to_string(progress_descriptor),
                                     "--benchmark_context=process_index=" + std::to_string(process.process) +
                                         ",binary_sha256=" + executable.sha256};
  if (!record.options.filter.empty()) arguments.push_back("--benchmark_filter=" + record.options.filter);
  return arguments;
}

std::string with_message(const std::string& reason, const Ending& ending) {
  return ending.error_lines.empty() ? reason : reason + ": " + ending.error_lines.back();
}

/// What became of the process, judged by how it ended alone.
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
  const auto serious = std::ranges::find_if(
      process.problems, [](const Problem& problem) { return problem.state != CaseState::skipped; });
  if (serious == process.problems.end()) return;
  if (process.status == ProcessStatus::ok) process.status = ProcessStatus::failed;
  // A row that says what is wrong tells more than an exit code that says that something is.
  const bool by_exit_code = process.exit_code.value_or(0) != 0 && serious->reason != lost;
  if (process.reason.empty() || by_exit_code) process.reason = serious->name + ": " + serious->reason;
}

class Run {
 public:
  Run(RunRecord& record, const fs::path& folder, StopSignals& signals)
      : record_(record), folder_(folder), signals_(signals) {
    for (const auto& [name, executable] : record_.executables) built_[name] = build_of(name);
  }

  int measure_all() {
    for (ProcessRecord& process : record_.processes) {
      if (process.status == ProcessStatus::ok) continue;
      const bool new_round = !round_begun(record_.processes, process.process);
      if (new_round && !round_fits(record_.processes, process.process, record_.options.budget_seconds)) {
        drop_rounds_from(process.process);
        break;
      }
      if (const int stop = measure_one(process)) return stop;
    }
    return signals_.received();
  }

 private:
  using Build = std::pair<fs::file_time_type, std::uintmax_t>;

  Build build_of(const std::string& operator_name) const {
    const fs::path path = executable_path(record_, operator_name);
    return {fs::last_write_time(path), fs::file_size(path)};
  }

  int measure_one(ProcessRecord& process) {
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
    const Clock::time_point start = Clock::now();
    ChildCommand command;
    command.arguments = arguments_of(record_, process, folder_);
    command.timeout_seconds = record_.options.timeout_seconds;
    command.on_progress = [&](std::string_view line) { at.read(line); };
    command.tick_seconds = progress_.on_terminal() ? 0.25 : 1;
    command.on_tick = [&] { show(process, at, seconds_since(start)); };
    show(process, at, 0);
    const Ending ending = run_child(command, signals_);
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

  void drop_rounds_from(int round) {
    const int asked = record_.options.processes;
    std::erase_if(record_.processes, [&](const ProcessRecord& process) { return process.process >= round; });
    record_.notes.push_back("stopped after " + std::to_string(round) + " of " + std::to_string(asked) +
                            " processes of each operator: one more would pass the budget of " +
                            duration_text(record_.options.budget_seconds));
  }

  void show(const ProcessRecord& process, const CaseProgress& at, double seconds) {
    if (!progress_.due()) return;
    const Forecast ahead = forecast(record_.processes, process, seconds, at.done);
    const double elapsed = seconds_since(start_);
    std::string line = std::to_string(ahead.cases_left) +
                       (ahead.cases_left == 1 ? " case left, " : " cases left, ") + duration_text(elapsed);
    if (ahead.seconds_left >= 0) {
      // Rounds that the budget will not let begin are not worth waiting for.
      const double limit = std::max(0.0, record_.options.budget_seconds - elapsed);
      line += " + about " +
              duration_text(process.process > 0 ? std::min(ahead.seconds_left, limit) : ahead.seconds_left);
    }
    progress_.show(line + "  " + (at.name.empty() ? process.operator_name : at.text()));
  }

  RunRecord& record_;
  const fs::path& folder_;
  StopSignals& signals_;
  std::map<std::string, Build> built_;
  Progress progress_;
  Clock::time_point start_ = Clock::now();
};

}  // namespace

fs::path executable_path(const RunRecord& record, const std::string& operator_name) {
  return fs::path(record.options.executables) / ("bench_" + operator_name);
}

int measure(RunRecord& record, const fs::path& folder, StopSignals& signals) {
  record.status = RunStatus::running;
  record.finished_utc.clear();
  int stop = 0;
  {
    const OracleFolder oracle(folder);
    stop = Run(record, folder, signals).measure_all();
  }
  record.status = stop == 0 ? RunStatus::complete : RunStatus::interrupted;
  record.finished_utc = utc_readable();
  record.machine_after = describe_machine(record.gpu_name);
  save(record, folder);
  return stop;
}

}  // namespace strictbench::runner
