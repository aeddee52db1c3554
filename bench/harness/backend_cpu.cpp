#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <new>
#include <stdexcept>
#include <thread>

#include "bench/harness/backends.h"
#include "kernels/common/random.h"

namespace strictbench {
namespace {

constexpr std::align_val_t alignment{256};  // as cudaMalloc aligns

/// What the kernel thinks can be had without swapping: free memory and most of the page cache.
std::size_t available_memory() {
  std::ifstream file("/proc/meminfo");
  for (std::string key; file >> key;) {
    std::size_t kilobytes = 0;
    if (key == "MemAvailable:" && file >> kilobytes) return kilobytes * 1024;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return static_cast<std::size_t>(sysconf(_SC_AVPHYS_PAGES)) *
         static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

class CpuSampler : public Sampler {
 public:
  CpuSampler(Call call, int calls) : call_(std::move(call)), calls_(calls) {}

  double sample() override {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < calls_; ++i) call_(nullptr);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    return elapsed.count() / calls_;
  }

 private:
  Call call_;
  int calls_;
};

template <class T>
Difference compare_elements(const void* got, const void* expected, Dtype dtype, std::size_t count) {
  Difference difference;
  const auto* const g = static_cast<const T*>(got);
  const auto* const e = static_cast<const T*>(expected);
  for (std::size_t i = 0; i < count; ++i) {
    if (same_bits(dtype, g[i], e[i])) continue;
    if (difference.count++ == 0) {
      difference.first_index = i;
      difference.got = g[i];
      difference.expected = e[i];
    }
  }
  return difference;
}

class CpuBackend : public Backend {
 public:
  Device device() const override { return Device::cpu; }
  std::string name() const override { return "cpu"; }
  std::vector<std::pair<std::string, std::string>> context() const override { return {}; }

  void* allocate(std::size_t bytes) override { return ::operator new(bytes, alignment); }
  void release(void* memory) noexcept override { ::operator delete(memory, alignment); }
  std::size_t free_bytes() const override { return available_memory(); }
  std::size_t flush_bytes() const override { return 0; }

  void upload(void* to, const void* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }
  void copy(void* to, const void* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }
  void zero(void* to, std::size_t bytes) override { std::memset(to, 0, bytes); }

  void poison(void* to, Dtype dtype, std::size_t count) override {
    static_assert(poison32 == (std::uint32_t{poison16} << 16 | poison16));  // one pattern serves both widths
    auto* const halves = static_cast<std::uint16_t*>(to);
    for (std::size_t i = 0; i < count * size_of(dtype) / sizeof(poison16); ++i) halves[i] = poison16;
  }

  void fill_random(void* to, Dtype dtype, std::size_t count, std::uint64_t key, float scale) override {
    with_type(dtype, [&]<class T>() {
      for (std::size_t i = 0; i < count; ++i)
        static_cast<T*>(to)[i] = rounded<T>(random_normal(key, i) * scale);
    });
  }

  Difference compare(const void* got, const void* expected, Dtype dtype, std::size_t count) override {
    return dtype == Dtype::fp32 ? compare_elements<std::uint32_t>(got, expected, dtype, count)
                                : compare_elements<std::uint16_t>(got, expected, dtype, count);
  }
  RelativeError relative_error(const void* got, const void* expected, Dtype dtype,
                               std::size_t count) override {
    std::vector<std::pair<double, double>> parts((count + part_elements - 1) / part_elements);
    double difference = 0;
    double norm = 0;
    with_type(dtype, [&]<class T>() {
      for (std::size_t i = 0; i < count; ++i) {
        const double e = to_float(static_cast<const T*>(expected)[i]);
        const double d = to_float(static_cast<const T*>(got)[i]) - e;
        parts[i / part_elements].first += d * d;
        parts[i / part_elements].second += e * e;
      }
    });
    for (const auto& [d, e] : parts) {
      difference += d;
      norm += e;
    }
    RelativeError error{.whole = relative_l2(difference, norm)};
    for (const auto& [d, e] : parts) {
      const double part = relative_l2(d, std::max(e, norm / static_cast<double>(parts.size())));
      if (!(part <= error.worst_part)) error.worst_part = part;  // NaN, too, is worse
    }
    return error;
  }
  void synchronize() override {}

  Stream stream() const override { return nullptr; }
  std::unique_ptr<Sampler> make_sampler(Timer timer, Call call, int calls) override {
    if (timer != Timer::cpu)
      throw std::invalid_argument("the timer " + std::string(name_of(timer)) +
                                  " needs a GPU; CPU variants take cpu");
    return std::make_unique<CpuSampler>(std::move(call), calls);
  }
  Call with_delay(Call call, double seconds) override {
    return [call = std::move(call), wait = std::chrono::duration<double>(seconds)](Stream stream) {
      call(stream);
      const auto start = std::chrono::steady_clock::now();
      while (std::chrono::steady_clock::now() - start < wait) {
      }
    };
  }
  ProbeCalls probe(Probe probe, void* memory, double amount) override {
    return cpu_probe(probe, memory, amount);
  }
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend() { return std::make_unique<CpuBackend>(); }

}  // namespace strictbench
