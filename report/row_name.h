/// The parts of a row's name: `<operator>/<variant>/<key:value>.../timer:<timer>`.
#pragma once
#include <string>
#include <string_view>

#include "report/results.h"

namespace strictbench {

struct RowName {
  std::string op;
  std::string variant;
  std::string shape;  // "rows:64/cols:128/dtype:fp32"
  std::string timer;

  /// Whether the name had all parts; others are names of some other project.
  bool complete() const { return !op.empty() && !variant.empty() && !timer.empty(); }
};

/// Takes a name apart. What Google Benchmark appends behind the timer is dropped.
RowName parse_row_name(std::string_view name);

/// The name up to and with its timer, so that "x/timer:wall/manual_time" and "x/timer:wall" are one.
std::string_view without_suffix(std::string_view name);

/// The row of `side` that `name` is to be compared with: of the same name, or, for our names, of one that
/// differs in Google Benchmark's own `/manual_time` alone. Null where there is none.
const Evidence* counterpart(const Side& side, const std::string& name);

}  // namespace strictbench
