#include <cuda_profiler_api.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>

#include "bench/harness/backends.h"
#include "bench/harness/elements_cuda.h"
#include "bench/harness/nvml.h"
#include "bench/harness/samplers_cuda.h"
#include "kernels/common/cuda_error.h"
#include "kernels/common/random.h"

namespace strictbench {
namespace {

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
    comparer_.emplace(stream_);
  }
  // A device in error refuses to free; the process is about to end anyway.
  ~CudaBackend() override {
    timers_.reset();
    comparer_.reset();
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
    poison_elements(to, dtype, count, stream_);
    synchronize();
  }
  void fill_random(void* to, Dtype dtype, std::size_t count, std::uint64_t key, float scale) override {
    fill_random_elements(to, dtype, count, key, scale, stream_);
    synchronize();
  }
  Difference compare(const void* got, const void* expected, Dtype dtype, std::size_t count) override {
    return comparer_->compare(got, expected, dtype, count);
  }
  RelativeError relative_error(const void* got, const void* expected, Dtype dtype,
                               std::size_t count) override {
    return comparer_->relative_error(got, expected, dtype, count);
  }

  void synchronize() override { cuda_check(cudaStreamSynchronize(stream_)); }
  bool lost() override {
    cudaGetLastError();  // an error that can be taken back is gone now; the others come again
    return cudaStreamSynchronize(stream_) != cudaSuccess || cudaGetLastError() != cudaSuccess;
  }
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

  ProbeCalls probe(Probe probe, void* memory, double amount) override {
    return cuda_probe(probe, memory, amount, properties_.multiProcessorCount);
  }

  std::unique_ptr<Sampler> make_sampler(Timer timer, Call call, int calls) override {
    if (!timers_) timers_ = std::make_unique<CudaTimers>(stream_, flush_bytes(), blocking_);
    return timers_->make_sampler(timer, std::move(call), calls);
  }

 private:
  int index_;
  bool blocking_;
  cudaDeviceProp properties_{};
  cudaStream_t stream_ = nullptr;
  std::optional<CudaComparer> comparer_;
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
