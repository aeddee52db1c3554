/// One side of a comparison of kernels: what ran on the GPU, and for how long.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "report/name_pattern.h"

namespace strictbench {

/// All launches of one kernel.
struct KernelUse {
  std::string name;  // as the file has it, full or short
  double launches = 0;
  double total_ns = 0;
};

/// The kernels of one call of a case; of a whole profile where there are no cases.
struct RecordedCase {
  std::string name;
  std::vector<KernelUse> kernels;
};

/// A case whose kernels were not recorded.
struct UnrecordedCase {
  std::string file;
  std::string name;
  std::string error;
};

struct KernelSide {
  std::string title;      // what was read, and which cases of it
  bool recorded = false;  // by cases; else one profile, counted as a whole
  std::vector<RecordedCase> cases;
  std::vector<std::string> devices;  // that the files name
  std::vector<std::string> notes;
  std::vector<UnrecordedCase> failed = {};  // of those chosen
};

/// Reads a folder that holds `<operator>.kernels.json` files, one such file, or Nsight Systems' kernel
/// summary as CSV. Only cases in whose names every one of `patterns` is found count. Throws UsageError.
KernelSide read_kernel_side(const std::string& path, const std::vector<NamePattern>& patterns);

/// Leaves the cases that both sides hold: those of one name whatever the timer, else, where no name is on
/// both sides, those of one operator and shape. What is left out is noted. Throws UsageError where nothing is
/// left.
void pair_cases(KernelSide& before, KernelSide& after, std::vector<std::string>& notes);

/// Longer times and more launches than these are no record of a GPU: 31 years.
inline constexpr double most_kernel_ns = 1e18;
inline constexpr double most_launches = 1e15;

/// The kernels of a CSV that `nsys stats --report cuda_gpu_kern_sum --format csv` wrote, in either of its
/// forms; `path` is for messages. Notes what is odd. Throws UsageError.
std::vector<KernelUse> parse_kernel_csv(std::string_view text, const std::string& path,
                                        std::vector<std::string>& notes);

}  // namespace strictbench
