/// The parts of a row's name: `<operator>/<variant>/<key:value>.../timer:<timer>`.
#pragma once
#include <string>
#include <string_view>

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

}  // namespace strictbench
