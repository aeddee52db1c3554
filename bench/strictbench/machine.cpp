#include "bench/strictbench/machine.h"

#include <sys/utsname.h>

#include <array>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string_view>

#include "bench/harness/nvml.h"

namespace strictbench::runner {
namespace {

std::string first_line(const char* path) {
  std::ifstream stream(path);
  std::string line;
  std::getline(stream, line);
  return line;
}

std::string cpu_model() {
  std::ifstream stream("/proc/cpuinfo");
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with("model name")) continue;
    const std::size_t value = line.find_first_not_of(" \t", line.find(':') + 1);
    return value == std::string::npos ? std::string() : line.substr(value);
  }
  return {};
}

std::string utc(const char* format) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, format, &parts)};
}

}  // namespace

nlohmann::ordered_json describe_machine(const std::string& gpu_name, const std::string& gpu_uuid) {
  nlohmann::ordered_json machine = nlohmann::ordered_json::object();
  const auto add = [&](const char* key, const std::string& value) {
    if (!value.empty()) machine[key] = value;
  };
  utsname names{};
  if (uname(&names) == 0) add("host", names.nodename);
  add("cpu_model", cpu_model());
  add("boot_id", first_line("/proc/sys/kernel/random/boot_id"));
  add("gpu", gpu_name);
  add("gpu_uuid", gpu_uuid);
  if (!gpu_uuid.empty()) {
    for (const auto& [key, value] : nvml_context(gpu_uuid)) machine["gpu_state"][key] = value;
  }
  std::array<double, 3> load{};
  if (getloadavg(load.data(), 3) == 3) machine["load_average"] = load;
  add("cpu_governor", first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"));
  return machine;
}

std::string machine_difference(const nlohmann::ordered_json& before, const nlohmann::ordered_json& now) {
  const auto driver = [](const nlohmann::ordered_json& machine) {
    return machine.value("gpu_state", nlohmann::ordered_json::object()).value("driver_version", "");
  };
  for (const char* key : {"host", "cpu_model", "gpu", "gpu_uuid", "driver_version"}) {
    const bool of_driver = std::string_view(key) == "driver_version";
    const std::string old_value = of_driver ? driver(before) : before.value(key, "");
    const std::string new_value = of_driver ? driver(now) : now.value(key, "");
    // Where the driver cannot be asked nothing is known of it, and the other keys decide.
    if (of_driver && (old_value.empty() || new_value.empty())) continue;
    if (old_value != new_value) {
      return std::string(key) + " (was '" + old_value + "', now '" + new_value + "')";
    }
  }
  return {};
}

std::string utc_compact() { return utc("%Y%m%dT%H%M%SZ"); }

std::string utc_readable() { return utc("%Y-%m-%dT%H:%M:%SZ"); }

}  // namespace strictbench::runner
