/// Which kernels ran on the GPU and for how long, recorded through CUPTI. Never in a timing run: it costs
/// time.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace strictbench {

/// All launches of one kernel. Memory operations stand beside kernels as "[memset]" and "[memcpy]".
struct KernelTime {
  std::string name;  ///< demangled and short: "fold_columns"
  std::uint64_t launches = 0;
  std::uint64_t total_ns = 0;
  std::uint64_t min_ns = 0;
  std::uint64_t max_ns = 0;
};

/// How CUPTI times a kernel. Both only add to the time, to different kernels (H200, CUDA 13.0).
enum class RecordedBy {
  instrumentation,  ///< each block pays: 10 % of 2.4 million blocks that do next to nothing
  serialization,    ///< each launch pays: 1.3 to 1.8 us
};

class KernelRecorder {
 public:
  /// Throws std::runtime_error with the reason where CUPTI is not to be had. One at a time.
  KernelRecorder();
  ~KernelRecorder();
  KernelRecorder(const KernelRecorder&) = delete;
  KernelRecorder& operator=(const KernelRecorder&) = delete;

  /// From now on what runs on the GPU is recorded. The GPU must be idle.
  void start(RecordedBy way);
  /// What ran since start(), in the order of first launches. The GPU must be idle.
  std::vector<KernelTime> stop();

 private:
  class Cupti;
  std::unique_ptr<Cupti> cupti_;
};

/// The record nearest to what the kernels take by themselves: of two of the same calls, each kernel's smaller
/// total. Throws std::runtime_error where the two did not see the same launches.
std::vector<KernelTime> nearest_record(const std::vector<KernelTime>& one,
                                       const std::vector<KernelTime>& other);

}  // namespace strictbench
