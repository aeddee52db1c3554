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

class KernelRecorder {
 public:
  /// Throws std::runtime_error with the reason where CUPTI is not to be had. One at a time.
  KernelRecorder();
  ~KernelRecorder();
  KernelRecorder(const KernelRecorder&) = delete;
  KernelRecorder& operator=(const KernelRecorder&) = delete;

  /// From now on what runs on the GPU is recorded. The GPU must be idle.
  void start();
  /// What ran since start(), in the order of first launches. The GPU must be idle.
  std::vector<KernelTime> stop();

 private:
  class Cupti;
  std::unique_ptr<Cupti> cupti_;
};

}  // namespace strictbench
