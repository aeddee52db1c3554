/// `strictbench ab`: two builds, their processes in turn on one device, compared pair by pair.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <memory>
#include <utility>

#include "bench/strictbench/adaptive.h"
#include "bench/strictbench/commands.h"
#include "bench/strictbench/device_lock.h"
#include "bench/strictbench/executables.h"
#include "bench/strictbench/files.h"
#include "bench/strictbench/fresh_run.h"
#include "bench/strictbench/machine.h"
#include "bench/strictbench/plan.h"
#include "bench/strictbench/process.h"
#include "bench/strictbench/run_record.h"
#include "bench/strictbench/runner.h"
#include "report/compare.h"
#include "report/delivery.h"
#include "report/error.h"
#include "report/results.h"
#include "report/row_name.h"
#include "report/text.h"

namespace fs = std::filesystem;

namespace strictbench::runner {
namespace {

constexpr int least_processes = 5;
constexpr int most_processes = 20;

struct AbArguments {
  RunArguments run;
  std::string base, head;
  double threshold = 0.01;
  double alpha = 0.01;
  Delivery delivery;
};

/// The folder of a build's executables: itself, or the `bin` in it.
fs::path executables_of(const char* option, const std::string& build) {
  const fs::path folder = fs::absolute(build);
  if (!fs::is_directory(folder)) throw UsageError(std::string(option) + " " + build + " is no folder");
  for (const fs::path& candidate : {folder, folder / "bin"}) {
    if (holds_executables(candidate)) return candidate.lexically_normal();
  }
  throw UsageError(std::string(option) + " " + build +
                   " holds no bench_<operator>, nor does a folder bin in it: name a build that is built");
}

/// A report that cannot be written must not cost the measurement.
void require_writable(const std::string& output) {
  if (output.empty()) return;
  const fs::path path = fs::absolute(output);
  const fs::path checked = fs::exists(path) ? path : path.parent_path();
  if (fs::is_directory(path) || access(checked.c_str(), W_OK) != 0) {
    throw UsageError("--output " + output + " cannot be written");
  }
}

RunRecord record_of(const AbArguments& arguments, const char* option, const std::string& build,
                    StopSignals& signals, DeviceLocks& locks) {
  RunOptions options = arguments.run.options;
  options.executables = executables_of(option, build).string();
  if (!arguments.run.processes_given()) options.processes = least_processes;
  options.most_processes = arguments.run.processes_given() ? options.processes : most_processes;
  const std::vector<Executable> found =
      find_executables(options.executables, {options.filter, options.device}, signals, &locks);
  // What the head lacks is missing; without a base there is nothing to compare with.
  if (build == arguments.base) require_selected(found, options.filter);
  RunRecord record = fresh_record(options, found, signals);
  record.runner_pid = static_cast<int>(getpid());
  return record;
}

void require_one_device(const RunRecord& base, const RunRecord& head) {
  if (base.gpu_name == head.gpu_name || head.executables.empty()) return;
  const auto device = [](const RunRecord& record) {
    return record.gpu_name.empty() ? std::string("the CPU") : record.gpu_name;
  };
  throw UsageError("--base measures on " + device(base) + " and --head on " + device(head) +
                   ": build both alike, or give --device cpu");
}

/// Whether a process failed and no row says so: one that exits with an error behind good rows.
bool failed_unseen(const RunRecord& record) {
  return std::ranges::any_of(record.processes, [](const ProcessRecord& process) {
    const auto shows = [](const Problem& problem) { return problem.state != CaseState::skipped; };
    return process.status != ProcessStatus::ok && std::ranges::none_of(process.problems, shows);
  });
}

/// A measurement of two builds, and where it is kept.
class Ab {
 public:
  Ab(const AbArguments& arguments, StopSignals& signals)
      : arguments_(arguments),
        signals_(signals),
        locks_(arguments.run.wait, signals),
        base_(record_of(arguments, "--base", arguments.base, signals, locks_)),
        head_(record_of(arguments, "--head", arguments.head, signals, locks_)),
        looks_(looks_between(base_.options.processes, base_.options.most_processes)) {
    require_one_device(base_, head_);
    base_.side = "base";
    head_.side = "head";
    head_.seed = base_.seed;  // one order for both
    folder_ = create_folder(arguments.run.out,
                            folder_name(utc_compact(), head_.commit, head_.dirty, base_.device) + "_ab");
    try {
      for (const char* side : {"base", "head"}) fs::create_directory(folder_ / side);
    } catch (const fs::filesystem_error& error) {
      remove_if_empty();
      throw UsageError("cannot create the result folder " + error.path1().string() + ": " +
                       error.code().message());
    }
  }

  /// Measures, compares and delivers. Returns the exit code.
  int run() {
    say_what_is_measured();
    const FolderLock base_lock(folder_ / "base");
    const FolderLock head_lock(folder_ / "head");
    const std::optional<int> stop = measure();
    if (!stop) {
      remove_if_empty();
      return 1;
    }
    if (*stop != 0) {
      std::fprintf(stderr, "stopped; what was finished stays in %s\n", folder_.c_str());
      return Stopped{*stop}.exit_code();
    }
    Comparison comparison = compare_sides(read_side({(folder_ / "base").string()}, "real_time"),
                                          read_side({(folder_ / "head").string()}, "real_time"));
    for (const std::string& note : base_.notes) comparison.notes.push_back(note);
    for (const auto& [side, record] : {std::pair{"baseline: ", &base_}, {"contender: ", &head_}}) {
      const std::string line = suspect_line(suspects_of(*record));
      if (!line.empty()) comparison.notes.push_back(side + line);
    }
    comparison.process_failed = comparison.process_failed || failed_unseen(base_) || failed_unseen(head_);
    deliver(comparison, arguments_.delivery);
    std::fprintf(stderr, "results: %s\n", folder_.c_str());
    return comparison.exit_code();
  }

 private:
  /// Nothing measured and nothing to keep: the name is free for another try.
  void remove_if_empty() const {
    std::error_code ignored;
    for (const fs::path& path : {folder_ / "base", folder_ / "head", folder_}) fs::remove(path, ignored);
  }

  void say_what_is_measured() const {
    std::set<std::string> cases;
    for (const RunRecord* record : {&base_, &head_}) {
      for (const auto& [name, executable] : record->executables) {
        cases.insert(executable.cases.begin(), executable.cases.end());
      }
    }
    const RunOptions& options = base_.options;
    const std::string least = options.adaptive() ? std::to_string(options.processes) + " to " : "";
    // Standard output is the comparison's alone.
    std::fprintf(stderr, "measuring %s in both builds by turns on %s, %s%s each\n",
                 counted(cases.size(), "case").c_str(),
                 base_.gpu_name.empty() ? "the CPU" : printable(base_.gpu_name).c_str(), least.c_str(),
                 counted(options.most_processes, "process").c_str());
  }

  std::optional<int> measure() {
    std::vector<Planned> planned;
    for (int round = 0; round < base_.options.processes; ++round) {
      std::ranges::move(plan_round({&base_, &head_}, round, nullptr), std::back_inserter(planned));
    }
    std::vector<std::unique_ptr<Arm>> arms;
    arms.push_back(std::make_unique<Arm>(base_, folder_ / "base"));
    arms.push_back(std::make_unique<Arm>(head_, folder_ / "head"));
    Runner runner(
        std::move(arms), [&](int rounds) { return undecided(rounds); }, signals_);
    return runner.measure_or_say(std::move(planned), "what was finished stays in " + folder_.string());
  }

  /// Rows that the data cannot tell yet, measured until the next look.
  More undecided(int rounds) const {
    More more;
    const auto next = std::ranges::upper_bound(looks_, rounds);
    if (next == looks_.end()) return more;
    const Side base = read_side({(folder_ / "base").string()}, "real_time");
    const Side head = read_side({(folder_ / "head").string()}, "real_time");
    const auto suspect = [](const Evidence* evidence) {
      return evidence != nullptr && evidence->suspect_rows() > 0;
    };
    for (const ComparedRow& row : compare_sides(base, head).rows) {
      // What is left of a row after its suspect samples may be too little now, and need not stay so.
      const bool thinned = row.verdict == Verdict::incomparable &&
                           (suspect(counterpart(base, row.name)) || suspect(counterpart(head, row.name)));
      if (row.verdict == Verdict::inconclusive || thinned) more.open.emplace(without_suffix(row.name));
    }
    // A row that the base failed on cannot be decided either, by however many processes.
    for (const RunRecord* record : {&base_, &head_}) {
      for (const std::string& name : troubled_cases(record->processes)) more.open.erase(name);
    }
    more.rounds = more.open.empty() ? 0 : *next - rounds;
    return more;
  }

  Comparison compare_sides(const Side& base, const Side& head) const {
    CompareOptions options;
    options.threshold = arguments_.threshold;
    options.alpha = arguments_.alpha;
    options.paired = true;
    options.looks = static_cast<int>(looks_.size());
    return compare(base, head, options);
  }

  const AbArguments& arguments_;
  StopSignals& signals_;
  DeviceLocks locks_;
  RunRecord base_;
  RunRecord head_;
  std::vector<int> looks_;
  fs::path folder_;
};

int ab(const AbArguments& arguments) {
  open_missing_standard_streams();
  arguments.run.require_usable();
  require_threshold(arguments.threshold);
  require_alpha(arguments.alpha);
  require_writable(arguments.delivery.output);
  StopSignals signals;
  try {
    return Ab(arguments, signals).run();
  } catch (const Stopped& stopped) {
    return stopped.exit_code();
  }
}

}  // namespace
}  // namespace strictbench::runner

namespace strictbench {

void add_ab_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("ab", "Compare two builds, measured by turns on this machine, pair by pair");
  const auto arguments = std::make_shared<runner::AbArguments>();
  command->add_option("--base", arguments->base, "Build to compare with: its folder, or its bin folder")
      ->required()
      ->type_name("BUILD");
  command->add_option("--head", arguments->head, "Build that may have become slower")
      ->required()
      ->type_name("BUILD");
  arguments->run.add_to(*command, "5, more for rows that are not decided, up to 20");
  command->add_option("--threshold", arguments->threshold,
                      "Smallest change that matters, as a fraction (default 0.01)");
  command->add_option("--alpha", arguments->alpha, "Error of the whole table (default 0.01)");
  add_delivery_options(*command, arguments->delivery);
  command->callback([arguments, &action] { action = [arguments] { return runner::ab(*arguments); }; });
}

}  // namespace strictbench
