#include "bench/strictbench/fresh_run.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "bench/strictbench/files.h"
#include "bench/strictbench/machine.h"
#include "bench/strictbench/plan.h"
#include "bench/strictbench/record_checks.h"
#include "bench/strictbench/rows.h"
#include "report/error.h"
#include "report/json_source.h"

namespace fs = std::filesystem;

namespace strictbench::runner {
namespace {

void require_positive(const char* option, double value) {
  if (!(value > 0) || std::isinf(value)) throw UsageError(std::string(option) + " must be a number above 0");
}

/// build.json stands beside the executables; a build without one has no commit.
void read_build(RunRecord& record) {
  const fs::path path = fs::path(record.options.executables) / "build.json";
  record.build = nlohmann::ordered_json::object();
  if (!fs::exists(path)) return;
  try {
    const std::string text = read_file(path);
    require_shallow(text);  // the record holds all of it
    record.build = nlohmann::ordered_json::parse(text);
    record.commit = record.build.value("git_commit", "");
    const auto dirty = record.build.find("git_dirty");
    record.dirty = dirty != record.build.end() && (*dirty == true || *dirty == "true" || *dirty == "1");
  } catch (const std::exception& error) {
    throw UsageError(path.string() + " is not the description of a build: " + plain_words(error));
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

void require_release(const Executable& executable) {
  if (executable.build_type != "debug") return;
  throw UsageError(executable.path.string() +
                   " is a debug build, whose times mean nothing: build a release, or give --allow-debug");
}

/// "results/x" of "results/x/": behind the last slash there is no name to create.
fs::path without_empty_end(fs::path path) {
  while (path.has_parent_path() && path != path.root_path() &&
         (!path.has_filename() || path.filename() == "."))
    path = path.parent_path();
  return path;
}

}  // namespace

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

void RunArguments::add_to(CLI::App& command, const std::string& rounds) {
  const auto add = [&](CLI::Option* option) { given_.push_back(option); };
  add(command.add_option("--filter", options.filter,
                         "Only cases in whose names this regular expression is found"));
  CLI::Option* processes =
      command.add_option("--processes", options.processes,
                         "Starts of each operator, no more and no fewer (default: " + rounds + ")");
  processes_ = processes;
  add(processes);
  add(command.add_option("--budget", options.budget_seconds,
                         "Seconds after which no further round of processes begins (default: 600)"));
  add(command.add_option("--timeout", options.timeout_seconds,
                         "Seconds after which a process is ended (default: 600)"));
  add(command.add_option("--device", options.device,
                         "cpu, cuda or the index of a GPU (default: GPU 0 where there is one)"));
  add(command.add_option("--out", out,
                         "Result folder; must not exist (default: results/<utc>_<commit>_<device>)"));
  // Of this start and not of the run: a resumed one takes it too.
  command.add_flag("--wait", wait, "Wait while another strictbench measures on the device");
  add(command.add_flag("--allow-debug", options.allow_debug, "Measure a debug build"));
}

std::string RunArguments::first_given() const {
  for (const CLI::Option* option : given_) {
    if (option->count() > 0) return option->get_name();
  }
  return {};
}

void RunArguments::require_usable() const {
  require_positive("--budget", options.budget_seconds);
  require_positive("--timeout", options.timeout_seconds);
  // All are planned before the first starts.
  if (processes_given() && (options.processes < 1 || options.processes > most_rounds))
    throw UsageError("--processes must be a number above 0, and at most " + std::to_string(most_rounds));
  if (!options.device.empty()) require_device(options.device);
  if (fs::path(out).filename() == "..") throw UsageError("--out " + out + " ends in '..': name a folder");
  if (!out.empty() && fs::exists(out)) {
    throw UsageError("--out " + out + " exists already: name a folder that does not");
  }
}

RunRecord fresh_record(const RunOptions& options, const std::vector<Executable>& executables,
                       StopSignals& signals) {
  RunRecord record;
  record.options = options;
  std::string gpu_uuid;
  for (const Executable& executable : executables) {
    for (const Case& one : executable.cases) {  // a comparison tells them from cases that are gone
      if (!one.selected) record.not_selected.push_back(one.name);
    }
    std::vector<std::string> cases = executable.selected_names();
    if (cases.empty()) continue;
    if (!options.allow_debug) require_release(executable);
    if (record.gpu_name.empty()) {
      record.gpu_name = executable.gpu_name;
      gpu_uuid = executable.gpu_uuid;
    }
    std::string device = options.device;
    if (device.empty()) device = executable.gpu_name.empty() ? "cpu" : "cuda";
    record.executables[executable.operator_name] = {sha256_of(executable.path, signals), device,
                                                    executable.gpu_name, std::move(cases)};
  }
  record.command = own_command_line();
  record.seed = (std::uint64_t{std::random_device{}()} << 32) | std::random_device{}();
  record.device = device_slug(record.gpu_name);
  record.started_utc = utc_readable();
  record.machine_before = describe_machine(record.gpu_name, gpu_uuid);
  read_build(record);
  return record;
}

fs::path create_folder(const std::string& out, const std::string& name) {
  const bool named = !out.empty();
  fs::path folder = named ? without_empty_end(out) : results_folder() / name;
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

}  // namespace strictbench::runner
