/// What is measured, in which order and for how long: decisions without input or output.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "bench/strictbench/run_record.h"

namespace strictbench::runner {

/// The name of a device in folder names: "NVIDIA H200" -> "h200"; empty, the CPU -> "cpu".
std::string device_slug(const std::string& gpu_name);

/// "20261129T101500Z_5f47662a01_h200", the commit marked "-dirty" or replaced by "nocommit".
std::string folder_name(const std::string& utc, const std::string& commit, bool dirty,
                        const std::string& device);

/// The order of `count` operators in round `round`: a permutation, the same for the same seed everywhere.
std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t seed, int round);

/// Whether round `round` is predicted to end within the budget, judged by the rounds before it and by how
/// many cases it has. The first round always fits.
bool round_fits(const std::vector<ProcessRecord>& processes, int round, double budget_seconds);

/// Whether any process of the round was started.
bool round_begun(const std::vector<ProcessRecord>& processes, int round);

/// How far a run is, for a person who waits.
struct Forecast {
  std::size_t cases_left = 0;
  double seconds_left = -1;  ///< negative: nothing to judge by yet
};

/// `current` is measured now, for `current_seconds`, with `current_done` of its cases behind it.
Forecast forecast(const std::vector<ProcessRecord>& processes, const ProcessRecord& current,
                  double current_seconds, std::size_t current_done);

/// "45 s", "3 min 12 s", "2 h 05 min".
std::string duration_text(double seconds);

/// `text` as one word for a shell, to be typed after.
std::string shell_word(const std::string& text);

}  // namespace strictbench::runner
