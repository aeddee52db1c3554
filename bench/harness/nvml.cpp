#include "bench/harness/nvml.h"

#include <dlfcn.h>

#include <cstdio>
#include <memory>

namespace strictbench {
namespace {

// The few declarations used here, as NVIDIA's NVML reference gives them: its header is not part of every
// CUDA installation, and the library belongs to the driver.
using NvmlDevice = void*;
constexpr int nvml_success = 0;
constexpr int clock_sm = 1;
constexpr int clock_memory = 2;

class Nvml {
 public:
  Nvml() : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {
    const auto init = function<int()>("nvmlInit_v2");
    ready_ = init != nullptr && init() == nvml_success;
  }
  ~Nvml() {
    if (const auto shutdown = function<int()>("nvmlShutdown"); ready_ && shutdown != nullptr) shutdown();
    if (library_ != nullptr) dlclose(library_);
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  bool ready() const { return ready_; }

  /// Calls `name` if it exists; whether it succeeded.
  template <class Signature, class... Arguments>
  bool call(const char* name, Arguments... arguments) const {
    const auto f = function<Signature>(name);
    return f != nullptr && f(arguments...) == nvml_success;
  }

 private:
  template <class Signature>
  Signature* function(const char* name) const {
    return library_ == nullptr ? nullptr : reinterpret_cast<Signature*>(dlsym(library_, name));
  }

  void* library_;
  bool ready_ = false;
};

}  // namespace

std::vector<std::pair<std::string, std::string>> nvml_context(const std::string& gpu_uuid) {
  std::vector<std::pair<std::string, std::string>> context;
  const Nvml nvml;
  if (!nvml.ready()) return context;
  char driver[96] = {};
  if (nvml.call<int(char*, unsigned)>("nvmlSystemGetDriverVersion", driver, unsigned{sizeof driver}))
    context.emplace_back("driver_version", driver);
  NvmlDevice device = nullptr;
  if (!nvml.call<int(const char*, NvmlDevice*)>("nvmlDeviceGetHandleByUUID", gpu_uuid.c_str(), &device))
    return context;
  unsigned value = 0;
  const auto add = [&](const char* key, unsigned number) {
    context.emplace_back(key, std::to_string(number));
  };
  using Clock = int(NvmlDevice, int, unsigned*);
  if (nvml.call<Clock>("nvmlDeviceGetClockInfo", device, clock_sm, &value)) add("sm_clock_mhz", value);
  if (nvml.call<Clock>("nvmlDeviceGetClockInfo", device, clock_memory, &value))
    add("memory_clock_mhz", value);
  if (nvml.call<int(NvmlDevice, unsigned*)>("nvmlDeviceGetEnforcedPowerLimit", device, &value))
    add("power_limit_w", value / 1000);
  unsigned long long reasons = 0;
  using Reasons = int(NvmlDevice, unsigned long long*);
  if (nvml.call<Reasons>("nvmlDeviceGetCurrentClocksEventReasons", device, &reasons) ||
      nvml.call<Reasons>("nvmlDeviceGetCurrentClocksThrottleReasons", device, &reasons)) {
    char hex[20];
    std::snprintf(hex, sizeof hex, "0x%llx", reasons);
    context.emplace_back("clock_event_reasons", hex);
  }
  return context;
}

}  // namespace strictbench
