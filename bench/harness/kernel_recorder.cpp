#include "bench/harness/kernel_recorder.h"

#include <algorithm>
#include <stdexcept>

namespace strictbench {

std::vector<KernelTime> nearest_record(const std::vector<KernelTime>& one,
                                       const std::vector<KernelTime>& other) {
  const auto launches_of = [](const std::vector<KernelTime>& kernels, const std::string& name) {
    const auto found = std::ranges::find(kernels, name, &KernelTime::name);
    return found == kernels.end() ? 0 : found->launches;
  };
  for (const auto* kernels : {&one, &other}) {
    for (const KernelTime& kernel : *kernels) {
      const auto first = launches_of(one, kernel.name), second = launches_of(other, kernel.name);
      if (first != second)
        throw std::runtime_error("the same calls launched " + kernel.name + " " + std::to_string(first) +
                                 " times, and recorded again " + std::to_string(second) + " times");
    }
  }
  std::vector<KernelTime> nearest = one;
  for (KernelTime& kernel : nearest) {
    const KernelTime& again = *std::ranges::find(other, kernel.name, &KernelTime::name);
    if (again.total_ns < kernel.total_ns) kernel = again;
  }
  return nearest;
}

}  // namespace strictbench

#ifdef STRICTBENCH_HAS_CUPTI

#include <cupti.h>
#include <cxxabi.h>
#include <dlfcn.h>

#include <cstdlib>
#include <map>
#include <mutex>

#include "report/kernel_name.h"

namespace strictbench {
namespace {

// Records are laid out as the headers of the build say, so the library must be of the same major version.
#if CUPTI_API_VERSION >= 130000
using KernelRecord = CUpti_ActivityKernel10;
constexpr const char* library_name = "libcupti.so.13";
#else
using KernelRecord = CUpti_ActivityKernel9;
constexpr const char* library_name = "libcupti.so.12";
#endif

std::string demangled(const char* mangled) {
  int status = 0;
  char* const text = abi::__cxa_demangle(mangled, nullptr, nullptr, &status);
  std::string name = status == 0 ? text : mangled;
  std::free(text);
  return name;
}

/// What is recorded now. CUPTI's callbacks take no argument of ours.
struct Recording {
  std::mutex mutex;
  std::vector<KernelTime> kernels;
  std::map<std::string, std::size_t, std::less<>> places;  ///< of names in `kernels`
  std::size_t dropped = 0;

  void add(const std::string& name, std::uint64_t ns) {
    const auto [place, is_new] = places.try_emplace(name, kernels.size());
    if (is_new) kernels.push_back({.name = name, .min_ns = ns});
    KernelTime& kernel = kernels[place->second];
    ++kernel.launches;
    kernel.total_ns += ns;
    kernel.min_ns = std::min(kernel.min_ns, ns);
    kernel.max_ns = std::max(kernel.max_ns, ns);
  }
};

Recording& recording() {
  static Recording now;
  return now;
}

}  // namespace

/// The library, loaded when asked for: timing runs never touch it.
class KernelRecorder::Cupti {
 public:
  Cupti() {
    for (const char* path : {library_name, STRICTBENCH_CUPTI_LIBRARY})
      if (library_ == nullptr) library_ = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr)
      throw std::runtime_error(std::string("no kernels can be recorded: ") + library_name +
                               " of the CUDA Toolkit is not found; put its folder in LD_LIBRARY_PATH");
    next_record_ = function<decltype(cuptiActivityGetNextRecord)>("cuptiActivityGetNextRecord");
    dropped_ = function<decltype(cuptiActivityGetNumDroppedRecords)>("cuptiActivityGetNumDroppedRecords");
    flush_ = function<decltype(cuptiActivityFlushAll)>("cuptiActivityFlushAll");
    describe_ = function<decltype(cuptiGetResultString)>("cuptiGetResultString");
    self_ = this;
    check(function<decltype(cuptiActivityRegisterCallbacks)>("cuptiActivityRegisterCallbacks")(give_buffer,
                                                                                               take_buffer));
    enable_ = function<decltype(cuptiActivityEnable)>("cuptiActivityEnable");
    disable_ = function<decltype(cuptiActivityDisable)>("cuptiActivityDisable");
    for (const CUpti_ActivityKind kind : {CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_MEMCPY})
      check(enable_(kind));
  }
  ~Cupti() { self_ = nullptr; }  // never unloaded: the driver keeps calling it
  Cupti(const Cupti&) = delete;
  Cupti& operator=(const Cupti&) = delete;

  void enable(RecordedBy way) {
    kernels_ = way == RecordedBy::instrumentation ? CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
                                                  : CUPTI_ACTIVITY_KIND_KERNEL;
    check(enable_(kernels_));
  }
  void disable() const { check(disable_(kernels_)); }
  void flush() const { check(flush_(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED)); }

 private:
  template <class Signature>
  Signature* function(const char* name) const {
    auto* const f = reinterpret_cast<Signature*>(dlsym(library_, name));
    if (f == nullptr) throw std::runtime_error(std::string(library_name) + " has no " + name);
    return f;
  }

  void check(CUptiResult result) const {
    if (result == CUPTI_SUCCESS) return;
    const char* text = nullptr;
    describe_(result, &text);
    throw std::runtime_error(
        std::string("no kernels can be recorded: CUPTI says ") + (text != nullptr ? text : "nothing") +
        "; GPU counters may be reserved for the administrator, or a profiler is attached");
  }

  static void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) {
    constexpr std::size_t size = std::size_t{4} << 20;
    *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, size));
    *bytes = *buffer == nullptr ? 0 : size;
    *most_records = 0;
  }

  static void CUPTIAPI take_buffer(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t,
                                   std::size_t valid) {
    Recording& to = recording();
    const std::lock_guard lock(to.mutex);
    CUpti_Activity* record = nullptr;
    while (self_ != nullptr && valid > 0 && self_->next_record_(buffer, valid, &record) == CUPTI_SUCCESS) {
      if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL ||
          record->kind == CUPTI_ACTIVITY_KIND_KERNEL) {
        const auto& kernel = *reinterpret_cast<const KernelRecord*>(record);
        to.add(short_kernel_name(demangled(kernel.name)), kernel.end - kernel.start);
      } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
        const auto& memset = *reinterpret_cast<const CUpti_ActivityMemset4*>(record);
        to.add("[memset]", memset.end - memset.start);
      } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
        const auto& memcpy = *reinterpret_cast<const CUpti_ActivityMemcpy5*>(record);
        to.add("[memcpy]", memcpy.end - memcpy.start);
      }
    }
    std::size_t dropped = 0;
    if (self_ != nullptr && self_->dropped_(context, stream, &dropped) == CUPTI_SUCCESS)
      to.dropped += dropped;
    std::free(buffer);
  }

  static inline Cupti* self_ = nullptr;
  void* library_ = nullptr;
  CUpti_ActivityKind kernels_ = CUPTI_ACTIVITY_KIND_KERNEL;
  decltype(cuptiActivityEnable)* enable_ = nullptr;
  decltype(cuptiActivityDisable)* disable_ = nullptr;
  decltype(cuptiActivityGetNextRecord)* next_record_ = nullptr;
  decltype(cuptiActivityGetNumDroppedRecords)* dropped_ = nullptr;
  decltype(cuptiActivityFlushAll)* flush_ = nullptr;
  decltype(cuptiGetResultString)* describe_ = nullptr;
};

KernelRecorder::KernelRecorder() : cupti_(std::make_unique<Cupti>()) {}
KernelRecorder::~KernelRecorder() = default;

void KernelRecorder::start(RecordedBy way) {
  cupti_->enable(way);
  cupti_->flush();  // what ran before is not wanted
  Recording& now = recording();
  const std::lock_guard lock(now.mutex);
  now.kernels.clear();
  now.places.clear();
  now.dropped = 0;
}

std::vector<KernelTime> KernelRecorder::stop() {
  cupti_->flush();
  cupti_->disable();
  Recording& now = recording();
  const std::lock_guard lock(now.mutex);
  if (now.dropped > 0)
    throw std::runtime_error("CUPTI dropped " + std::to_string(now.dropped) + " records of kernels");
  return now.kernels;
}

}  // namespace strictbench

#else

namespace strictbench {

class KernelRecorder::Cupti {};

KernelRecorder::KernelRecorder() {
  throw std::runtime_error("no kernels can be recorded: built without CUPTI, a part of the CUDA Toolkit");
}
KernelRecorder::~KernelRecorder() = default;
void KernelRecorder::start(RecordedBy) {}
std::vector<KernelTime> KernelRecorder::stop() { return {}; }

}  // namespace strictbench

#endif
