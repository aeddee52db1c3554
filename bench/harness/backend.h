/// What the harness needs of a device: memory, fills, the bitwise compare, timers. One for the CPU, one for
/// CUDA.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/harness/sampler.h"
#include "kernels/common/dtype.h"
#include "kernels/common/variant.h"

namespace strictbench {

/// sqrt(squared_difference / squared_expected), and where nothing was expected: 0 for nothing, else infinity.
inline double relative_l2(double squared_difference, double squared_expected) {
  return squared_difference == 0 ? 0 : std::sqrt(squared_difference / squared_expected);
}

/// How far one tensor is from another. NaN where an element of either is one.
struct RelativeError {
  double whole = 0;  ///< sqrt(sum of (got - expected)^2 / sum of expected^2)
  /// The same over the worst part, `part_elements` neighbours, which the whole of a large tensor would hide.
  /// A part's sum of expected^2 counts as no less than the average part's.
  double worst_part = 0;
};
inline constexpr std::size_t part_elements = 256;

/// Where two tensors differ in their bits.
struct Difference {
  std::uint64_t count = 0;        ///< elements that differ
  std::uint64_t first_index = 0;  ///< of the first one
  std::uint32_t got = 0;          ///< its bits
  std::uint32_t expected = 0;
};

/// Whether an element passes: equal bits, or both NaN and `got` not the poison. Bits of dtype in the low end.
constexpr bool same_bits(Dtype dtype, std::uint32_t got, std::uint32_t expected) {
  if (got == expected) return true;
  const bool wide = dtype == Dtype::fp32;
  const std::uint32_t infinity = wide ? 0x7f800000u : dtype == Dtype::bf16 ? 0x7f80u : 0x7c00u;
  const std::uint32_t magnitude = wide ? 0x7fffffffu : 0x7fffu;
  const bool both_nan = (got & magnitude) > infinity && (expected & magnitude) > infinity;
  return both_nan && got != (wide ? poison32 : std::uint32_t{poison16});
}

/// Thrown where it is known that the device can run nothing more for this process.
struct DeviceLost : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What a ceiling is measured with. The amount is of blocks, additions, instructions or bytes.
enum class Probe {
  blocks,          ///< a kernel of so many blocks that does nothing
  load_add_store,  ///< one block, one element a thread
  chain,           ///< additions of which each waits for the one before
  instructions,    ///< fp32 ones that wait for nothing, on all of the device
  read,
  write,
  copy  ///< reads the first half of the bytes and writes the other
};

struct ProbeCalls {
  std::vector<Call> ways;  ///< to do the same; which is the fastest depends on the amount
  double amount;           ///< of what was asked for, rounded up to what the probe does
};

class Backend {
 public:
  virtual ~Backend() = default;

  virtual Device device() const = 0;
  virtual std::string name() const = 0;  ///< "cpu" or "cuda:0"
  /// Google Benchmark context: flat keys and values; unknown ones are absent.
  virtual std::vector<std::pair<std::string, std::string>> context() const = 0;

  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory) noexcept = 0;
  /// From now on memory is allocated at other offsets for another `index`: a kernel of a few microseconds
  /// depends on where its buffers land. 0 adds nothing.
  virtual void set_placement(int index) { static_cast<void>(index); }
  virtual std::size_t free_bytes() const = 0;
  virtual std::size_t flush_bytes() const = 0;  ///< what the cold timer keeps to flush the caches with

  /// All of these are complete when they return.
  virtual void upload(void* to, const void* from, std::size_t bytes) = 0;
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  virtual void zero(void* to, std::size_t bytes) = 0;
  virtual void poison(void* to, Dtype dtype, std::size_t count) = 0;
  /// Element i becomes random_normal(key, i) * scale, rounded to dtype.
  virtual void fill_random(void* to, Dtype dtype, std::size_t count, std::uint64_t key, float scale) = 0;
  virtual Difference compare(const void* got, const void* expected, Dtype dtype, std::size_t count) = 0;
  virtual RelativeError relative_error(const void* got, const void* expected, Dtype dtype,
                                       std::size_t count) = 0;
  virtual void synchronize() = 0;
  /// Whether an error has left the device unusable for this process, as an illegal address does: then every
  /// later call fails, and blames whoever makes it.
  virtual bool lost() { return false; }
  /// Overwrites flush_bytes(), so that nothing of the operator's data is left in the caches.
  virtual void flush() {}
  /// Begins and ends what profilers capture of this process.
  virtual void set_profiler(bool on) { static_cast<void>(on); }

  virtual Stream stream() const = 0;
  /// A timer of `call`, which enqueues one call on stream(), with `calls` of them in one sample.
  virtual std::unique_ptr<Sampler> make_sampler(Timer timer, Call call, int calls) = 0;
  /// `call` followed by a wait of about `seconds` on the device itself; 0 is a wait of no length.
  virtual Call with_delay(Call call, double seconds) = 0;
  /// Calls that do `amount` of one thing and nothing beside it. `memory` is of this backend, and holds 1
  /// KB more than the bytes that are moved, or 1 MB.
  virtual ProbeCalls probe(Probe probe, void* memory, double amount) = 0;
};

/// `choice` is "cpu", "cuda", the index of a GPU, or empty for GPU 0 where there is one and else the CPU.
/// Throws std::invalid_argument with one line that says what exists. With `blocking` false the timers hold no
/// stream behind a blocking kernel: profilers that serialise kernels would wait for it forever.
std::unique_ptr<Backend> make_backend(std::string_view choice, bool blocking = true);

/// Untyped memory of a backend (ids, workspaces), released with it.
class Memory {
 public:
  Memory() = default;
  Memory(Backend& backend, std::size_t bytes) : backend_(&backend), memory_(backend.allocate(bytes)) {}
  Memory(Memory&& other) noexcept { *this = std::move(other); }
  Memory& operator=(Memory&& other) noexcept {
    std::swap(backend_, other.backend_);
    std::swap(memory_, other.memory_);
    return *this;
  }
  ~Memory() {
    if (backend_ != nullptr) backend_->release(memory_);
  }
  template <class T = void>
  T* as() const {
    return static_cast<T*>(memory_);
  }

 private:
  Backend* backend_ = nullptr;
  void* memory_ = nullptr;
};

/// `count` elements of one type in a backend's memory; contents undefined until filled.
class Tensor {
 public:
  Tensor() = default;
  Tensor(Backend& backend, Dtype dtype, std::size_t count)
      : backend_(&backend), dtype_(dtype), count_(count), memory_(backend, count * size_of(dtype)) {}

  Dtype dtype() const { return dtype_; }
  std::size_t count() const { return count_; }
  std::size_t bytes() const { return count_ * size_of(dtype_); }
  template <class T = void>
  T* as() const {
    return memory_.as<T>();
  }

  void fill_random(std::uint64_t key, float scale = 1) {
    backend_->fill_random(as(), dtype_, count_, key, scale);
  }
  void copy_from(const Tensor& other) { backend_->copy(as(), other.as(), bytes()); }
  void poison() { backend_->poison(as(), dtype_, count_); }
  void zero() { backend_->zero(as(), bytes()); }
  Difference compare(const Tensor& expected) const {
    return backend_->compare(as(), expected.as(), dtype_, count_);
  }
  RelativeError relative_error(const Tensor& expected) const {
    return backend_->relative_error(as(), expected.as(), dtype_, count_);
  }

 private:
  Backend* backend_ = nullptr;
  Dtype dtype_ = Dtype::fp32;
  std::size_t count_ = 0;
  Memory memory_;
};

}  // namespace strictbench
