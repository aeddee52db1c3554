/// How often identical code is called different, and how often a slowdown of known size is seen: drawn again
/// and again from the processes of one calibration run, and judged by the comparison that `compare` makes.
/// No files, no processes, no clock.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/compare.h"
#include "report/results.h"

namespace strictbench::calibration {

/// The waits that are put behind each call, as shares of its time. The first arm waits for no time.
inline constexpr double delays[] = {0, 0.01, 0.02, 0.03, 0.05, 0.1};

/// An arm counts for a size of `delays` if the slowdown it reached is within this share of that size.
inline constexpr double size_tolerance = 0.15;

/// What a CUDA event counts in.
inline constexpr double event_tick_ns = 32;

/// Row comparisons that stand behind every share, where the caller does not say how many tables to draw.
inline constexpr std::size_t fewest_rows = 1000;

struct Settings {
  std::size_t sides = 10;  // processes on a side
  std::size_t tables = 0;  // drawn for each timer; 0: enough for `fewest_rows` of every size
  double threshold = 0.01;
  double alpha = 0.01;
  std::uint64_t seed = 0;
};

/// The name of a row taken apart: "row_fold/new+2%/rows:64/timer:graph" is "row_fold/new/rows:64/timer:graph"
/// with 0.02 asked for.
struct ArmName {
  std::string case_name;
  double asked = 0;
};
std::optional<ArmName> arm_of(std::string_view row_name);

/// A size as it was asked for: 0.02 is "2 %".
std::string plain_percent(double share);

/// Rows that were judged, by verdict.
struct Counts {
  std::size_t rows = 0, slower = 0, inconclusive = 0, same = 0, faster = 0;
  std::size_t other = 0;  // incomparable and the like

  void add(Verdict verdict);
  void add(const Counts& counts);
};

/// One case with one wait behind each call.
struct Arm {
  double asked = 0;             // a share of the time of the arm without a wait
  double asked_ns = no_number;  // what the executable made of it; median over processes
  double reached = no_number;   // the slowdown that came out: ratio of the medians of all processes, less 1
  std::optional<double> size;   // the size of `delays` that `reached` counts for
  std::string left_out;         // why it counts for none
  Counts counts;
};

struct CaseResult {
  std::string name;
  std::string timer;
  double time_ns = no_number;           // median over processes, with a wait of no length
  double spread = no_number;            // between processes: 0.01 is 1 %
  double tick_ns = 0;                   // what the timer counts in, per call; 0: finer than matters
  double smallest_visible = no_number;  // what half of the tables would have called `slower`
  std::vector<Arm> arms;                // by what was asked, 0 first
};

/// All arms of a timer that reached one size.
struct SizeResult {
  double size = 0;
  std::size_t arms = 0;
  double reached_low = no_number;
  double reached_high = no_number;
  Counts counts;
};

struct TimerResult {
  std::string timer;
  std::size_t cases = 0;
  std::size_t processes = 0;  // that measured every row of the timer
  std::size_t tables = 0;
  std::size_t tables_with_alarm = 0;  // identical code, and a row `slower` or `faster`
  Counts identical;
  std::vector<SizeResult> sizes;
};

struct Calibration {
  Settings settings;
  std::vector<TimerResult> timers;  // in order of appearance
  std::vector<CaseResult> cases;    // likewise
  std::size_t bad_rows = 0;         // cases that failed or are wrong
  std::vector<std::string> notes;   // what was left out, and why
};

/// What a calibration run left behind, read three times: by `real_time`, `calls` and `delay_us`.
struct Measurements {
  Side times;
  Side calls;
  Side delays_us;
};

/// Draws and judges. Throws UsageError where no row is an arm, or too few processes measured them.
Calibration evaluate(const Measurements& measured, const Settings& settings);

}  // namespace strictbench::calibration
