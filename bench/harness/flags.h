/// The command line of a bench_<operator>, as far as the harness reads it.
#pragma once
#include <cstdlib>
#include <string>
#include <vector>

namespace strictbench {

inline constexpr int default_samples = 20;
inline constexpr int default_placements = 4;

struct Flags {
  std::string device;
  std::string oracle_cache;
  std::string filter;
  std::string format = "console";
  std::string out_format = "json";
  bool out = std::getenv("BENCHMARK_OUT") != nullptr;
  std::string out_path;
  bool describe = false;
  bool nvtx = false;
  bool profile = false;
  bool watch = true;
  std::string kernels;
  int progress_fd = -1;
  int samples = default_samples;
  int placements = default_placements;
  std::string cases;
  std::vector<double> delays;
};

/// Takes our flags out of `arguments` and reads those of Google Benchmark's that the harness shares. Prints
/// our part of --help. Throws std::invalid_argument.
Flags take_flags(std::vector<std::string>& arguments);

}  // namespace strictbench
