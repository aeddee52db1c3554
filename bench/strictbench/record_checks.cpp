#include "bench/strictbench/record_checks.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <string_view>

#include "report/input_file.h"

namespace strictbench::runner {

using Json = nlohmann::ordered_json;

namespace {

[[noreturn]] void refuse(const char* key, const char* what) {
  throw UsageError("\"" + std::string(key) + "\" must be " + what);
}

}  // namespace

const Json& member_of(const Json& json, const char* key) {
  if (!json.is_object()) throw UsageError("must be an object with \"" + std::string(key) + "\"");
  const auto found = json.find(key);
  if (found == json.end()) throw UsageError("there is no \"" + std::string(key) + "\"");
  return *found;
}

const Json& object_of(const Json& json, const char* key) {
  const Json& value = member_of(json, key);
  if (!value.is_object()) refuse(key, "an object");
  return value;
}

const Json& array_of(const Json& json, const char* key) {
  const Json& value = member_of(json, key);
  if (!value.is_array()) refuse(key, "an array");
  return value;
}

std::string text_of(const Json& json, const char* key) {
  const Json& value = member_of(json, key);
  if (!value.is_string()) refuse(key, "text");
  return value.get<std::string>();
}

std::vector<std::string> texts_of(const Json& json, const char* key) {
  const Json& value = member_of(json, key);
  const auto is_text = [](const Json& one) { return one.is_string(); };
  if (!value.is_array() || !std::ranges::all_of(value, is_text)) refuse(key, "an array of texts");
  return value.get<std::vector<std::string>>();
}

bool flag_of(const Json& json, const char* key) {
  const Json& value = member_of(json, key);
  if (!value.is_boolean()) refuse(key, "true or false");
  return value.get<bool>();
}

const Json& array_if_any(const Json& json, const char* key) {
  static const Json none = Json::array();
  return json.contains(key) ? array_of(json, key) : none;
}

std::string text_if_any(const Json& json, const char* key) {
  return json.contains(key) ? text_of(json, key) : std::string();
}

std::vector<std::string> texts_if_any(const Json& json, const char* key) {
  return json.contains(key) ? texts_of(json, key) : std::vector<std::string>();
}

bool flag_if_any(const Json& json, const char* key) { return json.contains(key) && flag_of(json, key); }

double finite_number(const Json& json, const char* key, double least) {
  const Json& value = member_of(json, key);
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

void require_own_file(const Json& process, const std::string& own) {
  const std::string file = text_of(process, "file");
  if (!names_file_in_folder(file)) throw UsageError("it names a file outside the folder: " + file);
  if (file != own) throw UsageError("it names the file '" + file + "', which a run calls " + own);
}

void require_own_flag(const std::string& flag) {
  constexpr std::string_view delays = "--delays=";
  const bool own = flag.starts_with(delays) &&
                   flag.find_first_not_of("0123456789.,e-", delays.size()) == std::string::npos;
  if (!own) throw UsageError("\"flags\" holds '" + flag + "', which strictbench gives to no executable");
}

void require_machine(const Json& machine) {
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
