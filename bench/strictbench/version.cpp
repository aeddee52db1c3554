#include "bench/strictbench/version.h"

#include <nlohmann/json.hpp>

#include "bench/strictbench/executables.h"
#include "bench/strictbench/files.h"
#include "bench/strictbench/rows.h"
#include "report/error.h"

namespace strictbench::runner {

std::string version_text() {
  const std::filesystem::path path = own_folder() / "build.json";
  if (!std::filesystem::exists(path))
    return "strictbench, of a build unknown: no build.json stands beside it";
  try {
    const nlohmann::json build = nlohmann::json::parse(read_file(path));
    const std::string commit = build.value("git_commit", "");
    std::string text = "strictbench " + (commit.empty() ? std::string("of a commit unknown") : commit);
    const auto dirty = build.find("git_dirty");
    if (dirty != build.end() && *dirty == true) text += "-dirty";
    for (const auto& [key, name] :
         {std::pair{"build_type", ""}, {"compiler", ""}, {"cuda_version", "CUDA "}}) {
      if (const std::string value = build.value(key, ""); !value.empty())
        text += ", " + std::string(name) + value;
    }
    return text;
  } catch (const nlohmann::json::exception& error) {
    throw UsageError(path.string() + " is not the description of a build: " + plain_words(error));
  }
}

}  // namespace strictbench::runner
