/// The speedup table: legacy against each other variant, from the same processes.
#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "report/compare.h"
#include "report/results.h"

namespace strictbench {

/// One variant of one case. A row that is wrong, failed or skipped has a reason and no time.
struct Measured {
  double time = no_number;  // nanoseconds: median of the process medians
  std::string trouble;
  bool checked = false;  // every row says that its result passed
  double tolerance = 0;  // above 0, what it passed was this relative L2 error and not the oracle's bits
  double relative_error = no_number;  // what that error was, at most
  std::size_t processes = 0;
  double speedup = no_number;  // legacy / this variant, with its interval at 99 %
  double speedup_low = no_number;
  double speedup_high = no_number;
  double over_new = no_number;  // of a bar: its time / new's, with its interval at 99 %
  double over_new_low = no_number;
  double over_new_high = no_number;
  double floor = no_number;  // nanoseconds: the least time that the hardware allows, where rows state it
  double share_of_floor = no_number;  // floor / time: medians over processes
  std::string verdict;                // of `compare` against a baseline, where there is one
  double ratio = no_number;           // and its ratio
};

/// Whether a variant is a bar that `new` is held against: a plain copy of the same bytes, a vendor's library.
constexpr bool is_bar(std::string_view variant) { return variant == "copy" || variant == "cublas"; }

/// Whether a table says how near a variant comes to its floor: those that were made for speed.
constexpr bool shows_floor(std::string_view variant) { return variant == "new" || variant == "tuned"; }

/// A control's times may differ by this much: where legacy and new run the same code, so must their times.
inline constexpr double control_threshold = 0.03;

/// What the interval of legacy / new says on a control, judged as `compare` judges a ratio.
enum class Steadiness {
  steady,  // all of it lies within the threshold
  moved,   // all of it lies beyond
  unclear  // anything else, or no interval
};

/// One shape and timer of an operator.
struct TableLine {
  std::string shape;
  std::string timer;
  std::map<std::string, Measured> variants;
  std::optional<Steadiness> control;  // of shapes whose rows say that legacy and new run the same code
};

struct OperatorTable {
  std::string op;
  std::vector<std::string> variants;  // legacy first
  std::vector<TableLine> lines;
};

/// A figure published by others beside what was measured here.
struct PublishedLine {
  std::string name;
  double published = no_number;
  double measured = no_number;           // nanoseconds
  double published_speedup = no_number;  // legacy / this variant, where both are published
  double measured_speedup = no_number;   // the same here; nothing where nothing is published
  std::string trouble;                   // why nothing was measured
  std::string published_on;
  std::string measured_on;
};

struct SpeedupTable {
  std::vector<std::string> header;  // one line each: device, versions, commit, ...
  std::vector<OperatorTable> operators;
  std::vector<PublishedLine> published;
  std::vector<std::string> notes;
  std::size_t bad_rows = 0;  // wrong or failed
  bool judged = false;       // rows have verdicts
};

/// Builds the table of a side that was read by `real_time`. `published` may be empty.
SpeedupTable make_table(const Side& result, const std::vector<Side>& published);

/// Adds to each row what a comparison of the same side with a baseline says of it, and what the baseline has
/// besides; `baseline` names it.
void add_verdicts(SpeedupTable& table, const Comparison& comparison, const std::string& baseline);

/// "3 operators, 20 lines, 1 wrong or failed row".
std::string headline(const SpeedupTable& table);

void write_table_text(std::ostream& out, const SpeedupTable& table);
/// For a pull request: survives GitHub's renderer.
void write_table_markdown(std::ostream& out, const SpeedupTable& table);
/// The machine's form: one object, a line a line.
void write_table_json(std::ostream& out, const SpeedupTable& table);

}  // namespace strictbench
