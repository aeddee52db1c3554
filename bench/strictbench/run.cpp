/// `strictbench run`: a fresh or a resumed record, and how much evidence it needs; runner.h has the loop.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "bench/strictbench/adaptive.h"
#include "bench/strictbench/commands.h"
#include "bench/strictbench/device_lock.h"
#include "bench/strictbench/executables.h"
#include "bench/strictbench/files.h"
#include "bench/strictbench/fresh_run.h"
#include "bench/strictbench/kernel_step.h"
#include "bench/strictbench/machine.h"
#include "bench/strictbench/own_folder.h"
#include "bench/strictbench/plan.h"
#include "bench/strictbench/process.h"
#include "bench/strictbench/resume.h"
#include "bench/strictbench/run_record.h"
#include "bench/strictbench/run_summary.h"
#include "bench/strictbench/runner.h"
#include "bench/strictbench/summary_file.h"
#include "bench/strictbench/widths.h"
#include "report/error.h"
#include "report/text.h"

namespace fs = std::filesystem;

namespace strictbench::runner {
namespace {

struct Rounds {
  int least;
  int most;
};
constexpr Rounds rounds_on_gpu{5, 20};
constexpr Rounds rounds_on_cpu{3, 10};

/// Nothing failed, and yet nothing can be said: most samples are suspect.
constexpr int exit_undecided = 3;

/// A run that begins, with its first rounds planned.
RunRecord begin(const RunArguments& arguments, const std::string& executables, StopSignals& signals,
                DeviceLocks& locks, std::vector<Planned>& planned) {
  arguments.require_usable();
  RunOptions options = arguments.options;
  options.executables = fs::absolute(executables.empty() ? own_folder() : fs::path(executables)).string();
  const std::vector<Executable> found =
      find_executables(options.executables, {options.filter, options.device}, signals, &locks);
  require_selected(found, options.filter);
  RunRecord record = fresh_record(options, found, signals);
  if (options.kernels) plan_kernels(record);
  const Rounds rounds = record.gpu_name.empty() ? rounds_on_cpu : rounds_on_gpu;
  if (!arguments.processes_given()) record.options.processes = rounds.least;
  record.options.most_processes = arguments.processes_given() ? record.options.processes : rounds.most;
  for (int round = 0; round < record.options.processes; ++round) {
    std::ranges::move(plan_round({&record}, round, nullptr), std::back_inserter(planned));
  }
  return record;
}

/// Looks at what the folder holds, keeps it in the record, and asks for one more round where a case is wide.
More judge_evidence(RunRecord& record, const fs::path& folder) {
  if (!record.options.adaptive()) return {};
  const Side side = read_side({folder.string()}, "real_time");
  record.evidence = evidence_of(record.processes, half_widths_of(side), record.options);
  More more;
  more.open = open_cases(*record.evidence, record.processes, record.options);
  more.rounds = more.open.empty() ? 0 : 1;
  return more;
}

void say_what_is_measured(const RunRecord& record) {
  std::size_t cases = 0;
  for (const auto& [name, executable] : record.executables) cases += executable.cases.size();
  const RunOptions& options = record.options;
  const std::string least = options.adaptive() ? std::to_string(options.processes) + " to " : "up to ";
  std::printf("measuring %s of %s on %s, %s%s each\n", counted(cases, "case").c_str(),
              counted(record.executables.size(), "operator").c_str(),
              record.gpu_name.empty() ? "the CPU" : printable(record.gpu_name).c_str(), least.c_str(),
              counted(options.most_processes, "process").c_str());
  std::fflush(stdout);
}

/// Measures, and says how it went. The exit code is that of the command.
int measure_and_say(RunRecord& record, const fs::path& folder, std::vector<Planned> planned,
                    StopSignals& signals) {
  record.runner_pid = static_cast<int>(getpid());
  say_what_is_measured(record);
  std::optional<int> stop;
  {
    std::vector<std::unique_ptr<Arm>> arms;
    arms.push_back(std::make_unique<Arm>(record, folder));
    Runner runner(
        std::move(arms), [&](int) { return judge_evidence(record, folder); }, signals);
    stop = runner.measure_or_say(std::move(planned), "what was finished stays in " + folder.string() +
                                                         ", and --resume measures the rest");
    // Apart from all timing, and for it the folder is finished.
    try {
      if (stop == 0) stop = record_kernels(record, folder, signals);
    } catch (const FolderLost& lost) {
      std::fprintf(stderr, "strictbench: %s\n", printable(lost.what()).c_str());
      stop.reset();
    }
  }
  if (!stop) return 1;
  if (*stop == 0) write_summary_file(folder);
  // A reader that went away does not cost the run: its results are on disk.
  std::fputs(summary(record, folder, own_command_line().front()).c_str(), stdout);
  std::fflush(stdout);
  if (*stop != 0) return Stopped{*stop}.exit_code();
  if (!all_ok(record) || !kernels_ok(record)) return 1;
  return suspects_of(record).most() ? exit_undecided : 0;
}

int run(const RunArguments& arguments, const std::string& executables, const std::string& resume) {
  open_missing_standard_streams();
  StopSignals signals;
  DeviceLocks locks(arguments.wait, signals);
  try {
    if (resume.empty()) {
      std::vector<Planned> planned;
      RunRecord record = begin(arguments, executables, signals, locks, planned);
      const fs::path folder = create_folder(
          arguments.out, folder_name(utc_compact(), record.commit, record.dirty, record.device));
      const FolderLock lock(folder);
      return measure_and_say(record, folder, std::move(planned), signals);
    }
    const fs::path folder = resume;
    RunRecord record = load(folder);
    const FolderLock lock(folder);
    if (!lock.held()) {
      throw UsageError(folder.string() + " is being written by strictbench, process " +
                       std::to_string(record.runner_pid));
    }
    record = load(folder);  // its owner may have ended between the first look and the lock
    const std::vector<std::string> lost = find_lost_files(record, folder);
    if (record.status == RunStatus::complete && all_ok(record) && kernels_ok(record)) {
      // A run that was killed behind its last process.
      remove_leftovers(record, folder);
      if (!fs::exists(folder / summary_file_name)) write_summary_file(folder);
      const Suspects suspects = suspects_of(record);
      if (suspects.most()) std::printf("%s\n", printable(suspect_line(suspects)).c_str());
      std::printf("%s is complete: nothing to do\n", printable(folder.string()).c_str());
      return suspects.most() ? exit_undecided : 0;
    }
    require_resumable(record, folder);
    require_unchanged(record, folder, signals, locks);
    for (const std::string& line : lost) {
      record.notes.push_back(line);
      std::fprintf(stderr, "%s\n", printable(line).c_str());
    }
    return measure_and_say(record, folder, left_of(record), signals);
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
  const auto arguments = std::make_shared<runner::RunArguments>();
  arguments->add_to(*command, "5 on a GPU and 3 on the CPU, more for cases that vary, up to 20 and 10");
  const CLI::Option* kernels =
      command->add_flag("--kernels", arguments->options.kernels,
                        "Then record the kernels of each operator, in a process of its own (GPU only)");
  // For tests, which have benchmarks of their own: not in the help.
  const auto executables = std::make_shared<std::string>();
  const CLI::Option* folder = command->add_option("--executables", *executables)->group("");
  const auto resume = std::make_shared<std::string>();
  const CLI::Option* resume_option = command->add_option(
      "--resume", *resume, "Finish the run in this result folder, with the options it was begun with");
  command->callback([=, &action] {
    std::string given = arguments->first_given();
    for (const CLI::Option* option : {kernels, folder}) {
      if (given.empty() && option->count() > 0) given = option->get_name();
    }
    if (resume_option->count() > 0 && !given.empty()) {
      throw UsageError("--resume takes every option from the folder's run.json: leave out " + given);
    }
    action = [=] { return runner::run(*arguments, *executables, *resume); };
  });
}

}  // namespace strictbench
