/// What must be alike for two times to be comparable, and what is worth a warning where it is not.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/results.h"

namespace strictbench {

/// What makes times comparable, as one file states it. Empty: not stated.
struct Environment {
  std::string gpu_name;
  std::string host_name;
  std::string cpu_model;
  std::string build_type;
  bool operator==(const Environment&) const = default;
};

/// The distinct environments of a side, and which of them each source has.
struct Environments {
  std::vector<Environment> distinct;
  std::vector<std::uint32_t> of_source;
};
Environments environments_of(const Side& side);

/// Value of a context key, or an empty string.
std::string stated(const Context& context, std::string_view key);

/// Why times of `timer` in the two environments cannot be compared, in one sentence; nullopt where they can.
std::optional<std::string> difference(const Environment& baseline, const Environment& contender,
                                      std::string_view timer);

/// Whether two sessions are known to be different: both state a boot or a GPU, and it differs.
bool known_to_differ(const Session& a, const Session& b);

/// Distinct values that the sources of a side state for a key, in order of appearance.
std::vector<std::string> stated_values(const Side& side, std::string_view key);

/// Whether a context value such as git_dirty says yes.
bool is_true(std::string_view value);

/// Values in one line, separated by commas.
std::string joined(const std::vector<std::string>& values);

/// Days since 1970 of a date such as 2026-11-29T10:00:00+00:00 or 2016-08-02 17:44:46.
std::optional<long> day_of(std::string_view date);

/// Warnings about the two sides as wholes: other driver, CUDA or compiler, an old baseline, an interrupted
/// run, equal binaries. `today` in days since 1970, where the contender states no date.
std::vector<std::string> warnings(const Side& baseline, const Side& contender, long today);

}  // namespace strictbench
