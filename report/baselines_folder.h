/// Finds the folder of committed baselines.
#pragma once
#include <filesystem>
#include <optional>
#include <vector>

namespace strictbench {

/// The nearest folder named `baselines` in `start` or a folder above it.
std::optional<std::filesystem::path> baselines_above(const std::filesystem::path& start);

/// Files of published figures, `baselines/<device>/published.json`, seen from the executable's folder, from
/// the source tree that it was built from, and from the current folder; each file once.
std::vector<std::filesystem::path> published_files();

}  // namespace strictbench
