/// Runs cases outside of any timing: once for a profiler to look at, or for the record of their kernels.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "bench/harness/kernel_recorder.h"
#include "bench/harness/operator_bench.h"
#include "bench/harness/oracle_cache.h"
#include "bench/harness/selection.h"

namespace strictbench {

/// The kernels of one case.
struct CaseKernels {
  std::string name;  ///< the row name
  int calls = 0;     ///< how many calls were recorded
  std::vector<KernelTime> kernels;
  std::string error;  ///< why there are none
};

/// Runs selected cases, each variant of a shape once however many timers it is selected for.
class Inspector {
 public:
  /// All must outlive it.
  Inspector(Backend& backend, const OperatorBench& bench, OracleCache cache)
      : backend_(backend), bench_(bench), cache_(std::move(cache)) {}

  /// Runs each case once inside two NVTX ranges, "profile" and in it one named for the case, between one
  /// start and stop of the CUDA profiler for the whole process. Inputs, checks and a flush of the caches lie
  /// outside the ranges. Errors ("check failed: ...") by case; none of them ran in a range.
  std::vector<CaseKernels> profile(std::span<const Case> cases);

  /// Records the kernels of several back-to-back calls of each case. Throws std::runtime_error where nothing
  /// can be recorded.
  std::vector<CaseKernels> kernels(std::span<const Case> cases);

 private:
  /// What is done to a case that is set up and has passed its check.
  using Look = std::function<void(const Case&, Problem&, CaseKernels&)>;
  std::vector<CaseKernels> each(std::span<const Case> cases, const Look& look);

  Backend& backend_;
  const OperatorBench& bench_;
  OracleCache cache_;
};

}  // namespace strictbench
