/// From process medians to intervals, for a whole table at once. Pure: no files, no text.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "report/statistics.h"

namespace strictbench {

/// One side of a row: the logarithm of each process's median, by session.
struct SideSample {
  std::vector<std::vector<double>> sessions;
  double squared_error_within = 0;  // of one process's median, from its samples; used where it stands alone

  std::size_t processes() const;
};

/// One row of the table. Both sides hold at least one process. Larger is worse.
struct RowSample {
  std::size_t group = 0;  // rows of one timer form a group and lend each other evidence; numbered from 0
  SideSample baseline;
  SideSample contender;
  bool across_sessions = false;  // the sides are from different sessions
  double resolution = 0;         // step of the clock as a fraction of the time; 0 where it does not show
};

/// Where the spread between processes came from.
enum class SpreadOrigin {
  both_sides,
  baseline_record,  // the contender has one process
  few_processes,    // both sides, but at least the assumed spread
  assumed           // the baseline has one process
};

struct RowInterval {
  double log_ratio = 0;
  double half_width = 0;
  SpreadOrigin origin = SpreadOrigin::both_sides;
};

struct TableIntervals {
  std::vector<RowInterval> rows;              // as many as were given, in their order
  std::vector<SessionSpread> session_spread;  // by group
};

/// Intervals of all rows' log ratios. `alpha` is the error of the whole table, `threshold` a fraction.
TableIntervals judge_table(std::span<const RowSample> rows, double alpha, double threshold);

enum class Call { slower, faster, same, inconclusive };

/// What an interval of a log ratio says at a threshold.
Call call(double log_ratio, double half_width, double threshold);

}  // namespace strictbench
