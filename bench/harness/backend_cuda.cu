#include <cuda_profiler_api.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <map>

#include "bench/harness/backends.h"
#include "bench/harness/nvml.h"
#include "bench/harness/samplers_cuda.h"
#include "kernels/common/cuda_error.h"
#include "kernels/common/random.h"

namespace strictbench {
namespace {

constexpr int threads = 256;

/// Enough blocks to fill any GPU; each kernel below strides over the rest.
constexpr int blocks = 4096;

__device__ std::size_t first_element() { return std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ std::size_t grid_threads() { return std::size_t{gridDim.x} * blockDim.x; }

template <class T>
__global__ void fill(T* to, std::size_t count, T value) {
  for (std::size_t i = first_element(); i < count; i += grid_threads()) to[i] = value;
}

template <class T>
__global__ void fill_with_random(T* to, std::size_t count, std::uint64_t key, float scale) {
  for (std::size_t i = first_element(); i < count; i += grid_threads())
    to[i] = rounded<T>(random_normal(key, i) * scale);
}

struct Tally {
  unsigned long long count;
  unsigned long long first_index;
};

/// Each thread keeps its own tally, so that an output wrong throughout costs no more than a right one.
template <class T>
__global__ void compare_elements(const T* got, const T* expected, Dtype dtype, std::size_t count,
                                 Tally* tally) {
  unsigned long long differ = 0;
  unsigned long long first = ~0ull;
  for (std::size_t i = first_element(); i < count; i += grid_threads())
    if (!same_bits(dtype, got[i], expected[i])) {
      if (differ++ == 0) first = i;
    }
  if (differ == 0) return;
  atomicAdd(&tally->count, differ);
  atomicMin(&tally->first_index, first);
}

struct Squares {
  double difference;
  double expected;
  unsigned long long worst_part;  ///< bits of a double that is not negative, which order as the numbers do
};

template <class T>
__global__ void add_squares(const T* got, const T* expected, std::size_t count, Squares* squares) {
  double difference = 0;
  double norm = 0;
  for (std::size_t i = first_element(); i < count; i += grid_threads()) {
    const double e = to_float(expected[i]);
    const double d = to_float(got[i]) - e;
    difference += d * d;
    norm += e * e;
  }
  atomicAdd(&squares->difference, difference);
  atomicAdd(&squares->expected, norm);
}

/// Sum over a block of part_elements threads, in its first one.
__device__ double block_sum(double value) {
  __shared__ double sums[part_elements / 32];
  for (int stride = 16; stride > 0; stride /= 2) value += __shfl_down_sync(0xffffffffu, value, stride);
  __syncthreads();  // the sums before these have been read
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = value;
  __syncthreads();
  double sum = 0;
  if (threadIdx.x == 0)
    for (const double s : sums) sum += s;
  return sum;
}

/// A block for each part in turn; after add_squares.
template <class T>
__global__ void __launch_bounds__(part_elements)
    find_worst_part(const T* got, const T* expected, std::size_t count, Squares* squares) {
  const std::size_t parts = (count + part_elements - 1) / part_elements;
  const double average = squares->expected / static_cast<double>(parts);
  for (std::size_t part = blockIdx.x; part < parts; part += gridDim.x) {
    const std::size_t i = part * part_elements + threadIdx.x;
    const double e = i < count ? to_float(expected[i]) : 0.0;
    const double d = i < count ? to_float(got[i]) - e : 0.0;
    const double difference = block_sum(d * d);
    const double norm = block_sum(e * e);
    if (threadIdx.x > 0) continue;
    const double error = difference == 0 ? 0 : sqrt(difference / fmax(norm, average));
    // Any NaN becomes the greatest of all patterns: worse than infinity.
    const double worst = error >= 0 ? error : __longlong_as_double(0x7fffffffffffffffll);
    atomicMax(&squares->worst_part, static_cast<unsigned long long>(__double_as_longlong(worst)));
  }
}

__global__ void wait_cycles(long long cycles) {
  const long long start = clock64();
  while (clock64() - start < cycles) {
  }
}

std::string version_text(int version) {  // 13000 -> 13.0
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text = "GPU";
  for (int i = 0; i < 16; ++i) {
    char hex[4];
    const bool dash = i == 0 || i == 4 || i == 6 || i == 8 || i == 10;
    std::snprintf(hex, sizeof hex, dash ? "-%02x" : "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    text += hex;
  }
  return text;
}

class CudaBackend : public Backend {
 public:
  CudaBackend(int index, bool blocking) : index_(index), blocking_(blocking) {
    cuda_check(cudaSetDevice(index));
    cuda_check(cudaGetDeviceProperties(&properties_, index));
    cuda_check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    cuda_check(cudaMalloc(&tally_, sizeof(Tally)));
  }
  // A device in error refuses to free; the process is about to end anyway.
  ~CudaBackend() override {
    timers_.reset();
    cudaFree(tally_);
    cudaFree(squares_);
    cudaFree(flush_buffer_);
    cudaStreamDestroy(stream_);
  }
  CudaBackend(const CudaBackend&) = delete;
  CudaBackend& operator=(const CudaBackend&) = delete;

  Device device() const override { return Device::cuda; }
  std::string name() const override { return "cuda:" + std::to_string(index_); }

  std::vector<std::pair<std::string, std::string>> context() const override {
    int runtime = 0;
    cuda_check(cudaRuntimeGetVersion(&runtime));
    const std::string uuid = uuid_text(properties_.uuid);
    std::vector<std::pair<std::string, std::string>> context{
        {"gpu_name", properties_.name},
        {"gpu_uuid", uuid},
        {"gpu_sm_count", std::to_string(properties_.multiProcessorCount)},
        {"cuda_version", version_text(runtime)}};
    for (auto& entry : nvml_context(uuid)) context.push_back(std::move(entry));
    return context;
  }

  void* allocate(std::size_t bytes) override {
    constexpr std::size_t alignment = 256;  // cudaMalloc's own
    constexpr std::size_t offsets = 8192;   // within 2 MiB, the size of a GPU's large page
    const auto number = static_cast<std::uint64_t>(placement_) << 32 | allocated_++;
    const std::size_t offset = placement_ == 0 ? 0 : random_below(number, 0, offsets) * alignment;
    char* memory = nullptr;
    cuda_check(cudaMalloc(&memory, std::max<std::size_t>(bytes, 1) + offset));
    bases_[memory + offset] = memory;
    return memory + offset;
  }
  void release(void* memory) noexcept override {
    if (const auto base = bases_.find(memory); base != bases_.end()) {
      cudaFree(base->second);
      bases_.erase(base);
    }
  }
  void set_placement(int index) override {
    placement_ = index;
    allocated_ = 0;
  }
  std::size_t free_bytes() const override {
    std::size_t free = 0;
    std::size_t total = 0;
    cuda_check(cudaMemGetInfo(&free, &total));
    return free;
  }
  std::size_t flush_bytes() const override { return 2 * static_cast<std::size_t>(properties_.l2CacheSize); }

  void upload(void* to, const void* from, std::size_t bytes) override {
    cuda_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_));
    synchronize();
  }
  void copy(void* to, const void* from, std::size_t bytes) override {
    cuda_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_));
    synchronize();
  }
  void zero(void* to, std::size_t bytes) override {
    cuda_check(cudaMemsetAsync(to, 0, bytes, stream_));
    synchronize();
  }

  void poison(void* to, Dtype dtype, std::size_t count) override {
    if (dtype == Dtype::fp32)
      fill<<<blocks, threads, 0, stream_>>>(static_cast<std::uint32_t*>(to), count, poison32);
    else
      fill<<<blocks, threads, 0, stream_>>>(static_cast<std::uint16_t*>(to), count, poison16);
    check_launch();
    synchronize();
  }

  void fill_random(void* to, Dtype dtype, std::size_t count, std::uint64_t key, float scale) override {
    with_type(dtype, [&]<class T>() {
      fill_with_random<<<blocks, threads, 0, stream_>>>(static_cast<T*>(to), count, key, scale);
    });
    check_launch();
    synchronize();
  }

  Difference compare(const void* got, const void* expected, Dtype dtype, std::size_t count) override {
    return dtype == Dtype::fp32 ? compare_as<std::uint32_t>(got, expected, dtype, count)
                                : compare_as<std::uint16_t>(got, expected, dtype, count);
  }

  RelativeError relative_error(const void* got, const void* expected, Dtype dtype,
                               std::size_t count) override {
    if (squares_ == nullptr) cuda_check(cudaMalloc(&squares_, sizeof(Squares)));
    Squares squares{};
    cuda_check(cudaMemcpyAsync(squares_, &squares, sizeof squares, cudaMemcpyHostToDevice, stream_));
    with_type(dtype, [&]<class T>() {
      const auto* const g = static_cast<const T*>(got);
      const auto* const e = static_cast<const T*>(expected);
      add_squares<<<blocks, threads, 0, stream_>>>(g, e, count, squares_);
      check_launch();
      find_worst_part<<<blocks, static_cast<unsigned>(part_elements), 0, stream_>>>(g, e, count, squares_);
      check_launch();
    });
    cuda_check(cudaMemcpyAsync(&squares, squares_, sizeof squares, cudaMemcpyDeviceToHost, stream_));
    synchronize();
    return {.whole = relative_l2(squares.difference, squares.expected),
            .worst_part = std::bit_cast<double>(squares.worst_part)};
  }

  void synchronize() override { cuda_check(cudaStreamSynchronize(stream_)); }
  void flush() override {
    if (flush_buffer_ == nullptr) cuda_check(cudaMalloc(&flush_buffer_, flush_bytes()));
    zero(flush_buffer_, flush_bytes());
  }
  void set_profiler(bool on) override { cuda_check(on ? cudaProfilerStart() : cudaProfilerStop()); }
  Stream stream() const override { return stream_; }

  Call with_delay(Call call, double seconds) override {
    int khz = 0;
    cuda_check(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, index_));
    const auto cycles = static_cast<long long>(seconds * khz * 1e3);
    return [call = std::move(call), cycles](Stream stream) {
      call(stream);
      wait_cycles<<<1, 1, 0, stream>>>(cycles);
      check_launch();
    };
  }

  std::unique_ptr<Sampler> make_sampler(Timer timer, Call call, int calls) override {
    if (!timers_) timers_ = std::make_unique<CudaTimers>(stream_, flush_bytes(), blocking_);
    return timers_->make_sampler(timer, std::move(call), calls);
  }

 private:
  template <class T>
  Difference compare_as(const void* got, const void* expected, Dtype dtype, std::size_t count) {
    const auto* const g = static_cast<const T*>(got);
    const auto* const e = static_cast<const T*>(expected);
    Tally tally{.count = 0, .first_index = ~0ull};
    cuda_check(cudaMemcpyAsync(tally_, &tally, sizeof tally, cudaMemcpyHostToDevice, stream_));
    compare_elements<<<blocks, threads, 0, stream_>>>(g, e, dtype, count, tally_);
    check_launch();
    cuda_check(cudaMemcpyAsync(&tally, tally_, sizeof tally, cudaMemcpyDeviceToHost, stream_));
    synchronize();
    Difference difference{.count = tally.count, .first_index = tally.first_index};
    if (difference.count == 0) return {};
    T bits[2] = {};
    cuda_check(cudaMemcpy(&bits[0], g + tally.first_index, sizeof(T), cudaMemcpyDeviceToHost));
    cuda_check(cudaMemcpy(&bits[1], e + tally.first_index, sizeof(T), cudaMemcpyDeviceToHost));
    difference.got = bits[0];
    difference.expected = bits[1];
    return difference;
  }

  int index_;
  bool blocking_;
  cudaDeviceProp properties_{};
  cudaStream_t stream_ = nullptr;
  Tally* tally_ = nullptr;
  Squares* squares_ = nullptr;
  void* flush_buffer_ = nullptr;  ///< of flush(); the cold timer has its own
  int placement_ = 0;
  std::uint64_t allocated_ = 0;   ///< since the placement was set
  std::map<void*, void*> bases_;  ///< what cudaMalloc gave, by what allocate() gave
  std::unique_ptr<CudaTimers> timers_;
};

}  // namespace

int cuda_device_count() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

std::string why_no_cuda() {
  int count = 0;
  int driver = 0;
  if (cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0) return "no NVIDIA driver is installed";
  const cudaError_t error = cudaGetDeviceCount(&count);
  return error == cudaSuccess ? "no GPU is visible" : cudaGetErrorString(error);
}

std::unique_ptr<Backend> make_cuda_backend(int index, bool blocking) {
  return std::make_unique<CudaBackend>(index, blocking);
}

}  // namespace strictbench
