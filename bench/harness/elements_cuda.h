/// Filling and comparing tensors on the GPU.
#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "bench/harness/backend.h"

namespace strictbench {

/// Both enqueue their work on `stream`.
void poison_elements(void* to, Dtype dtype, std::size_t count, cudaStream_t stream);
/// Element i becomes random_normal(key, i) * scale, rounded to dtype.
void fill_random_elements(void* to, Dtype dtype, std::size_t count, std::uint64_t key, float scale,
                          cudaStream_t stream);

/// Backend::compare and Backend::relative_error on a stream. Complete when they return.
class CudaComparer {
 public:
  explicit CudaComparer(cudaStream_t stream);
  ~CudaComparer();
  CudaComparer(const CudaComparer&) = delete;
  CudaComparer& operator=(const CudaComparer&) = delete;

  Difference compare(const void* got, const void* expected, Dtype dtype, std::size_t count);
  RelativeError relative_error(const void* got, const void* expected, Dtype dtype, std::size_t count);

  struct Tally;    ///< what comparing adds up on the GPU
  struct Squares;  ///< what errors are made of

 private:
  template <class T>
  Difference compare_as(const void* got, const void* expected, Dtype dtype, std::size_t count);

  cudaStream_t stream_;
  Tally* tally_ = nullptr;
  Squares* squares_ = nullptr;
};

}  // namespace strictbench
