/// What the driver's management library (NVML) says of a GPU. Loaded when present, read only: nothing is ever
/// changed through it.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace strictbench {

/// Bits of `clock_event_reasons`, as NVML numbers them.
namespace clock_event {
inline constexpr unsigned long long idle = 0x1;
inline constexpr unsigned long long application_clocks = 0x2;
inline constexpr unsigned long long software_power_cap = 0x4;
inline constexpr unsigned long long hardware_slowdown = 0x8;
inline constexpr unsigned long long sync_boost = 0x10;
inline constexpr unsigned long long software_thermal = 0x20;
inline constexpr unsigned long long hardware_thermal = 0x40;
inline constexpr unsigned long long power_brake = 0x80;
inline constexpr unsigned long long display_clocks = 0x100;
}  // namespace clock_event

/// A GPU at one moment. What the driver does not tell is absent.
struct GpuState {
  std::optional<unsigned> sm_clock_mhz;
  std::optional<unsigned> memory_clock_mhz;
  std::optional<unsigned> temperature_c;
  std::optional<unsigned> power_mw;
  std::optional<unsigned long long> clock_event_reasons;
  std::optional<unsigned long long> thermal_ns;       ///< spent below normal clocks for heat, ever
  std::optional<unsigned long long> power_ns;         ///< the same for the power cap
  std::optional<unsigned long long> ecc_uncorrected;  ///< since the driver was loaded
  std::optional<std::vector<unsigned>> computing;     ///< processes that hold a compute context
  std::optional<std::vector<unsigned>> busy;          ///< processes that used it since the last state
};

/// What the environment's STRICTBENCH_NVML names to be loaded instead of the driver's library; nullptr where
/// it is unset or empty.
const char* other_nvml();

/// The library, loaded and initialised as long as this exists.
class Nvml {
 public:
  /// Loads libnvidia-ml.so.1, or other_nvml() where there is one.
  Nvml();
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  /// Whether there is a library and a driver behind it.
  bool ready() const { return ready_; }

  /// Whether the function exists in this driver's library and succeeds.
  template <class Signature, class... Arguments>
  bool call(const char* name, Arguments... arguments) const {
    return result<Signature>(name, arguments...) == 0;
  }

  /// What the function returns; -1 where there is none of that name.
  template <class Signature, class... Arguments>
  int result(const char* name, Arguments... arguments) const {
    const auto f = reinterpret_cast<Signature*>(function(name));
    return f == nullptr ? -1 : f(arguments...);
  }

  /// The processes that hold a compute context on any GPU.
  std::vector<unsigned> computing() const;

 private:
  void* function(const char* name) const;

  void* library_;
  bool ready_ = false;
};

/// One GPU, or one MIG instance of it.
class NvmlGpu {
 public:
  /// The GPU with this UUID ("GPU-..." as CUDA tells it), or the first one where it is empty.
  NvmlGpu(std::shared_ptr<const Nvml> nvml, const std::string& uuid);

  bool found() const { return device_ != nullptr; }

  /// Takes some hundred microseconds to milliseconds, and locks of the driver: never while something is
  /// timed.
  GpuState state();

  /// State and settings as Google Benchmark context: flat, unknown ones absent.
  std::vector<std::pair<std::string, std::string>> context();

 private:
  std::optional<unsigned> number(const char* function) const;
  std::optional<unsigned> clock(int which) const;
  std::optional<unsigned long long> violation_ns(int policy) const;
  std::optional<std::vector<unsigned>> busy();

  std::shared_ptr<const Nvml> nvml_;
  void* device_ = nullptr;
  void* instance_ = nullptr;  ///< what holds our processes: the MIG instance, else the device
  unsigned long long last_use_us_ = 0;
};

/// driver_version, sm_clock_mhz, memory_clock_mhz, power_limit_w, clock_event_reasons (hexadecimal bits),
/// temperature_c, power_w, ecc_uncorrected and mig ("enabled", only then) of the GPU with this UUID. What
/// cannot be read is absent; so is everything where NVML is not installed.
std::vector<std::pair<std::string, std::string>> nvml_context(const std::string& gpu_uuid);

}  // namespace strictbench
