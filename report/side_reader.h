/// Sorts the rows of one file into a Side.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "report/results.h"

namespace strictbench {

/// Collects rows of any number of files; one process per file, unless rows carry a `process` number.
class SideReader {
 public:
  SideReader(Side& side, std::string metric);

  /// Reads a whole file. Throws UsageError; the side is then half filled and of no use.
  void read_file(const std::string& path);

  /// What stands before the first slash of the names in the file that was read last, where they have one.
  const std::set<std::string>& operators_of_file() const { return operators_; }

  /// Counts a benchmark as failed that left no row at all.
  void add_failure(const std::string& name, const std::string& reason);

  /// Puts equal sessions together, once every file is read.
  void finish();

 private:
  struct ProcessKey {
    const Evidence* evidence;
    std::uint32_t session;  // of this file
    double number;
    bool operator==(const ProcessKey&) const = default;
  };
  struct ProcessKeyHash {
    std::size_t operator()(const ProcessKey& key) const;
  };

  /// Throws UsageError where another file of the side holds the same process.
  void require_once(const std::string& path, std::size_t digest, bool has_rows);
  void take(BenchmarkRow& row);
  void take_old_summaries();
  void take_summary(BenchmarkRow& row);
  void take_number(Evidence& evidence, const BenchmarkRow& row);
  /// Whether the row says that it holds no number, and then why.
  static bool take_trouble(Evidence& evidence, const BenchmarkRow& row);
  static void take_claim(Evidence& evidence, const BenchmarkRow& row);
  ProcessRecord& process_of(Evidence& evidence, const BenchmarkRow& row);
  std::uint32_t session_of(const BenchmarkRow& row);
  double scaled(Evidence& evidence, const BenchmarkRow& row) const;
  void name_sessions();
  void mark_published();

  Side& side_;
  std::string metric_;
  std::uint32_t source_ = 0;
  std::set<std::string> operators_;                       // of this file
  std::string operator_;                                  // of its last row
  std::vector<BenchmarkRow> old_summaries_;               // rows without run_type that may sum up others
  std::map<double, std::uint32_t> sessions_;              // of this file, by number
  std::unordered_map<std::size_t, std::string> digests_;  // which file has it
  std::unordered_map<ProcessKey, std::size_t, ProcessKeyHash> processes_;
};

}  // namespace strictbench
