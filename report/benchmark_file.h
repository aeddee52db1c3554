/// Reads one Google Benchmark JSON file, row by row.
#pragma once
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <string>

namespace strictbench {

/// The context of a file: every value that is a string, number or boolean, as text.
using Context = std::map<std::string, std::string, std::less<>>;

inline constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

/// One entry of `benchmarks`, as it stands. Numbers that are absent or not finite are NaN.
struct BenchmarkRow {
  std::string name;
  std::string run_name;
  std::string run_type;        // "iteration", "aggregate", or empty in files older than 2018
  std::string aggregate_name;  // "mean", "median", ...
  std::string time_unit;       // empty where the row states none
  std::string error_message;
  std::string skip_message;
  std::string provenance;
  bool error_occurred = false;
  bool skipped = false;
  bool complexity = false;  // a BigO or RMS row: a fit, not a time
  bool has_metric = false;  // the metric's key stands in the row, whatever its value
  double metric = no_number;
  double process = no_number;
  double session = no_number;
  double suspect = no_number;
  double check = no_number;
  double tolerance = no_number;  // infinite where the key stands there without a number
  double relative_error = no_number;
  double control = no_number;
  double floor_us = no_number;
  double samples = no_number;

  /// Empties every field and keeps the memory of the strings.
  void clear();
};

/// Called for each row in the order of the file; may take the row's strings.
using RowVisitor = std::function<void(BenchmarkRow&)>;

/// What a file says beside its rows.
struct FileFacts {
  Context context;
  std::size_t digest = 0;  // of the same bytes the same, of others another
};

/// Reads `path` in one pass, linear in its bytes. `metric` is the key whose value each row's `metric` holds.
/// Throws UsageError, naming file and byte, where the file is not JSON or not Google Benchmark's.
FileFacts read_benchmark_file(const std::string& path, const std::string& metric, const RowVisitor& visit);

}  // namespace strictbench
