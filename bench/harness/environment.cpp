#include "bench/harness/environment.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <utility>

namespace strictbench {
namespace {

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name"))
      if (const auto colon = line.find(": "); colon != std::string::npos) return line.substr(colon + 2);
  return "";
}

std::string first_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// The frequency governors of all cores, each once: "performance", or "performance,powersave".
std::string cpu_governors() {
  std::set<std::string> governors;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/devices/system/cpu", error))
    if (std::string governor = first_line(entry.path() / "cpufreq/scaling_governor"); !governor.empty())
      governors.insert(std::move(governor));
  std::string text;
  for (const std::string& governor : governors) text += (text.empty() ? "" : ",") + governor;
  return text;
}

/// The percentage of the last ten seconds in which some thread of the machine waited for a core.
std::string cpu_pressure() {
  const std::string line = first_line("/proc/pressure/cpu");  // some avg10=0.12 avg60=...
  const std::size_t start = line.find("avg10=");
  if (start == std::string::npos) return "";
  return line.substr(start + 6, line.find(' ', start) - start - 6);
}

/// The commit is kept out of the executable, in a file beside it: equal sources give equal executables.
nlohmann::json build_record() {
  std::error_code error;
  const auto executable = std::filesystem::read_symlink("/proc/self/exe", error);
  std::ifstream file(executable.parent_path() / "build.json");
  return nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
}

}  // namespace

std::string build_type() {
#ifdef NDEBUG
  return "release";
#else
  return "debug";
#endif
}

Context environment() {
  Context context{{"build_type", build_type()}};
  const auto add = [&](const char* key, const std::string& value) {
    if (!value.empty()) context.emplace_back(key, value);
  };
  add("cpu_model", cpu_model());
  add("cpu_governor", cpu_governors());
  add("cpu_pressure_percent", cpu_pressure());
  add("boot_id", first_line("/proc/sys/kernel/random/boot_id"));
  const nlohmann::json build = build_record();
  for (const char* key : {"git_commit", "git_dirty", "compiler"})
    if (build.is_object() && build.contains(key) && build[key].is_primitive())  // dump() recurses
      add(key, build[key].is_string() ? build[key].get<std::string>() : build[key].dump());
  return context;
}

}  // namespace strictbench
