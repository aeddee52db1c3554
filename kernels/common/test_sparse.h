/// For tests of offsets past 2^31: zeroed memory of gigabytes, of which a CPU keeps the touched pages alone.
#pragma once
#include <sys/mman.h>

#include <cstddef>
#include <cstring>
#include <vector>

#include "kernels/common/test_array.h"

namespace strictbench::test {

class SparseArray {
 public:
  /// Check ok() before anything else: memory may be short.
  SparseArray(Device device, std::size_t bytes) : device_(device), bytes_(bytes) {
    if (device == Device::cpu) {
      void* const mapped =
          mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (mapped != MAP_FAILED) data_ = static_cast<std::byte*>(mapped);
    }
#ifdef STRICTBENCH_HAS_CUDA
    if (device == Device::cuda) {
      if (cudaMalloc(reinterpret_cast<void**>(&data_), bytes) != cudaSuccess) {
        cudaGetLastError();
        data_ = nullptr;
        return;
      }
      cuda_check(cudaMemset(data_, 0, bytes));
    }
#endif
  }
  ~SparseArray() {
    if (data_ == nullptr) return;
    if (device_ == Device::cpu) munmap(data_, bytes_);
#ifdef STRICTBENCH_HAS_CUDA
    if (device_ == Device::cuda) cudaFree(data_);
#endif
  }
  SparseArray(const SparseArray&) = delete;
  SparseArray& operator=(const SparseArray&) = delete;

  bool ok() const { return data_ != nullptr; }
  std::byte* data() { return data_; }

  void write(std::size_t offset, const std::vector<std::byte>& values) {
#ifdef STRICTBENCH_HAS_CUDA
    if (device_ == Device::cuda)
      return cuda_check(cudaMemcpy(data_ + offset, values.data(), values.size(), cudaMemcpyHostToDevice));
#endif
    std::memcpy(data_ + offset, values.data(), values.size());
  }

  /// Once all work on the device is done.
  std::vector<std::byte> read(std::size_t offset, std::size_t bytes) {
    synchronize(device_);
    std::vector<std::byte> values(bytes);
#ifdef STRICTBENCH_HAS_CUDA
    if (device_ == Device::cuda) {
      cuda_check(cudaMemcpy(values.data(), data_ + offset, bytes, cudaMemcpyDeviceToHost));
      return values;
    }
#endif
    std::memcpy(values.data(), data_ + offset, bytes);
    return values;
  }

 private:
  Device device_;
  std::size_t bytes_;
  std::byte* data_ = nullptr;
};

}  // namespace strictbench::test
