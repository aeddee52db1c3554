#include "bench/strictbench/record_checks.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <string_view>

namespace strictbench::runner {

const nlohmann::ordered_json& object_of(const nlohmann::ordered_json& json, const char* key) {
  const auto& value = json.at(key);
  if (!value.is_object()) throw UsageError("\"" + std::string(key) + "\" must be an object");
  return value;
}

double finite_number(const nlohmann::ordered_json& json, const char* key, double least) {
  const auto& value = json.at(key);
  if (value.is_number() && std::isfinite(value.get<double>()) && value.get<double>() >= least)
    return value.get<double>();
  throw UsageError("\"" + std::string(key) + "\" must be a number " +
                   (least > 0 ? "above 0" : "and not below 0"));
}

void require_plain(const std::string& operator_name) {
  const bool plain = !operator_name.empty() && std::ranges::all_of(operator_name, [](unsigned char c) {
    return std::isalnum(c) || c == '_';
  });
  if (!plain)
    throw UsageError("'" + operator_name + "' is no name of an operator: letters, digits and '_' are");
}

void require_own_flag(const std::string& flag) {
  constexpr std::string_view delays = "--delays=";
  const bool own = flag.starts_with(delays) &&
                   flag.find_first_not_of("0123456789.,e-", delays.size()) == std::string::npos;
  if (!own) throw UsageError("\"flags\" holds '" + flag + "', which strictbench gives to no executable");
}

void require_machine(const nlohmann::ordered_json& machine) {
  for (const char* key : {"host", "cpu_model", "boot_id", "gpu", "gpu_uuid"}) {
    const auto found = machine.find(key);
    if (found != machine.end() && !found->is_string())
      throw UsageError("\"machine\".\"before\".\"" + std::string(key) + "\" must be text");
  }
  const auto state = machine.find("gpu_state");
  if (state == machine.end()) return;
  const auto driver = state->is_object() ? state->find("driver_version") : state->end();
  if (!state->is_object() || (driver != state->end() && !driver->is_string()))
    throw UsageError("\"machine\".\"before\".\"gpu_state\" must be an object of texts");
}

}  // namespace strictbench::runner
