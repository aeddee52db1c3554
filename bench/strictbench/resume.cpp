#include "bench/strictbench/resume.h"

#include <algorithm>

#include "bench/strictbench/arm.h"
#include "bench/strictbench/executables.h"
#include "bench/strictbench/machine.h"
#include "bench/strictbench/rows.h"
#include "report/error.h"
#include "report/input_file.h"
#include "report/text.h"

namespace fs = std::filesystem;

namespace strictbench::runner {
namespace {

/// Whether `path`, with every link followed, lies in `folder`.
bool lies_in(const fs::path& path, const fs::path& folder) {
  const fs::path real = fs::weakly_canonical(path);
  const fs::path real_folder = fs::canonical(folder);
  return std::ranges::mismatch(real_folder, real).in1 == real_folder.end();
}

bool is_of(const nlohmann::json& row, const std::string& operator_name) {
  return row.is_object() && row.contains("name") && row["name"].is_string() &&
         row["name"].get_ref<const std::string&>().starts_with(operator_name + "/");
}

/// Why a file of a process that ended well must be made again; empty where it is whole and its own. Throws
/// UsageError where no measuring again would help.
std::string what_is_lost(const fs::path& file, const char* array, const std::string& operator_name) {
  if (fs::is_directory(file))
    throw UsageError(printable(file.string()) +
                     " is a folder, where a process's results belong: move it away");
  try {
    if (!fs::exists(file)) return "is gone";
    const nlohmann::json document = parse_results(read_input(file.string()));
    if (!holds_array(document, array)) return "is not whole";
    const bool own =
        std::ranges::all_of(document[array], [&](const auto& row) { return is_of(row, operator_name); });
    return own ? std::string() : "holds rows of another operator";
  } catch (const std::exception&) {  // unreadable or cut off: lost all the same
  }
  return "is not whole";
}

void find_lost(std::vector<ProcessRecord>& processes, const char* array, const fs::path& folder,
               std::vector<std::string>& lines) {
  for (ProcessRecord& process : processes) {
    if (process.status != ProcessStatus::ok) continue;
    const std::string lost = what_is_lost(folder / process.file, array, process.operator_name);
    if (lost.empty()) continue;
    forget_ending(process, ProcessStatus::pending);
    lines.push_back(process.file + " " + lost + ": measured again");
  }
}

/// A result that was wrong once is wrong: measuring until it happens to be right would hide it.
bool found_wrong(const ProcessRecord& process) {
  return std::ranges::any_of(process.problems,
                             [](const Problem& problem) { return problem.state == CaseState::wrong; });
}

}  // namespace

std::vector<std::string> find_lost_files(RunRecord& record, const fs::path& folder) {
  std::vector<std::string> lines;
  find_lost(record.processes, "benchmarks", folder, lines);
  find_lost(record.kernels, "cases", folder, lines);
  if (record.processes.empty())
    throw UsageError((folder / "run.json").string() + " lists no processes, so there is nothing to resume");
  return lines;
}

void require_resumable(const RunRecord& record, const fs::path& folder) {
  const std::string refused = "cannot resume " + folder.string() + ": ";
  if (!record.side.empty()) {
    throw UsageError(refused + "it is the " + record.side +
                     " of a comparison by turns, which cannot be taken up again: start strictbench ab anew");
  }
  const fs::path executables = record.options.executables;
  std::vector<fs::path> paths{executables};
  for (const auto& [name, executable] : record.executables) paths.push_back(executable_path(record, name));
  for (const fs::path& path : paths) {
    if (!path.is_absolute() || lies_in(path, folder)) {
      throw UsageError(
          refused + "run.json names the executable folder " + executables.string() +
          ", and what came with a result folder is not started: measure anew with strictbench run");
    }
  }
}

void require_unchanged(RunRecord& record, const fs::path& folder, StopSignals& signals, DeviceLocks& locks) {
  const std::string refused = "cannot resume " + folder.string() + ": ";
  std::string gpu_name, gpu_uuid;
  for (const auto& [name, executable] : record.executables) {
    const fs::path path = executable_path(record, name);
    if (!fs::exists(path)) throw UsageError(refused + path.string() + " is gone");
    if (sha256_of(path, signals) != executable.sha256) {
      throw UsageError(refused + path.string() + " was built anew since");
    }
  }
  for (const Executable& now : find_executables(
           record.options.executables, {record.options.filter, record.options.device}, signals, &locks)) {
    const auto before = record.executables.find(now.operator_name);
    if (before == record.executables.end()) continue;
    if (now.gpu_name != before->second.gpu_name) {
      throw UsageError(refused + "the GPU changed (was '" + before->second.gpu_name + "', now '" +
                       now.gpu_name + "')");
    }
    if (gpu_name.empty()) {
      gpu_name = now.gpu_name;
      gpu_uuid = now.gpu_uuid;
    }
  }
  const nlohmann::ordered_json machine = describe_machine(gpu_name, gpu_uuid);
  if (const std::string what = machine_difference(record.machine_before, machine); !what.empty()) {
    throw UsageError(refused + "the machine changed: " + what);
  }
  std::string note = "resumed at " + utc_readable();
  if (record.machine_before.value("boot_id", "") != machine.value("boot_id", "")) {
    note += ", after a restart of the machine: what follows is another session";
  }
  record.notes.push_back(note);
}

std::vector<Planned> left_of(const RunRecord& record) {
  std::vector<Planned> planned;
  for (const ProcessRecord& process : record.processes) {
    if (process.status != ProcessStatus::ok && !found_wrong(process))
      planned.push_back({0, process.operator_name, process.process});
  }
  return planned;
}

}  // namespace strictbench::runner
