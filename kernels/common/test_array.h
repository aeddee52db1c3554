/// For tests: an array on either device, and the devices there are.
#pragma once
#include <cstring>
#include <vector>

#include "kernels/common/dtype.h"
#include "kernels/common/random.h"
#include "kernels/common/variant.h"

#ifdef STRICTBENCH_HAS_CUDA
#include <cuda_runtime_api.h>

#include "kernels/common/cuda_error.h"
#endif

namespace strictbench::test {

/// The CPU, and CUDA where this build and this machine have it.
inline std::vector<Device> devices() {
  std::vector<Device> devices{Device::cpu};
#ifdef STRICTBENCH_HAS_CUDA
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess && count > 0) devices.push_back(Device::cuda);
#endif
  return devices;
}

inline void synchronize(Device device) {
#ifdef STRICTBENCH_HAS_CUDA
  if (device == Device::cuda) cuda_check(cudaDeviceSynchronize());
#endif
  static_cast<void>(device);
}

template <class T>
class Array {
 public:
  Array(Device device, const std::vector<T>& values) : device_(device), host_(values) {
#ifdef STRICTBENCH_HAS_CUDA
    if (device == Device::cuda) {
      cuda_check(cudaMalloc(&gpu_, bytes() + 1));
      cuda_check(cudaMemcpy(gpu_, host_.data(), bytes(), cudaMemcpyHostToDevice));
    }
#endif
  }
  /// `count` elements full of poison.
  Array(Device device, std::size_t count) : Array(device, poisoned(count)) {}
  ~Array() {
#ifdef STRICTBENCH_HAS_CUDA
    if (gpu_ != nullptr) cudaFree(gpu_);
#endif
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  T* data() { return gpu_ != nullptr ? static_cast<T*>(gpu_) : host_.data(); }

  /// The elements, once all work on the device is done.
  const std::vector<T>& values() {
    synchronize(device_);
#ifdef STRICTBENCH_HAS_CUDA
    if (gpu_ != nullptr) cuda_check(cudaMemcpy(host_.data(), gpu_, bytes(), cudaMemcpyDeviceToHost));
#endif
    return host_;
  }

 private:
  static std::vector<T> poisoned(std::size_t count) {
    std::vector<T> values(count);
    for (T& value : values)
      for (std::size_t b = 0; b + 1 < sizeof(T); b += 2)
        std::memcpy(reinterpret_cast<char*>(&value) + b, &poison16, sizeof poison16);
    return values;
  }
  std::size_t bytes() const { return host_.size() * sizeof(T); }

  Device device_;
  std::vector<T> host_;
  void* gpu_ = nullptr;
};

/// Rows whose bf16-rounded column sums show the order of addition, [rows, cols]. Random normal numbers hardly
/// do: fp32 sums of a few bf16 numbers are exact or nearly so. Here rows come in threes: a small one, a large
/// one, and the large one's negative, which brings back to light what the large one swallowed.
inline std::vector<Bf16> cancelling_rows(const char* name, std::int64_t rows, std::int64_t cols) {
  const std::uint64_t key = random_key(name);
  std::vector<Bf16> values;
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < cols; ++c) {
      const auto at = [&](std::int64_t row) {
        return random_normal(key, static_cast<std::uint64_t>(row * cols + c));
      };
      const float large = at(rows + r / 3) * 0x1p22f;
      values.push_back(to_bf16(r % 3 == 0 ? at(r) : r % 3 == 1 ? large : -large));
    }
  return values;
}

/// The bits of the elements, so that -0 differs from +0 and a NaN equals itself.
inline std::vector<std::uint32_t> bits(const std::vector<float>& values) {
  std::vector<std::uint32_t> all;
  for (const float value : values) all.push_back(std::bit_cast<std::uint32_t>(value));
  return all;
}
inline std::vector<std::uint16_t> bits(const std::vector<Bf16>& values) {
  std::vector<std::uint16_t> all;
  for (const Bf16 value : values) all.push_back(value.bits);
  return all;
}

inline std::vector<std::uint16_t> bits(const std::vector<Fp16>& values) {
  std::vector<std::uint16_t> all;
  for (const Fp16 value : values) all.push_back(value.bits);
  return all;
}

/// The address `bytes` further on, for arguments that are to be refused.
template <class T>
T* moved(T* data, std::intptr_t bytes) {
  return reinterpret_cast<T*>(reinterpret_cast<std::intptr_t>(data) + bytes);
}

/// Where eight bytes would end beyond all addresses.
template <class T>
T* last_address() {
  return reinterpret_cast<T*>((std::uintptr_t{1} << 63) - 8);
}

inline const char* text(Device device) { return device == Device::cpu ? "cpu" : "cuda"; }

}  // namespace strictbench::test
