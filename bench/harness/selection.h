/// Cases and which of them a filter selects.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/harness/operator_bench.h"

namespace strictbench {

/// Operator, variant, shape, dtype and timer: one row.
struct Case {
  std::string name;  ///< the row name
  std::string variant;
  std::size_t shape;  ///< index into OperatorBench::shapes
  Timer timer;
  bool gating;
  bool selected;
  std::optional<double>
      delay;  ///< an arm of a calibration: waits this share of the call's time after each call
  std::optional<double> floor_seconds = {};  ///< the least time of a call, where ceilings were measured
};

/// `<operator>/<variant>/<keys>/timer:<timer>`
std::string row_name(std::string_view operator_name, std::string_view variant, std::string_view keys,
                     Timer timer);

/// All cases of an operator, those that `filter` selects marked. The filter is searched in the row names as
/// Google Benchmark's is: an extended regular expression, a leading '-' turns it around, empty or "all" is
/// everything. One that does not say "timer:" selects gating timers only. Throws std::invalid_argument for
/// one that is no regular expression.
std::vector<Case> select_cases(const OperatorBench& bench, const std::string& filter);

/// Each case once per delay, 0 first, its variant called "<variant>+2%": "row_fold/new+2%/rows:64/...". The
/// arms of a calibration; all of them carry a wait behind each call, the first one of no length.
std::vector<Case> with_delays(const OperatorBench& bench, const std::vector<Case>& cases,
                              const std::vector<double>& delays);

}  // namespace strictbench
