#include "bench/strictbench/executables.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

#include "bench/harness/visible_gpu.h"
#include "bench/strictbench/files.h"
#include "bench/strictbench/nearest.h"
#include "report/error.h"
#include "report/json_source.h"
#include "report/text.h"

namespace fs = std::filesystem;

namespace strictbench::runner {
namespace {

constexpr double seconds_to_describe = 120;  // a first CUDA context on a machine of eight GPUs is slow
constexpr std::string_view prefix = "bench_";

/// The operator that an executable is named for; empty where the name is none of ours.
std::string operator_of(const fs::path& path) {
  const std::string name = path.filename().string();
  if (!name.starts_with(prefix) || name.ends_with("_test")) return {};
  const std::string rest = name.substr(prefix.size());
  // The name becomes a part of file names: nothing else may enter them.
  const bool plain = std::ranges::all_of(rest, [](unsigned char c) { return std::isalnum(c) || c == '_'; });
  return plain ? rest : std::string();
}

std::vector<fs::path> benchmarks_in(const fs::path& folder, std::error_code& error) {
  std::vector<fs::path> paths;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (operator_of(entry.path()).empty() || !entry.is_regular_file()) continue;
    if (access(entry.path().c_str(), X_OK) == 0) paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  return paths;
}

std::vector<fs::path> require_benchmarks(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> paths = benchmarks_in(folder, error);
  if (error) throw UsageError("cannot read " + folder.string() + ": " + error.message());
  if (paths.empty()) {
    throw UsageError("no benchmark executable (bench_<operator>) in " + folder.string() +
                     ": build them first");
  }
  return paths;
}

std::string last_error(const Ending& ending) {
  return ending.error_lines.empty() ? std::string("no message") : ending.error_lines.back();
}

/// An executable's own words, without its name in front: the command line it complains of is ours.
std::string own_words(const Ending& ending, const fs::path& path) {
  const std::string line = last_error(ending);
  const std::string name = path.string() + ": ";
  return line.starts_with(name) ? line.substr(name.size()) : line;
}

Case read_case(const nlohmann::ordered_json& json) {
  Case result;
  json.at("name").get_to(result.name);
  json.at("variant").get_to(result.variant);
  json.at("shape").get_to(result.shape);
  json.at("timer").get_to(result.timer);
  json.at("gating").get_to(result.gating);
  json.at("selected").get_to(result.selected);
  result.memory = json.value("memory", 0.0);
  return result;
}

Executable describe(const fs::path& path, const Selection& selection, StopSignals& signals) {
  ChildCommand command;
  command.arguments = {path.string(), "--describe"};
  if (!selection.device.empty()) command.arguments.push_back("--device=" + selection.device);
  if (!selection.filter.empty()) command.arguments.push_back("--benchmark_filter=" + selection.filter);
  command.arguments.insert(command.arguments.end(), selection.flags.begin(), selection.flags.end());
  command.timeout_seconds = seconds_to_describe;
  command.keep_output = true;
  const Ending ending = run_child(command, signals);
  if (ending.stopped_by != 0) throw Stopped{ending.stopped_by};
  // Exit code 2 is the executable's own word on the command line: its line says what to do.
  if (ending.exit_code == 2 && !ending.error_lines.empty()) throw UsageError(own_words(ending, path));
  if (ending.timed_out) throw UsageError(path.string() + " --describe does not end");
  if (ending.signal != 0) {
    throw UsageError(path.string() + " --describe ended by " + signal_name(ending.signal) + ": " +
                     last_error(ending));
  }
  if (ending.exit_code != 0) {
    throw UsageError(path.string() + " --describe exited with code " + std::to_string(ending.exit_code) +
                     ": " + last_error(ending));
  }
  return read_description(path, ending.output);
}

/// Whether the executables in `folder` can use a GPU; nothing where no build.json beside them says.
std::optional<bool> built_with_cuda(const fs::path& folder) {
  const fs::path path = folder / "build.json";
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return std::nullopt;
  const auto build = nlohmann::json::parse(read_file(path), nullptr, /*allow_exceptions=*/false);
  if (!build.is_object()) return std::nullopt;  // who records the build says what is wrong with it
  return build.contains("cuda_version");
}

/// What the executables in `folder` would measure on, as far as that can be told without starting any of
/// them: one that describes itself makes a context on its GPU, and would disturb whoever measures there.
/// Empty where it cannot.
std::string device_beforehand(const fs::path& folder, const std::string& device) {
  if (device == "cpu") return device;
  // Without a word on the device a build with CUDA takes the first GPU, any other the CPU.
  if (!built_with_cuda(folder).value_or(!device.empty())) return {};
  std::size_t index = 0;
  if (!device.empty() && device != "cuda") {
    const auto [end, error] = std::from_chars(device.data(), device.data() + device.size(), index);
    if (error != std::errc() || end != device.data() + device.size()) return {};
  }
  return visible_gpu(index).value_or("");
}

}  // namespace

Executable read_description(const fs::path& path, const std::string& text) {
  Executable result;
  result.path = path;
  try {
    require_shallow(text);  // the description is copied and written
    result.description = nlohmann::ordered_json::parse(text);
    result.description.at("operator").get_to(result.operator_name);
    result.description.at("device").get_to(result.device);
    result.description.at("build_type").get_to(result.build_type);
    result.gpu_name = result.description.value("gpu_name", "");
    result.gpu_uuid = result.description.value("gpu_uuid", "");
    for (const auto& json : result.description.at("cases")) result.cases.push_back(read_case(json));
  } catch (const std::exception& error) {
    throw UsageError(printable(path.string() + " --describe did not print a description: " + error.what()));
  }
  if (result.operator_name != operator_of(path)) {
    throw UsageError(printable(path.string()) + " says that it measures '" + printable(result.operator_name) +
                     "': name the executable for its operator");
  }
  return result;
}

std::vector<std::string> Executable::selected_names() const {
  std::vector<std::string> names;
  for (const Case& one : cases) {
    if (one.selected) names.push_back(one.name);
  }
  return names;
}

fs::path own_folder() { return fs::read_symlink("/proc/self/exe").parent_path(); }

bool holds_executables(const fs::path& folder) {
  std::error_code ignored;
  return !benchmarks_in(folder, ignored).empty();
}

std::vector<Executable> find_executables(const fs::path& folder, const Selection& selection,
                                         StopSignals& signals, DeviceLocks* locks) {
  std::vector<Executable> executables;
  const std::vector<fs::path> paths = require_benchmarks(folder);
  const std::string likely = locks != nullptr ? device_beforehand(folder, selection.device) : std::string();
  const bool taken_for_it = !likely.empty() && !locks->holds(likely);
  if (taken_for_it) locks->take(likely);
  bool is_used = false;
  for (const fs::path& path : paths) {
    executables.push_back(describe(path, selection, signals));
    if (locks == nullptr) continue;
    const Executable& found = executables.back();
    const std::string device = found.gpu_uuid.empty() ? found.device : found.gpu_uuid;
    is_used = is_used || device == likely;
    locks->take(device);
  }
  if (taken_for_it && !is_used) locks->give_back(likely);
  return executables;
}

void require_selected(const std::vector<Executable>& executables, const std::string& filter) {
  std::vector<std::string> names;
  std::string operators;
  for (const Executable& executable : executables) {
    if (!executable.selected_names().empty()) return;
    operators += (operators.empty() ? "" : ", ") + executable.operator_name;
    for (const Case& one : executable.cases) names.push_back(one.name);
  }
  if (names.empty())
    throw UsageError("these operators have no cases: " + printable(operators) + "; look at what " +
                     printable(executables.front().path.string()) + " --describe prints");
  if (filter.empty())
    throw UsageError("no case is measured by default in " + printable(operators) +
                     "; choose a timer, as in --filter timer:wall; all: strictbench list --all");
  std::string message =
      "no case is named like '" + printable(filter) + "'; operators: " + printable(operators);
  if (const std::string nearest = nearest_name(filter, names); !nearest.empty()) {
    message += "; nearest case: " + printable(nearest);
  }
  throw UsageError(message + "; all: strictbench list --all");
}

void require_device(const std::string& device) {
  const bool index = !device.empty() && device.size() < 4 &&
                     std::ranges::all_of(device, [](unsigned char c) { return std::isdigit(c); });
  if (device == "cpu" || device == "cuda" || index) return;
  throw UsageError("--device '" + device + "': use cpu, cuda or the index of a GPU");
}

std::string sha256_of(const fs::path& file, StopSignals& signals) {
  // By coreutils' sha256sum: it is on every Linux machine, whereas libcrypto would be one more package to
  // install before a build and one more library to carry to a GPU node.
  ChildCommand command;
  command.arguments = {"sha256sum"};
  command.standard_input = file.string();  // not as an argument: it would escape odd names in its output
  command.keep_output = true;
  const Ending ending = run_child(command, signals);
  if (ending.stopped_by != 0) throw Stopped{ending.stopped_by};
  constexpr std::size_t digits = 64;
  const std::string hash = ending.output.substr(0, digits);
  const bool plausible =
      hash.size() == digits && std::ranges::all_of(hash, [](unsigned char c) { return std::isxdigit(c); });
  if (ending.exit_code != 0 || !plausible) {
    throw std::runtime_error("sha256sum of " + file.string() + " failed: " + last_error(ending));
  }
  return hash;
}

}  // namespace strictbench::runner
