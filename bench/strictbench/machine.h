/// The machine that a run is on, as far as the operating system tells.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace strictbench::runner {

/// {"host", "cpu_model", "boot_id", "gpu", "gpu_uuid", "gpu_state", "load_average", "cpu_governor"}; what is
/// not known is left out. `gpu_state` is nvml_context's, numbers as text: it is read here and now.
nlohmann::ordered_json describe_machine(const std::string& gpu_name, const std::string& gpu_uuid = "");

/// What differs between two descriptions so that times do not belong together: "host (was 'a', now 'b')";
/// empty where nothing does. A restart (`boot_id`) makes another session, which result files state
/// themselves.
std::string machine_difference(const nlohmann::ordered_json& before, const nlohmann::ordered_json& now);

/// "20261129T101500Z", for names.
std::string utc_compact();

/// "2026-11-29T10:15:00Z".
std::string utc_readable();

}  // namespace strictbench::runner
