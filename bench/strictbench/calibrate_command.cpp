/// `strictbench calibrate`: measures cases with waits of known length behind each call, or takes a folder
/// where that was done, and says what the comparison makes of it; calibration.h has the judging.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <sstream>

#include "bench/strictbench/calibration.h"
#include "bench/strictbench/calibration_cases.h"
#include "bench/strictbench/calibration_output.h"
#include "bench/strictbench/commands.h"
#include "bench/strictbench/device_lock.h"
#include "bench/strictbench/executables.h"
#include "bench/strictbench/files.h"
#include "bench/strictbench/fresh_run.h"
#include "bench/strictbench/machine.h"
#include "bench/strictbench/plan.h"
#include "bench/strictbench/runner.h"
#include "report/delivery.h"
#include "report/error.h"
#include "report/output_file.h"
#include "report/text.h"

namespace fs = std::filesystem;

namespace strictbench::runner {
namespace {

constexpr int default_processes = 60;

struct CalibrateArguments {
  RunArguments run;
  std::string executables, from;
  calibration::Settings settings;
  int sides = 10, tables = 0;
  const CLI::Option *tables_option = nullptr, *seed = nullptr;

  int processes() const { return run.processes_given() ? run.options.processes : default_processes; }
};

void require_usable(const CalibrateArguments& arguments) {
  const calibration::Settings& settings = arguments.settings;
  if (arguments.sides < 1) throw UsageError("--sides must be a number above 0");
  if (arguments.tables_option->count() > 0 && arguments.tables < 1)
    throw UsageError("--tables must be a number above 0");
  require_threshold(settings.threshold);
  require_alpha(settings.alpha);
  if (!arguments.from.empty()) return;
  arguments.run.require_usable();
  const long least = 2L * arguments.sides;
  if (arguments.processes() < least)
    throw UsageError("--processes " + std::to_string(arguments.processes()) + " cannot fill two sides of " +
                     std::to_string(arguments.sides) + ": give " + std::to_string(least) + " or more");
}

/// "--delays=0,0.01,0.02".
std::string delays_flag() {
  std::ostringstream flag;
  flag << "--delays=";
  for (const double delay : calibration::delays) flag << (delay == 0 ? "" : ",") << delay;
  return flag.str();
}

/// Selects the cases of the default list; returns those that this build does not have.
std::set<std::string> select_default(std::vector<Executable>& executables,
                                     const std::vector<std::string>& names) {
  const std::set<std::string> wanted(names.begin(), names.end());
  std::set<std::string> missing = wanted;
  for (Executable& executable : executables) {
    for (Case& one : executable.cases) {
      const auto arm = calibration::arm_of(one.name);
      one.selected = arm && wanted.contains(arm->case_name);
      if (one.selected) missing.erase(arm->case_name);
    }
  }
  return missing;
}

RunRecord begin(const CalibrateArguments& arguments, StopSignals& signals, DeviceLocks& locks,
                std::vector<Planned>& planned) {
  RunOptions options = arguments.run.options;
  options.processes = options.most_processes = arguments.processes();
  options.flags = {delays_flag()};
  options.executables =
      fs::absolute(arguments.executables.empty() ? own_folder() : fs::path(arguments.executables)).string();
  std::vector<Executable> found =
      find_executables(options.executables, {options.filter, options.device, options.flags}, signals, &locks);
  std::set<std::string> missing;
  if (options.filter.empty()) {
    const bool gpu = std::ranges::any_of(found, [](const Executable& one) { return !one.gpu_name.empty(); });
    const std::vector<std::string> names = calibration::default_cases(gpu);
    missing = select_default(found, names);
    if (missing.size() == names.size())
      throw UsageError("this build has none of the default cases: name some with --filter");
    options.filter = calibration::filter_of(names);
  }
  require_selected(found, options.filter);
  RunRecord record = fresh_record(options, found, signals);
  if (arguments.seed->count() > 0) record.seed = arguments.settings.seed;
  for (const std::string& name : missing) record.notes.push_back("this build has no case " + name);
  for (int round = 0; round < options.processes; ++round)
    std::ranges::move(plan_round({&record}, round, nullptr), std::back_inserter(planned));
  return record;
}

/// How to go on with a folder whose run did not end by itself.
std::string how_to_finish(const fs::path& folder) {
  const std::string program = shell_word(own_command_line().front());
  const std::string word = shell_word(folder.string());
  return program + " run --resume " + word + " measures the rest, " + program + " calibrate --from " + word +
         " evaluates";
}

/// Measures. The exit code of the command where that did not come to its end.
std::optional<int> measure(RunRecord& record, const fs::path& folder, std::vector<Planned> planned,
                           StopSignals& signals) {
  record.runner_pid = static_cast<int>(getpid());
  std::size_t rows = 0;
  for (const auto& [name, executable] : record.executables) rows += executable.cases.size();
  const std::size_t arms_of_a_case = std::size(calibration::delays);
  std::printf("measuring %s with %zu waits each on %s, up to %s each\n",
              counted(rows / arms_of_a_case, "case").c_str(), arms_of_a_case,
              record.gpu_name.empty() ? "the CPU" : printable(record.gpu_name).c_str(),
              counted(record.options.processes, "process").c_str());
  std::fflush(stdout);
  std::vector<std::unique_ptr<Arm>> arms;
  arms.push_back(std::make_unique<Arm>(record, folder));
  Runner runner(
      std::move(arms), [](int) { return More{}; }, signals);
  const std::optional<int> stop = runner.measure_or_say(std::move(planned), how_to_finish(folder));
  if (!stop) return 1;
  if (*stop == 0) return std::nullopt;
  std::fprintf(stderr, "strictbench: stopped; %s\n", how_to_finish(folder).c_str());
  return Stopped{*stop}.exit_code();
}

calibration::Provenance provenance_of(const RunRecord& record, const Side& side) {
  calibration::Provenance from;
  from.device = record.device;
  from.device_name = record.gpu_name;
  if (from.device_name.empty()) from.device_name = record.machine_before.value("cpu_model", "CPU");
  from.date = record.started_utc;
  from.commit = record.commit;
  from.dirty = record.dirty;
  from.processes = record.options.processes;
  from.machine = record.machine_before;
  if (!side.sources.empty()) from.context = side.sources.front().context;
  return from;
}

/// Evaluates what stands in `folder`, writes calibration.json there, and prints it.
int evaluate(const fs::path& folder, const CalibrateArguments& arguments) {
  const RunRecord record = load(folder);
  calibration::Settings settings = arguments.settings;
  settings.sides = static_cast<std::size_t>(arguments.sides);
  settings.tables = static_cast<std::size_t>(arguments.tables);
  if (arguments.seed->count() == 0) settings.seed = record.seed;
  const auto read = [&](const char* metric) { return read_side({folder.string()}, metric); };
  const calibration::Measurements measured{read("real_time"), read("calls"), read("delay_us")};
  calibration::Calibration result = calibration::evaluate(measured, settings);
  result.notes.insert(result.notes.begin(), measured.times.notes.begin(), measured.times.notes.end());
  result.notes.insert(result.notes.begin(), record.notes.begin(), record.notes.end());
  if (std::string line = suspect_line(suspects_of(record)); !line.empty())
    result.notes.push_back(std::move(line));
  const calibration::Provenance provenance = provenance_of(record, measured.times);
  const fs::path file = folder / "calibration.json";
  using Json = nlohmann::ordered_json;
  write_whole(file, to_json(result, provenance).dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
  write_stdout([&](std::ostream& out) {
    write_text(out, result, provenance);
    out << file.string() << "\n";
  });
  const bool broken = std::ranges::any_of(record.processes, [](const ProcessRecord& process) {
    return process.status == ProcessStatus::failed || process.status == ProcessStatus::crashed ||
           process.status == ProcessStatus::timed_out;
  });
  return broken || result.bad_rows > 0 ? 1 : 0;
}

int calibrate(const CalibrateArguments& arguments) {
  open_missing_standard_streams();
  require_usable(arguments);
  if (!arguments.from.empty()) {
    const fs::path folder = arguments.from;
    const RunRecord record = load(folder);
    const FolderLock lock(folder);
    if (!lock.held())
      throw UsageError(folder.string() + " is being written by strictbench, process " +
                       std::to_string(record.runner_pid));
    return evaluate(folder, arguments);
  }
  StopSignals signals;
  DeviceLocks locks(arguments.run.wait, signals);
  try {
    std::vector<Planned> planned;
    RunRecord record = begin(arguments, signals, locks, planned);
    const std::string name = folder_name(utc_compact(), record.commit, record.dirty, record.device);
    const fs::path folder = create_folder(arguments.run.out, name + "_calibration");
    const FolderLock lock(folder);
    if (const std::optional<int> ended = measure(record, folder, std::move(planned), signals)) return *ended;
    return evaluate(folder, arguments);
  } catch (const Stopped& stopped) {
    return stopped.exit_code();
  }
}

}  // namespace
}  // namespace strictbench::runner

namespace strictbench {

void add_calibrate_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "calibrate", "Measure this machine: how often it cries wolf, and which slowdowns it can see");
  const auto arguments = std::make_shared<runner::CalibrateArguments>();
  arguments->run.add_to(*command, std::to_string(runner::default_processes));
  command->get_option("--out")->description(
      "Result folder; must not exist (default: results/<utc>_<commit>_<device>_calibration)");
  command->get_option("--filter")
      ->description(
          "Only cases in whose names this regular expression is found "
          "(default: a dozen that span 2 us to 3 ms)");
  calibration::Settings& settings = arguments->settings;
  command->add_option("--sides", arguments->sides, "Processes on each side of a comparison (default: 10)");
  arguments->tables_option = command->add_option(
      "--tables", arguments->tables, "Tables drawn for each timer (default: 1,000 rows of each size)");
  command->add_option("--threshold", settings.threshold,
                      "Smallest change that matters, as a fraction (default: 0.01)");
  command->add_option("--alpha", settings.alpha, "Error of a whole table (default: 0.01)");
  arguments->seed =
      command->add_option("--seed", settings.seed, "Of the order and the draws (default: random)");
  const CLI::Option* from =
      command->add_option("--from", arguments->from, "Evaluate this folder again and measure nothing");
  // For tests, which have benchmarks of their own: not in the help.
  const CLI::Option* executables = command->add_option("--executables", arguments->executables)->group("");
  command->callback([=, &action] {
    std::string given = arguments->run.first_given();
    if (given.empty() && executables->count() > 0) given = executables->get_name();
    if (from->count() > 0 && !given.empty()) throw UsageError("--from measures nothing: leave out " + given);
    action = [=] { return runner::calibrate(*arguments); };
  });
}

}  // namespace strictbench
