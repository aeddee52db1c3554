/// What a run.json may say. It may come from anybody, and `run --resume` starts programs by it.
#pragma once
#include <concepts>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report/error.h"

namespace strictbench::runner {

/// Of each case, and the highest number that a process can have.
inline constexpr int most_rounds = 1000;

/// The value `key` of `json`. Throws UsageError where there is none.
const nlohmann::ordered_json& member_of(const nlohmann::ordered_json& json, const char* key);

/// The number `key` of `json`, from `least` to `most`. Throws UsageError where it is none, or no whole one: a
/// conversion would make something else of true, 1e300 or -1.
template <std::integral Number>
Number whole_number(const nlohmann::ordered_json& json, const char* key, Number least, Number most) {
  const auto& value = member_of(json, key);
  const bool fits = value.is_number_unsigned() && value.get<std::uint64_t>() <= std::uint64_t(most) &&
                    value.get<std::uint64_t>() >= std::uint64_t(least);
  if (!fits) {
    throw UsageError("\"" + std::string(key) + "\" must be a whole number from " + std::to_string(least) +
                     " to " + std::to_string(most));
  }
  return static_cast<Number>(value.get<std::uint64_t>());
}

/// What `key` of `json` must be. Throws UsageError where it is something else, or is not there.
const nlohmann::ordered_json& object_of(const nlohmann::ordered_json& json, const char* key);
const nlohmann::ordered_json& array_of(const nlohmann::ordered_json& json, const char* key);
std::string text_of(const nlohmann::ordered_json& json, const char* key);
std::vector<std::string> texts_of(const nlohmann::ordered_json& json, const char* key);
bool flag_of(const nlohmann::ordered_json& json, const char* key);

/// The same for what may be left out: then it is empty, or false.
const nlohmann::ordered_json& array_if_any(const nlohmann::ordered_json& json, const char* key);
std::string text_if_any(const nlohmann::ordered_json& json, const char* key);
std::vector<std::string> texts_if_any(const nlohmann::ordered_json& json, const char* key);
bool flag_if_any(const nlohmann::ordered_json& json, const char* key);

/// The number `key` of `json`, `least` or more. Throws UsageError where it is none.
double finite_number(const nlohmann::ordered_json& json, const char* key, double least);

/// An operator's name becomes a part of file names: of results, and of what is started. Throws UsageError
/// where it is more than letters, digits and '_'.
void require_plain(const std::string& operator_name);

/// Throws UsageError where the file that a process names is not `own`, which is what a run calls it: readers
/// of the folder follow the name.
void require_own_file(const nlohmann::ordered_json& process, const std::string& own);

/// Throws UsageError where a flag for the executables is none that this program writes into a record: any
/// other could have them write where it pleases.
void require_own_flag(const std::string& flag);

/// Throws UsageError where an object is no description of a machine.
void require_machine(const nlohmann::ordered_json& machine);

}  // namespace strictbench::runner
