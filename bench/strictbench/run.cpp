/// `strictbench run`: options, the result folder, a fresh or a resumed record; runner.h has the loop.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <system_error>

#include "bench/strictbench/commands.h"
#include "bench/strictbench/executables.h"
#include "bench/strictbench/files.h"
#include "bench/strictbench/machine.h"
#include "bench/strictbench/plan.h"
#include "bench/strictbench/process.h"
#include "bench/strictbench/run_record.h"
#include "bench/strictbench/run_summary.h"
#include "bench/strictbench/runner.h"
#include "report/error.h"

namespace fs = std::filesystem;

namespace strictbench::runner {
namespace {

constexpr int processes_on_gpu = 5;
constexpr int processes_on_cpu = 3;

struct RunArguments {
  RunOptions options;
  std::string out, resume;
  bool processes_given = false;
};

void require_positive(const char* option, double value) {
  if (!(value > 0) || std::isinf(value)) throw UsageError(std::string(option) + " must be a number above 0");
}

/// The words of our own command line; nobody hands them to a subcommand.
std::vector<std::string> own_command_line() {
  const std::string text = read_file("/proc/self/cmdline");
  std::vector<std::string> words;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\0', start), text.size());
    words.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return words;
}

/// build.json stands beside the executables; a build without one has no commit.
void read_build(RunRecord& record) {
  const fs::path path = fs::path(record.options.executables) / "build.json";
  record.build = nlohmann::ordered_json::object();
  if (!fs::exists(path)) return;
  try {
    record.build = nlohmann::ordered_json::parse(read_file(path));
    record.commit = record.build.value("git_commit", "");
    const auto dirty = record.build.find("git_dirty");
    record.dirty = dirty != record.build.end() && (*dirty == true || *dirty == "true" || *dirty == "1");
  } catch (const nlohmann::json::exception& error) {
    throw UsageError(path.string() + " is not the description of a build: " + error.what());
  }
}

/// The folder `results` of the source tree that we stand in, else ./results.
fs::path results_folder() {
  fs::path folder = fs::current_path();
  const auto is_tree = [&] {
    return fs::is_directory(folder / "baselines") && fs::is_directory(folder / "results");
  };
  while (!is_tree() && folder != folder.root_path()) folder = folder.parent_path();
  return is_tree() ? fs::proximate(folder / "results") : fs::path("results");
}

/// Creates the result folder. Throws UsageError, with nothing created, where it cannot.
fs::path create_folder(const std::string& out, const RunRecord& record) {
  const bool named = !out.empty();
  fs::path folder =
      named ? fs::path(out)
            : results_folder() / folder_name(utc_compact(), record.commit, record.dirty, record.device);
  const fs::path base = folder;
  try {
    if (folder.has_parent_path()) fs::create_directories(folder.parent_path());
    // Two runs of one second share a name; create_directory tells who was first.
    for (int next = 2; !fs::create_directory(folder); ++next) {
      if (named) throw UsageError("--out " + out + " exists already: name a folder that does not");
      folder = base.string() + "-" + std::to_string(next);
    }
  } catch (const fs::filesystem_error& error) {
    if (named && fs::exists(base))
      throw UsageError("--out " + out + " exists already: name a folder that does not");
    throw UsageError("cannot create the result folder " + folder.string() + ": " + error.code().message());
  }
  return folder;
}

void require_release(const std::vector<Executable>& executables) {
  for (const Executable& executable : executables) {
    if (executable.build_type != "debug") continue;
    throw UsageError(executable.path.string() +
                     " is a debug build, whose times mean nothing: build a release, or give --allow-debug");
  }
}

RunRecord fresh_record(RunArguments arguments, StopSignals& signals) {
  require_positive("--budget", arguments.options.budget_seconds);
  require_positive("--timeout", arguments.options.timeout_seconds);
  if (arguments.processes_given && arguments.options.processes < 1) {
    throw UsageError("--processes must be a number above 0");
  }
  if (!arguments.options.device.empty()) require_device(arguments.options.device);
  if (!arguments.out.empty() && fs::exists(arguments.out)) {
    throw UsageError("--out " + arguments.out + " exists already: name a folder that does not");
  }
  RunRecord record;
  record.options = arguments.options;
  record.options.executables =
      fs::absolute(arguments.options.executables.empty() ? own_folder()
                                                         : fs::path(arguments.options.executables))
          .string();
  std::vector<Executable> executables = find_executables(
      record.options.executables, {arguments.options.filter, arguments.options.device}, signals);
  require_selected(executables, arguments.options.filter);
  for (const Executable& executable : executables)  // a comparison tells them from cases that are gone
    for (const Case& one : executable.cases)
      if (!one.selected) record.not_selected.push_back(one.name);
  std::erase_if(executables, [](const Executable& one) { return one.selected_names().empty(); });
  if (!arguments.options.allow_debug) require_release(executables);

  for (const Executable& executable : executables) {
    if (record.gpu_name.empty()) record.gpu_name = executable.gpu_name;
    std::string device = arguments.options.device;
    if (device.empty()) device = executable.gpu_name.empty() ? "cpu" : "cuda";
    record.executables[executable.operator_name] = {sha256_of(executable.path, signals), device,
                                                    executable.gpu_name};
  }
  if (!arguments.processes_given) {
    record.options.processes = record.gpu_name.empty() ? processes_on_cpu : processes_on_gpu;
  }
  record.command = own_command_line();
  record.seed = (std::uint64_t{std::random_device{}()} << 32) | std::random_device{}();
  record.device = device_slug(record.gpu_name);
  record.started_utc = utc_readable();
  record.machine_before = describe_machine(record.gpu_name);
  read_build(record);
  for (int round = 0; round < record.options.processes; ++round) {
    for (const std::size_t index : shuffled(executables.size(), record.seed, round)) {
      ProcessRecord process;
      process.operator_name = executables[index].operator_name;
      process.process = round;
      process.file = process.operator_name + "." + std::to_string(round) + ".json";
      process.cases = executables[index].selected_names();
      record.processes.push_back(std::move(process));
    }
  }
  return record;
}

/// Throws UsageError where times measured now would not belong to those that the record holds.
void require_unchanged(RunRecord& record, const fs::path& folder, StopSignals& signals) {
  const std::string refused = "cannot resume " + folder.string() + ": ";
  std::string gpu_name;
  for (const auto& [name, executable] : record.executables) {
    const fs::path path = executable_path(record, name);
    if (!fs::exists(path)) throw UsageError(refused + path.string() + " is gone");
    if (sha256_of(path, signals) != executable.sha256) {
      throw UsageError(refused + path.string() + " was built anew since");
    }
  }
  for (const Executable& now : find_executables(record.options.executables,
                                                {record.options.filter, record.options.device}, signals)) {
    const auto before = record.executables.find(now.operator_name);
    if (before == record.executables.end()) continue;
    if (now.gpu_name != before->second.gpu_name) {
      throw UsageError(refused + "the GPU changed (was '" + before->second.gpu_name + "', now '" +
                       now.gpu_name + "')");
    }
    if (gpu_name.empty()) gpu_name = now.gpu_name;
  }
  const nlohmann::ordered_json machine = describe_machine(gpu_name);
  if (const std::string what = machine_difference(record.machine_before, machine); !what.empty()) {
    throw UsageError(refused + "the machine changed: " + what);
  }
  std::string note = "resumed at " + utc_readable();
  if (record.machine_before.value("boot_id", "") != machine.value("boot_id", "")) {
    note += ", after a restart of the machine: what follows is another session";
  }
  record.notes.push_back(note);
}

/// Measures, and says how it went. The exit code is that of the command.
int measure_and_say(RunRecord& record, const fs::path& folder, StopSignals& signals) {
  record.runner_pid = static_cast<int>(getpid());
  std::size_t cases = 0;
  for (const ProcessRecord& process : record.processes) {
    if (process.process == 0) cases += process.cases.size();
  }
  std::printf("measuring %zu %s of %zu %s on %s, up to %d %s each\n", cases, cases == 1 ? "case" : "cases",
              record.executables.size(), record.executables.size() == 1 ? "operator" : "operators",
              record.gpu_name.empty() ? "the CPU" : record.gpu_name.c_str(), record.options.processes,
              record.options.processes == 1 ? "process" : "processes");
  std::fflush(stdout);
  int stop = 0;
  try {
    stop = measure(record, folder, signals);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "strictbench: %s; what was finished stays in %s, and --resume measures the rest\n",
                 error.what(), folder.c_str());
    record.status = RunStatus::interrupted;
    try {
      save(record, folder);
    } catch (const std::exception&) {  // most likely the very error just told; the last record stays
    }
    return 1;
  }
  std::fputs(summary(record, folder, own_command_line().front()).c_str(), stdout);
  std::fflush(stdout);
  if (stop != 0) return Stopped{stop}.exit_code();
  return all_ok(record) ? 0 : 1;
}

int run(const RunArguments& arguments) {
  open_missing_standard_streams();
  StopSignals signals;
  try {
    if (arguments.resume.empty()) {
      RunRecord record = fresh_record(arguments, signals);
      const fs::path folder = create_folder(arguments.out, record);
      const FolderLock lock(folder);
      return measure_and_say(record, folder, signals);
    }
    const fs::path folder = arguments.resume;
    RunRecord record = load(folder);
    const FolderLock lock(folder);
    if (!lock.held()) {
      throw UsageError(folder.string() + " is being written by strictbench, process " +
                       std::to_string(record.runner_pid));
    }
    record = load(folder);  // its owner may have ended between the first look and the lock
    if (record.status == RunStatus::complete && all_ok(record)) {
      std::printf("%s is complete: nothing to do\n", folder.c_str());
      return 0;
    }
    require_unchanged(record, folder, signals);
    return measure_and_say(record, folder, signals);
  } catch (const Stopped& stopped) {
    return stopped.exit_code();
  }
}

}  // namespace
}  // namespace strictbench::runner

namespace strictbench {

void add_run_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("run", "Measure: each operator in processes of its own, several times");
  auto arguments = std::make_shared<runner::RunArguments>();
  runner::RunOptions& options = arguments->options;
  std::vector<CLI::Option*> fresh;
  fresh.push_back(command->add_option("--filter", options.filter,
                                      "Only cases in whose names this regular expression is found"));
  CLI::Option* processes = command->add_option("--processes", options.processes,
                                               "Starts of each operator (default: 5 on a GPU, 3 on the CPU)");
  fresh.push_back(processes);
  fresh.push_back(
      command->add_option("--budget", options.budget_seconds,
                          "Seconds after which no further round of processes begins (default: 600)"));
  fresh.push_back(command->add_option("--timeout", options.timeout_seconds,
                                      "Seconds after which a process is ended (default: 600)"));
  fresh.push_back(command->add_option("--device", options.device,
                                      "cpu, cuda or the index of a GPU (default: GPU 0 where there is one)"));
  fresh.push_back(command->add_option(
      "--out", arguments->out, "Result folder; must not exist (default: results/<utc>_<commit>_<device>)"));
  fresh.push_back(command->add_flag("--allow-debug", options.allow_debug, "Measure a debug build"));
  // For tests, which have benchmarks of their own: not in the help.
  fresh.push_back(command->add_option("--executables", options.executables)->group(""));
  CLI::Option* resume =
      command->add_option("--resume", arguments->resume,
                          "Finish the run in this result folder, with the options it was begun with");
  command->callback([=, &action] {
    arguments->processes_given = processes->count() > 0;
    for (const CLI::Option* option : fresh) {
      if (resume->count() == 0 || option->count() == 0) continue;
      throw UsageError("--resume takes every option from the folder's run.json: leave out " +
                       option->get_name());
    }
    action = [=] { return runner::run(*arguments); };
  });
}

}  // namespace strictbench
