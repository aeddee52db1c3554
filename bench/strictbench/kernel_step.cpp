#include "bench/strictbench/kernel_step.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <system_error>

#include "bench/strictbench/arm.h"
#include "bench/strictbench/executables.h"
#include "bench/strictbench/files.h"
#include "bench/strictbench/own_folder.h"
#include "bench/strictbench/progress.h"
#include "report/error.h"
#include "report/row_name.h"
#include "report/text.h"

namespace fs = std::filesystem;

namespace strictbench::runner {
namespace {

/// Kernels are the same whatever the timer.
std::vector<std::string> one_timer_of_each(const std::vector<std::string>& cases) {
  std::set<std::string> seen;
  std::vector<std::string> chosen;
  for (const std::string& name : cases) {
    const RowName parts = parse_row_name(name);
    if (seen.insert(parts.complete() ? parts.variant + "/" + parts.shape : name).second)
      chosen.push_back(name);
  }
  return chosen;
}

Ending run_recorder(const RunRecord& record, const ProcessRecord& process, const fs::path& folder,
                    StopSignals& signals) {
  const MeasuredExecutable& executable = record.executables.at(process.operator_name);
  const fs::path path = executable_path(record, process.operator_name);
  if (sha256_of(path, signals) != executable.sha256)
    throw std::runtime_error(path.string() + " was built anew during the run");
  const fs::path cases = scratch_folder(folder) / (process.operator_name + ".kernels.cases");
  std::string names;
  for (const std::string& name : process.cases) names += name + "\n";
  write_whole(cases, names);
  ChildCommand command;
  command.arguments = {path.string(), "--device=" + executable.device,
                       "--kernels=" + (folder / process.file).string(), "--cases=" + cases.string(),
                       "--oracle-cache=" + oracle_folder(folder).string()};
  command.timeout_seconds = record.options.timeout_seconds;
  return run_child(command, signals);
}

/// Cases of a record that have an error in place of kernels, whatever the process's exit code says of them.
std::vector<Problem> failed_cases(const fs::path& file) {
  std::vector<Problem> failed;
  const nlohmann::json document = parse_results(read_file(file));
  if (!holds_array(document, "cases")) throw UsageError("it holds no array \"cases\"");
  for (const nlohmann::json& entry : document["cases"]) {
    const auto error = entry.find("error");
    if (error == entry.end()) continue;
    const std::string why = error->is_string() ? error->get<std::string>() : error->dump();
    failed.push_back({entry.value("name", ""),
                      why.starts_with("check failed:") ? CaseState::wrong : CaseState::failed, why});
  }
  return failed;
}

void judge_record(ProcessRecord& process, const fs::path& file) {
  if (!fs::exists(file)) {
    if (process.status != ProcessStatus::ok) return;
    process.status = ProcessStatus::failed;
    process.reason = "left no record of kernels";
    return;
  }
  try {
    process.problems = failed_cases(file);
  } catch (const std::exception& error) {
    process.status = ProcessStatus::failed;
    process.reason = "left a record of kernels that cannot be read: " + plain_words(error);
    return;
  }
  if (process.problems.empty()) return;
  process.status = ProcessStatus::failed;
  const Problem& first = process.problems.front();
  process.reason = first.name + ": " + first.reason;
  if (process.problems.size() > 1)
    process.reason += " (and " + std::to_string(process.problems.size() - 1) + " more)";
  for (const Problem& problem : process.problems) {
    std::fprintf(stderr, "strictbench: no kernels of %s: %s\n", printable(problem.name).c_str(),
                 printable(problem.reason).c_str());
  }
}

/// Throws where nothing could be tried or written down.
int record_one(RunRecord& record, ProcessRecord& process, OwnFolder& folder, StopSignals& signals) {
  const fs::path kept = folder.path() / process.file;
  folder.require();
  fs::remove(kept);  // of an earlier attempt
  fs::remove(kept.string() + ".part");
  forget_ending(process, ProcessStatus::running);
  folder.save(record);
  const Ending ending = run_recorder(record, process, folder.path(), signals);
  folder.require();  // before anything is taken away or written under its name
  std::error_code ignored;
  fs::remove(kept.string() + ".part", ignored);  // what it was writing when it was ended
  if (ending.stopped_by != 0) {
    forget_ending(process, ProcessStatus::pending);
  } else {
    judge_ending(process, ending, CaseProgress{}, record.options.timeout_seconds);
    judge_record(process, kept);
  }
  folder.save(record);
  return ending.stopped_by;
}

}  // namespace

void plan_kernels(RunRecord& record) {
  for (const auto& [name, executable] : record.executables) {
    if (executable.gpu_name.empty()) {
      throw UsageError(
          "--kernels records what runs on a GPU, and this run is on the CPU: leave it out, or measure on a "
          "GPU");
    }
    ProcessRecord& process = record.kernels.emplace_back();
    process.operator_name = name;
    process.file = name + ".kernels.json";
    process.cases = one_timer_of_each(executable.cases);
  }
}

bool kernels_ok(const RunRecord& record) {
  return std::ranges::all_of(
      record.kernels, [](const ProcessRecord& process) { return process.status == ProcessStatus::ok; });
}

int record_kernels(RunRecord& record, const fs::path& folder, StopSignals& signals) {
  OwnFolder own(folder);
  Progress progress;
  for (ProcessRecord& process : record.kernels) {
    if (process.status == ProcessStatus::ok) continue;
    progress.show("recording kernels of " + process.operator_name);
    try {
      if (const int stop = record_one(record, process, own, signals)) return stop;
    } catch (const Stopped& stopped) {
      process.status = ProcessStatus::pending;
      return stopped.signal;
    } catch (const std::exception& error) {
      own.require();
      process.status = ProcessStatus::failed;
      process.reason = error.what();
    }
  }
  return 0;
}

std::string kernel_problems(const RunRecord& record) {
  std::string lines;
  for (const ProcessRecord& process : record.kernels) {
    if (process.status == ProcessStatus::ok) continue;
    lines += "kernels   " + printable(process.operator_name) + ": ";
    lines += process.reason.empty() ? "not recorded" : "not all recorded: " + printable(process.reason);
    lines += "\n";
  }
  return lines;
}

}  // namespace strictbench::runner
