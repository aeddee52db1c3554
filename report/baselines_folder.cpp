#include "report/baselines_folder.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

namespace strictbench {
namespace {

namespace fs = std::filesystem;

/// The source tree that the executables of a folder were built from, as build.json beside them says.
fs::path source_of_build(const fs::path& executables) {
  std::ifstream file(executables / "build.json");
  const nlohmann::json build = nlohmann::json::parse(file, nullptr, false);
  if (!build.is_object()) return {};
  const auto source = build.find("source");
  return source != build.end() && source->is_string() ? fs::path(source->get<std::string>()) : fs::path();
}

}  // namespace

std::optional<fs::path> baselines_above(const fs::path& start) {
  std::error_code ignored;
  for (fs::path folder = start; !folder.empty(); folder = folder.parent_path()) {
    const fs::path candidate = folder / "baselines";
    if (fs::is_directory(candidate, ignored)) return candidate;
    if (folder == folder.parent_path()) break;
  }
  return std::nullopt;
}

std::vector<fs::path> published_files() {
  std::error_code error;
  std::vector<fs::path> starts;
  const fs::path executable = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    starts.push_back(executable.parent_path());
    // A build may stand outside of its tree.
    starts.push_back(source_of_build(executable.parent_path()));
  }
  const fs::path here = fs::current_path(error);
  if (!error) starts.push_back(here);
  std::vector<fs::path> files;
  for (const fs::path& start : starts) {
    const auto baselines = baselines_above(start);
    if (!baselines) continue;
    for (const fs::directory_entry& device : fs::directory_iterator(*baselines, error)) {
      const fs::path file = device.path() / "published.json";
      if (fs::is_regular_file(file, error)) files.push_back(fs::weakly_canonical(file, error));
    }
  }
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

}  // namespace strictbench
