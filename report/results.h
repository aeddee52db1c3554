/// What stands on one side of a comparison: every row of every file, by name and by process.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "report/benchmark_file.h"

namespace strictbench {

/// Kind of a number. Times are held in nanoseconds; rates are better when larger.
enum class Unit { time, rate, plain, unknown };

/// A stretch on one machine, as far as the files state it: empty fields are not stated.
struct Session {
  std::string boot_id;
  std::string gpu_uuid;
  std::string label;  // tells sessions apart that state neither
  std::string date;
};

/// What one process says about one benchmark.
struct ProcessRecord {
  double number = 0;                    // the row's `process`, or 0
  std::uint32_t source = 0;             // index in Side::sources
  std::uint32_t session = 0;            // index in Side::sessions
  std::vector<double> samples;          // usable numbers, in file order
  double median_aggregate = no_number;  // what a file of aggregates alone says
  double mean_aggregate = no_number;
  double floor = no_number;             // nanoseconds: the least time that its ceilings allow
  std::size_t recorded_samples = 0;     // samples behind numbers that are medians already
  std::size_t suspect = 0;              // rows left out: the machine was throttled or shared
  std::vector<double> suspect_samples;  // their usable numbers
  bool suspect_aggregate = false;       // an aggregate that sums up at least one such row

  /// The one number that stands for the process: the median of its samples, else its aggregate, else NaN:
  /// also where all of its rows are suspect.
  double value() const;
};

/// Rows of a benchmark without a usable number: how many of each sort, and the first message.
struct Troubles {
  std::size_t failed = 0, wrong = 0, skipped = 0;
  std::string failed_message, wrong_message, skipped_message;
};

/// All that one side says about one benchmark.
struct Evidence {
  std::string name;
  std::string unit_name;  // as the file has it, for units that are not known
  Unit unit = Unit::plain;
  bool unit_known = false;
  bool units_differ = false;
  bool published = false;
  std::size_t checked = 0;  // rows that say their result passed its check
  double tolerance = 0;     // above 0, what they passed was this relative L2 error and not the oracle's bits
  double relative_error = no_number;  // the largest of them
  bool control = false;               // legacy and new run the same code on this shape
  std::vector<ProcessRecord> processes;
  std::unique_ptr<Troubles> troubles;  // null where every row holds a number

  Troubles& trouble();
  std::size_t suspect_rows() const;
  bool has_number() const;
  /// Of numbers that must be times: why they are none; empty where they are.
  std::string no_times() const;
};

/// A file that was read.
struct Source {
  std::string path;
  Context context;
};

/// A run's own record of itself: `run.json` of a result folder.
struct RunRecord {
  std::string folder;
  std::string status;
  std::size_t not_ok = 0;              // processes that did not end ok
  std::size_t failed = 0;              // of these, those that began: they failed, crashed or timed out
  std::set<std::string> not_selected;  // cases that exist and that the run was not asked for
};

/// One side, read from any number of files and folders.
class Side {
 public:
  Side() = default;
  Side(Side&&) = default;  // the benchmarks stay where they are, and with them the names in the index
  Side& operator=(Side&&) = default;
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  std::deque<Evidence> benchmarks;  // in order of appearance
  std::vector<Source> sources;
  std::vector<Session> sessions;
  std::vector<RunRecord> runs;
  bool single_files = false;  // some rows come from files that no run's record speaks for
  std::size_t rows_read = 0;
  std::size_t summaries = 0;    // rows read that sum up others: aggregates and complexity fits
  std::size_t suspect = 0;      // rows left out since the machine was throttled or shared
  std::size_t with_metric = 0;  // rows that have the metric's key
  std::vector<std::string> notes;

  /// Drops the benchmarks whose names are not wanted.
  void keep(const std::function<bool(const std::string&)>& wanted);

  /// Whether every run on this side knew the case and none was asked for it.
  bool not_asked_for(const std::string& name) const;

  const Evidence* find(std::string_view name) const;
  Evidence& find_or_add(std::string_view name);

 private:
  std::unordered_map<std::string_view, Evidence*> index_;  // the names live in `benchmarks`
};

/// Reads result folders and Google Benchmark files. `metric` is the key of the number to compare, `real_time`
/// as a rule. Throws UsageError for whatever cannot be read.
Side read_side(const std::vector<std::string>& paths, const std::string& metric);

/// The timer in a row's name (`timer:graph` gives "graph"), or an empty string.
std::string_view timer_of(std::string_view name);

}  // namespace strictbench
