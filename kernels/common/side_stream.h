/// Work beside a stream: what a SideWork's stream is given until join() may run while the caller's stream
/// goes on, which waits for it there. Captured into a graph, it becomes a branch.
///
/// Side streams are made once and lent. A SideWork has one for itself, and one goes to another stream than
/// before only when it is idle, so that neither waits for the other; one that takes part in a capture is lent
/// to the same stream in that capture alone.
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
  /// A stream, told from others by its id too, since a handle comes again when its stream is gone and
  /// cudaStreamPerThread is another stream in each thread. In a capture by its handle alone: there its id
  /// must not be asked for (that ends the capture), nor can it go.
  struct User {
    cudaStream_t stream{};
    unsigned long long id{};
    bool operator==(const User&) const = default;
  };

  struct Side {
    int device{};
    User served{};  ///< who had it last
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
      const User user = user_of(stream, capture);
      const std::lock_guard lock(mutex_);
      const auto fits = [&](const Side* side) {
        if (side->device != device) return false;
        const Capture its = capture_of(side->stream);
        if (its.first != cudaStreamCaptureStatusNone) return its == capture && side->served == user;
        return side->served == user || capture.first == cudaStreamCaptureStatusActive ||
               is_idle(side->stream);
      };
      // The last that came back first: a call after a call has the same one.
      const auto found = std::find_if(free_.rbegin(), free_.rend(), fits);
      Side* side = nullptr;
      if (found != free_.rend()) {
        side = *found;
        free_.erase(std::prev(found.base()));
      } else {
        free_.reserve(made_ + 1);
        side = make(device);
        ++made_;
      }
      side->served = user;
      return Lent(side);
    }

   private:
    using Capture = std::pair<cudaStreamCaptureStatus, unsigned long long>;

    static Capture capture_of(cudaStream_t stream) {
      Capture capture{};
      cuda_check(cudaStreamGetCaptureInfo(stream, &capture.first, &capture.second));
      if (capture.first != cudaStreamCaptureStatusActive) capture.second = 0;
      return capture;
    }

    /// Makes streams and asks for their state even while the thread captures: neither disturbs a capture,
    /// which CUDA's strict modes cannot know.
    class Relaxed {
     public:
      Relaxed() { cuda_check(cudaThreadExchangeStreamCaptureMode(&mode_)); }
      ~Relaxed() { cudaThreadExchangeStreamCaptureMode(&mode_); }
      Relaxed(const Relaxed&) = delete;
      Relaxed& operator=(const Relaxed&) = delete;

     private:
      cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
    };

    static User user_of(cudaStream_t stream, const Capture& capture) {
      User user{.stream = stream};
      if (capture.first != cudaStreamCaptureStatusNone) return user;
      const Relaxed relaxed;
      cuda_check(cudaStreamGetId(stream, &user.id));
      return user;
    }

    static bool is_idle(cudaStream_t stream) {
      const Relaxed relaxed;
      const cudaError_t error = cudaStreamQuery(stream);
      if (error != cudaErrorNotReady) cuda_check(error);
      if (error != cudaSuccess) cudaGetLastError();
      return error == cudaSuccess;
    }

    static Side* make(int device) {
      const Relaxed relaxed;
      auto side = std::make_unique<Side>(Side{.device = device});
      cuda_check(cudaStreamCreateWithFlags(&side->stream, cudaStreamNonBlocking));
      cuda_check(cudaEventCreateWithFlags(&side->forked, cudaEventDisableTiming));
      cuda_check(cudaEventCreateWithFlags(&side->joined, cudaEventDisableTiming));
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
