/// Work beside a stream: what a SideWork's stream is given until join() may run while the caller's stream
/// goes on, which waits for it there. Captured into a graph, it becomes a branch.
///
/// Side streams are made once and lent. A SideWork has one for itself, so that calls on other streams and
/// threads do not meet in it; one that takes part in a capture is lent within that capture alone.
#pragma once
#include <cuda_runtime_api.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "kernels/common/cuda_error.h"

namespace strictbench {

class SideWork {
 public:
  /// Begins after all that `stream`, of the current device, has been given so far.
  explicit SideWork(cudaStream_t stream) : stream_(stream), side_(Pool::all().borrow(stream)) {
    cuda_check(cudaEventRecord(side_->forked, stream));
    cuda_check(cudaStreamWaitEvent(side_->stream, side_->forked, 0));
    under_way_ = true;
  }
  SideWork(const SideWork&) = delete;
  SideWork& operator=(const SideWork&) = delete;

  /// Joins where an exception came before that: a capture ends badly with a loose end, and what the caller
  /// frees next must not be written any more.
  ~SideWork() {
    if (under_way_ && try_join() != cudaSuccess) cudaGetLastError();
  }

  cudaStream_t get() const { return side_->stream; }

  /// The caller's stream waits for all that the side stream was given.
  void join() {
    under_way_ = false;
    cuda_check(try_join());
  }

 private:
  struct Side {
    int device{};
    cudaStream_t stream{};
    cudaEvent_t forked{};
    cudaEvent_t joined{};
  };

  class Pool {
   public:
    struct GiveBack {
      void operator()(Side* side) const {
        const std::lock_guard lock(all().mutex_);
        all().free_.push_back(side);  // within the capacity of borrow(): never throws
      }
    };
    using Lent = std::unique_ptr<Side, GiveBack>;

    /// Never destroyed: at the program's end CUDA may be gone before.
    static Pool& all() {
      static Pool* const pool = new Pool;
      return *pool;
    }

    Lent borrow(cudaStream_t stream) {
      int device = 0;
      cuda_check(cudaGetDevice(&device));
      const Capture capture = capture_of(stream);
      const std::lock_guard lock(mutex_);
      const auto fits = [&](const Side* side) {
        return side->device == device && capture_of(side->stream) == capture;
      };
      // The last that came back first: a call after a call has the same one.
      if (const auto found = std::find_if(free_.rbegin(), free_.rend(), fits); found != free_.rend()) {
        Side* const side = *found;
        free_.erase(std::prev(found.base()));
        return Lent(side);
      }
      free_.reserve(++made_);
      return Lent(make(device));
    }

   private:
    using Capture = std::pair<cudaStreamCaptureStatus, unsigned long long>;

    static Capture capture_of(cudaStream_t stream) {
      Capture capture{};
      cuda_check(cudaStreamGetCaptureInfo(stream, &capture.first, &capture.second));
      if (capture.first != cudaStreamCaptureStatusActive) capture.second = 0;
      return capture;
    }

    static Side* make(int device) {
      // Making a stream disturbs no capture; CUDA's strict modes cannot know that.
      cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
      cuda_check(cudaThreadExchangeStreamCaptureMode(&mode));
      auto side = std::make_unique<Side>(Side{.device = device});
      cudaError_t error = cudaStreamCreateWithFlags(&side->stream, cudaStreamNonBlocking);
      for (cudaEvent_t* const event : {&side->forked, &side->joined})
        if (error == cudaSuccess) error = cudaEventCreateWithFlags(event, cudaEventDisableTiming);
      cuda_check(cudaThreadExchangeStreamCaptureMode(&mode));
      cuda_check(error);
      return side.release();
    }

    std::mutex mutex_;
    std::vector<Side*> free_;
    std::size_t made_ = 0;
  };

  cudaError_t try_join() {
    const cudaError_t recorded = cudaEventRecord(side_->joined, side_->stream);
    return recorded == cudaSuccess ? cudaStreamWaitEvent(stream_, side_->joined, 0) : recorded;
  }

  cudaStream_t stream_;
  Pool::Lent side_;
  bool under_way_ = false;
};

}  // namespace strictbench
