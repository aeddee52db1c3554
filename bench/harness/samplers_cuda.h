/// The CUDA timers: graph, cold, wall and event.
#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>

#include "bench/harness/sampler.h"

namespace strictbench {

/// What all CUDA samplers of a process share: events, the flush buffer, the gate. Samplers must not outlive
/// it.
class CudaTimers {
 public:
  /// `flush_bytes`: how much the cold timer overwrites before each sample, at least twice the L2.
  /// `blocking`: whether timed work is enqueued behind a blocking kernel (see Gate).
  CudaTimers(cudaStream_t stream, std::size_t flush_bytes, bool blocking);
  ~CudaTimers();
  CudaTimers(const CudaTimers&) = delete;
  CudaTimers& operator=(const CudaTimers&) = delete;

  /// Throws std::invalid_argument for a timer that does not run on a GPU.
  std::unique_ptr<Sampler> make_sampler(Timer timer, Call call, int calls);

  struct Shared;  ///< defined beside the samplers

 private:
  std::unique_ptr<Shared> shared_;
};

}  // namespace strictbench
