/// Verdicts: what each row of two sides says about a change.
#pragma once
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/results.h"

namespace strictbench {

enum class Verdict {
  wrong,
  failed,
  missing,
  slower,
  incomparable,
  inconclusive,
  faster,
  added,
  same,
  skipped
};

/// In the order in which a reader wants to see them: what matters most comes first.
inline constexpr std::array<Verdict, 10> all_verdicts{
    Verdict::wrong,        Verdict::failed, Verdict::missing, Verdict::slower, Verdict::incomparable,
    Verdict::inconclusive, Verdict::faster, Verdict::added,   Verdict::same,   Verdict::skipped};

/// "slower", "same", ... and "new" for `added`.
std::string_view name_of(Verdict verdict);

/// 1 for verdicts that mean a regression, 3 for those that mean "cannot tell", else 0.
int exit_code_of(Verdict verdict);

struct SideFigures {
  double median = no_number;  // of the process medians; nanoseconds, or the metric's own unit
  std::size_t processes = 0;
  std::size_t samples = 0;
};

struct ComparedRow {
  std::string name;
  Verdict verdict = Verdict::inconclusive;
  double ratio = no_number;  // contender / baseline, turned over for rates: above 1 is worse
  double ratio_low = no_number;
  double ratio_high = no_number;
  double smallest_visible = no_number;  // a fraction
  SideFigures baseline;
  SideFigures contender;
  Unit unit = Unit::time;
  std::string unit_name;  // "ns", "/s", or empty
  std::string reason;
};

struct CompareOptions {
  std::optional<double> threshold;  // default: 0.01, or 0.05 across sessions
  double alpha = 0.01;
  std::string metric = "real_time";
  bool cross_machine = false;
  bool paired = false;  // process k of one side with process k of the other, which ran behind each other
  int looks = 1;        // of paired sides: how often growing data are compared until rows are decided
};

struct Comparison {
  std::vector<ComparedRow> rows;  // the baseline's in its order, then those the contender has alone
  std::array<std::size_t, all_verdicts.size()> counts{};  // by Verdict
  double threshold = 0.01;
  double alpha = 0.01;
  std::string metric;
  std::size_t baseline_rows_read = 0;
  std::size_t contender_rows_read = 0;
  std::vector<std::string> notes;
  bool process_failed = false;  // of the contender's (in `ab` of either side): no pass whatever its rows say

  std::size_t count(Verdict verdict) const { return counts[static_cast<std::size_t>(verdict)]; }
  int exit_code() const;
  /// Whether a process failed and no row is red for it: then this is said beside the rows.
  bool failed_unseen() const;
  /// "pass", "regressed" or "undecided".
  std::string_view verdict() const;
};

/// Compares two sides. Throws UsageError where they cannot be compared at all: no rows, baselines of
/// different devices, a metric that no row has or that says nothing of the cases.
Comparison compare(const Side& baseline, const Side& contender, const CompareOptions& options);

}  // namespace strictbench
