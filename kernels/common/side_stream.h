/// Work beside a stream: what is put on the side stream between fork() and join() may run while the stream
/// goes on, and the stream waits for it at join(). Captured into a graph, it becomes a branch.
#pragma once
#include <cuda_runtime_api.h>

#include <map>

#include "kernels/common/cuda_error.h"
#include "kernels/common/variant.h"

namespace strictbench {

class SideStream {
 public:
  /// The calling thread's, made at its first use on the current device and never given back: a launch may not
  /// wait for the work that an owner would have to outlive.
  static SideStream& of_this_device() {
    thread_local std::map<int, SideStream*> all;
    int device = 0;
    cuda_check(cudaGetDevice(&device));
    SideStream*& found = all[device];
    if (found == nullptr) found = new SideStream;
    return *found;
  }

  cudaStream_t get() const { return side_; }

  /// The side stream waits for all that `stream` has been given so far.
  void fork(cudaStream_t stream) {
    cuda_check(cudaEventRecord(forked_, stream));
    cuda_check(cudaStreamWaitEvent(side_, forked_, 0));
  }
  /// `stream` waits for all that the side stream has been given so far.
  void join(cudaStream_t stream) {
    cuda_check(cudaEventRecord(joined_, side_));
    cuda_check(cudaStreamWaitEvent(stream, joined_, 0));
  }

 private:
  SideStream() {
    cuda_check(cudaStreamCreateWithFlags(&side_, cudaStreamNonBlocking));
    cuda_check(cudaEventCreateWithFlags(&forked_, cudaEventDisableTiming));
    cuda_check(cudaEventCreateWithFlags(&joined_, cudaEventDisableTiming));
  }

  cudaStream_t side_{};
  cudaEvent_t forked_{};
  cudaEvent_t joined_{};
};

}  // namespace strictbench
