/// What the driver's management library (NVML) says of a GPU. Loaded when present, read only.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace strictbench {

/// driver_version, sm_clock_mhz, memory_clock_mhz, power_limit_w and clock_event_reasons (hexadecimal bits)
/// of the GPU with this UUID. What cannot be read is absent; so is everything where NVML is not installed.
std::vector<std::pair<std::string, std::string>> nvml_context(const std::string& gpu_uuid);

}  // namespace strictbench
