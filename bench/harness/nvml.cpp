#include "bench/harness/nvml.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace strictbench {
namespace {

// The few declarations used here, as NVIDIA's NVML reference gives them: its header is not part of every
// CUDA installation, and the library belongs to the driver.
using Device = void*;
constexpr int insufficient_size = 7;
constexpr int not_found = 6;
constexpr int clock_sm = 1;
constexpr int clock_memory = 2;
constexpr int uncorrected_errors = 1;
constexpr int since_driver_load = 0;
constexpr int core_temperature = 0;
constexpr int policy_power = 0;
constexpr int policy_thermal = 1;

struct ProcessInfo {
  unsigned pid;
  unsigned long long memory;
  unsigned gpu_instance;
  unsigned compute_instance;
};

struct ProcessUse {
  unsigned pid;
  unsigned long long time_us;
  unsigned sm, memory, encoder, decoder;  // percent
};

struct ViolationTime {
  unsigned long long reference;
  unsigned long long violation_ns;
};

/// A list that the driver fills: grown until it is long enough, since processes come while we ask.
template <class Item, class Fill>
std::optional<std::vector<Item>> list(const Fill& fill, int nothing) {
  std::vector<Item> items(64);
  for (int tries = 0; tries < 4; ++tries) {
    auto count = static_cast<unsigned>(items.size());
    const int result = fill(&count, items.data());
    if (result == nothing) return std::vector<Item>{};
    if (result == 0) {
      items.resize(std::min<std::size_t>(count, items.size()));
      return items;
    }
    if (result != insufficient_size) return std::nullopt;
    items.resize(std::max<std::size_t>(count, items.size()) * 2);
  }
  return std::nullopt;
}

void sort_unique(std::vector<unsigned>& numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
}

std::optional<std::vector<unsigned>> computing_on(const Nvml& nvml, Device device) {
  using List = int(Device, unsigned*, ProcessInfo*);
  for (const char* name :
       {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"}) {
    const auto processes = list<ProcessInfo>(
        [&](unsigned* count, ProcessInfo* items) { return nvml.result<List>(name, device, count, items); },
        not_found);
    if (!processes) continue;
    std::vector<unsigned> pids;
    for (const ProcessInfo& process : *processes) pids.push_back(process.pid);
    sort_unique(pids);
    return pids;
  }
  return std::nullopt;
}

}  // namespace

const char* other_nvml() {
  const char* const name = std::getenv("STRICTBENCH_NVML");
  return name != nullptr && *name != '\0' ? name : nullptr;  // dlopen would take "" for the program itself
}

Nvml::Nvml() {
  const char* const other = other_nvml();
  library_ = dlopen(other != nullptr ? other : "libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  ready_ = call<int()>("nvmlInit_v2");
}

Nvml::~Nvml() {
  if (ready_) call<int()>("nvmlShutdown");
  if (library_ != nullptr) dlclose(library_);
}

void* Nvml::function(const char* name) const { return library_ == nullptr ? nullptr : dlsym(library_, name); }

std::vector<unsigned> Nvml::computing() const {
  std::vector<unsigned> all;
  unsigned count = 0;
  if (!ready_ || !call<int(unsigned*)>("nvmlDeviceGetCount_v2", &count)) return all;
  for (unsigned i = 0; i < count; ++i) {
    Device device = nullptr;
    if (!call<int(unsigned, Device*)>("nvmlDeviceGetHandleByIndex_v2", i, &device)) continue;
    if (const auto some = computing_on(*this, device)) all.insert(all.end(), some->begin(), some->end());
  }
  sort_unique(all);
  return all;
}

NvmlGpu::NvmlGpu(std::shared_ptr<const Nvml> nvml, const std::string& uuid) : nvml_(std::move(nvml)) {
  if (!nvml_->ready()) return;
  if (uuid.empty()) {
    if (!nvml_->call<int(unsigned, Device*)>("nvmlDeviceGetHandleByIndex_v2", 0U, &device_))
      device_ = nullptr;
    instance_ = device_;
    return;
  }
  using ByUuid = int(const char*, Device*);
  if (nvml_->call<ByUuid>("nvmlDeviceGetHandleByUUID", uuid.c_str(), &device_)) {
    instance_ = device_;
    return;
  }
  device_ = nullptr;
  // CUDA names a MIG instance by the instance's own UUID. Clocks and errors are those of the GPU around it.
  const std::string mig = "MIG-" + uuid.substr(std::min(uuid.size(), uuid.find('-') + 1));
  if (!nvml_->call<ByUuid>("nvmlDeviceGetHandleByUUID", mig.c_str(), &instance_)) return;
  if (!nvml_->call<int(Device, Device*)>("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", instance_, &device_))
    device_ = nullptr;
}

std::optional<unsigned> NvmlGpu::number(const char* function) const {
  unsigned value = 0;
  if (!nvml_->call<int(Device, unsigned*)>(function, device_, &value)) return std::nullopt;
  return value;
}

std::optional<unsigned> NvmlGpu::clock(int which) const {
  unsigned value = 0;
  if (!nvml_->call<int(Device, int, unsigned*)>("nvmlDeviceGetClockInfo", device_, which, &value))
    return std::nullopt;
  return value;
}

/// The counters of nvmlDeviceGetFieldValues tell more reasons apart, but their numbers are 251 to 253 in some
/// drivers and 269 to 271 in others, where the former mean something else: a wrong counter is worse than
/// none.
std::optional<unsigned long long> NvmlGpu::violation_ns(int policy) const {
  ViolationTime time{};
  if (!nvml_->call<int(Device, int, ViolationTime*)>("nvmlDeviceGetViolationStatus", device_, policy, &time))
    return std::nullopt;
  return time.violation_ns;
}

std::optional<std::vector<unsigned>> NvmlGpu::busy() {
  using Use = int(Device, ProcessUse*, unsigned*, unsigned long long);
  const auto uses = list<ProcessUse>(
      [&](unsigned* count, ProcessUse* items) {
        return nvml_->result<Use>("nvmlDeviceGetProcessUtilization", device_, items, count, last_use_us_);
      },
      not_found);
  if (!uses) return std::nullopt;
  std::vector<unsigned> pids;
  for (const ProcessUse& use : *uses) {
    last_use_us_ = std::max(last_use_us_, use.time_us);
    if (use.sm > 0 || use.memory > 0) pids.push_back(use.pid);
  }
  sort_unique(pids);
  return pids;
}

GpuState NvmlGpu::state() {
  GpuState state;
  if (!found()) return state;
  state.sm_clock_mhz = clock(clock_sm);
  state.memory_clock_mhz = clock(clock_memory);
  unsigned value = 0;
  if (nvml_->call<int(Device, int, unsigned*)>("nvmlDeviceGetTemperature", device_, core_temperature, &value))
    state.temperature_c = value;
  state.power_mw = number("nvmlDeviceGetPowerUsage");
  unsigned long long wide = 0;
  using Reasons = int(Device, unsigned long long*);
  if (nvml_->call<Reasons>("nvmlDeviceGetCurrentClocksEventReasons", device_, &wide) ||
      nvml_->call<Reasons>("nvmlDeviceGetCurrentClocksThrottleReasons", device_, &wide))
    state.clock_event_reasons = wide;
  state.thermal_ns = violation_ns(policy_thermal);
  state.power_ns = violation_ns(policy_power);
  if (nvml_->call<int(Device, int, int, unsigned long long*)>("nvmlDeviceGetTotalEccErrors", device_,
                                                              uncorrected_errors, since_driver_load, &wide))
    state.ecc_uncorrected = wide;
  state.computing = computing_on(*nvml_, instance_);
  state.busy = busy();
  return state;
}

std::vector<std::pair<std::string, std::string>> NvmlGpu::context() {
  std::vector<std::pair<std::string, std::string>> context;
  if (!nvml_->ready()) return context;
  char driver[96] = {};
  if (nvml_->call<int(char*, unsigned)>("nvmlSystemGetDriverVersion", driver, unsigned{sizeof driver}))
    context.emplace_back("driver_version", driver);
  if (!found()) return context;
  const auto add = [&](const char* key, const auto& value, unsigned divisor = 1) {
    if (value) context.emplace_back(key, std::to_string(*value / divisor));
  };
  const GpuState now = state();
  add("sm_clock_mhz", now.sm_clock_mhz);
  add("memory_clock_mhz", now.memory_clock_mhz);
  add("power_limit_w", number("nvmlDeviceGetEnforcedPowerLimit"), 1000);
  if (now.clock_event_reasons) {
    char hex[20];
    std::snprintf(hex, sizeof hex, "0x%llx", *now.clock_event_reasons);
    context.emplace_back("clock_event_reasons", hex);
  }
  add("temperature_c", now.temperature_c);
  add("power_w", now.power_mw, 1000);
  add("ecc_uncorrected", now.ecc_uncorrected);
  unsigned mig = 0;
  unsigned pending = 0;
  if (nvml_->call<int(Device, unsigned*, unsigned*)>("nvmlDeviceGetMigMode", device_, &mig, &pending) &&
      mig != 0)
    context.emplace_back("mig", "enabled");
  return context;
}

std::vector<std::pair<std::string, std::string>> nvml_context(const std::string& gpu_uuid) {
  return NvmlGpu(std::make_shared<Nvml>(), gpu_uuid).context();
}

}  // namespace strictbench
