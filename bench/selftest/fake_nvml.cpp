/// A management library that plays a scenario, for the tests of the watch. STRICTBENCH_FAKE_NVML holds words
/// `name=value`, `name=value@3` or `name=value@3-5`: what the GPU says always, from the third reading on, or
/// in the third to fifth. A reading begins with the SM clock. Names: sm_clock, memory_clock, temperature,
/// power, reasons, thermal, power_cap (ns), ecc, neighbours, busy (how many of them), own (the id under which
/// this process is listed; 0: not at all), init (what nvmlInit returns), lost (1: every call fails), gpus
/// (how many there are; all tell the same), unlike (1: the first has another name), and no_reasons,
/// no_thermal, no_ecc, no_processes, no_utilization, no_clocks (1: not supported).
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>

namespace {

constexpr int success = 0;
constexpr int not_supported = 3;
constexpr int not_found = 6;
constexpr int insufficient_size = 7;
constexpr int gpu_is_lost = 15;
constexpr unsigned first_neighbour = 900000;

unsigned reading = 0;
unsigned lists = 0;
int devices[8] = {};

unsigned long long value(const std::string& name, unsigned long long otherwise = 0) {
  const char* const scenario = std::getenv("STRICTBENCH_FAKE_NVML");
  std::istringstream words(scenario == nullptr ? "" : scenario);
  unsigned long long result = otherwise;
  for (std::string word; words >> word;) {
    if (word.rfind(name + "=", 0) != 0) continue;
    char* end = nullptr;
    const unsigned long long said = std::strtoull(word.c_str() + name.size() + 1, &end, 0);
    unsigned long first = 0;
    unsigned long last = ~0UL;
    if (*end == '@') {
      first = std::strtoul(end + 1, &end, 10);
      if (*end == '-') last = std::strtoul(end + 1, &end, 10);
    }
    if (reading >= first && reading <= last) result = said;
  }
  return result;
}

template <class Number>
int tell(Number* to, const char* name, const char* missing, unsigned long long otherwise = 0) {
  if (value("lost") != 0) return gpu_is_lost;
  if (value(missing) != 0) return not_supported;
  *to = static_cast<Number>(value(name, otherwise));
  return success;
}

}  // namespace

extern "C" {

int nvmlInit_v2() {
  reading = 0;
  lists = 0;
  return static_cast<int>(value("init"));
}
int nvmlShutdown() { return success; }
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(value("gpus", 1));
  return success;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** handle) {
  *handle = &devices[index % 8];
  return index < value("gpus", 1) ? success : not_found;
}
int nvmlDeviceGetHandleByUUID(const char* uuid, void** handle) {
  *handle = devices;
  return std::strcmp(uuid, "GPU-fake") == 0 || std::strcmp(uuid, "MIG-1a") == 0 ? success : not_found;
}
int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(void*, void** handle) {
  *handle = devices;
  return success;
}
int nvmlDeviceGetClockInfo(void*, int clock, unsigned* mhz) {
  const bool sm = clock == 1;
  reading += sm ? 1 : 0;
  return sm ? tell(mhz, "sm_clock", "no_clocks", 1980) : tell(mhz, "memory_clock", "no_clocks", 3201);
}

#ifndef FAKE_NVML_OLD
struct ProcessInfo {
  unsigned pid;
  unsigned long long memory;
  unsigned gpu_instance, compute_instance;
};
struct ProcessUse {
  unsigned pid;
  unsigned long long time_us;
  unsigned sm, memory, encoder, decoder;
};
struct ViolationTime {
  unsigned long long reference, violation_ns;
};

int nvmlDeviceGetUUID(void* of, char* text, unsigned length) {
  const auto index = static_cast<int*>(of) - devices;
  std::strncpy(text, index == 0 ? "GPU-fake" : ("GPU-fake-" + std::to_string(index)).c_str(), length);
  return success;
}
int nvmlDeviceGetName(void* of, char* text, unsigned length) {
  std::strncpy(text, of == devices && value("unlike") != 0 ? "NVIDIA other" : "NVIDIA fake", length);
  return success;
}
int nvmlSystemGetDriverVersion(char* text, unsigned length) {
  std::strncpy(text, "999.1", length);
  return success;
}
int nvmlDeviceGetTemperature(void*, int, unsigned* c) { return tell(c, "temperature", "no_clocks", 41); }
int nvmlDeviceGetPowerUsage(void*, unsigned* mw) { return tell(mw, "power", "no_clocks", 123000); }
int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* mw) { return tell(mw, "limit", "no_clocks", 700000); }
int nvmlDeviceGetCurrentClocksEventReasons(void*, unsigned long long* bits) {
  return tell(bits, "reasons", "no_reasons");
}
int nvmlDeviceGetMigMode(void*, unsigned* current, unsigned* pending) {
  *pending = 0;
  return tell(current, "mig", "no_mig");
}
int nvmlDeviceGetViolationStatus(void*, int policy, ViolationTime* time) {
  time->reference = 0;
  return tell(&time->violation_ns, policy == 1 ? "thermal" : "power_cap", "no_thermal");
}
int nvmlDeviceGetTotalEccErrors(void*, int, int, unsigned long long* errors) {
  return tell(errors, "ecc", "no_ecc");
}
int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, ProcessInfo* items) {
  unsigned long long neighbours = 0;
  if (const int result = tell(&neighbours, "neighbours", "no_processes"); result != success) return result;
  // This process has no context yet when the list is read for the first time.
  const auto own = lists == 0 ? 0 : static_cast<unsigned>(value("own", static_cast<unsigned>(getpid())));
  const auto all = static_cast<unsigned>(neighbours) + (own != 0 ? 1 : 0);
  const unsigned room = *count;
  *count = all;
  if (all > room) return insufficient_size;
  ++lists;
  for (unsigned i = 0; i < neighbours; ++i) items[i] = {first_neighbour + i, 0, 0, 0};
  if (own != 0) items[neighbours] = {own, 0, 0, 0};
  return success;
}
int nvmlDeviceGetProcessUtilization(void*, ProcessUse* items, unsigned* count, unsigned long long) {
  unsigned long long busy = 0;
  if (const int result = tell(&busy, "busy", "no_utilization"); result != success) return result;
  if (busy == 0) return not_found;
  const unsigned room = *count;
  *count = static_cast<unsigned>(busy);
  if (busy > room) return insufficient_size;
  for (unsigned i = 0; i < busy; ++i) items[i] = {first_neighbour + i, reading, 50, 10, 0, 0};
  return success;
}
#else
/// By its older name.
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* bits) {
  return tell(bits, "reasons", "no_reasons");
}
#endif
}
