#include "bench/harness/environment.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

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
  add("boot_id", first_line("/proc/sys/kernel/random/boot_id"));
  const nlohmann::json build = build_record();
  for (const char* key : {"git_commit", "git_dirty", "compiler"})
    if (build.is_object() && build.contains(key))
      add(key, build[key].is_string() ? build[key].get<std::string>() : build[key].dump());
  return context;
}

}  // namespace strictbench
