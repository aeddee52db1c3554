/// What a result file says about where it was measured, beside Google Benchmark's own context.
#pragma once
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace strictbench {

using Context = std::vector<std::pair<std::string, std::string>>;

/// cpu_model, cpu_governor, cpu_pressure_percent (at the start) and boot_id of this machine; build_type of
/// this executable; git_commit, git_dirty and compiler from build.json beside it. What is unknown is absent.
Context environment();

/// "release" or "debug", by whether assertions are compiled in.
std::string build_type();

}  // namespace strictbench
