#include "report/compare.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "report/compare_notes.h"
#include "report/compare_refusals.h"
#include "report/environment.h"
#include "report/error.h"
#include "report/judge.h"
#include "report/pairs.h"
#include "report/row_evidence.h"
#include "report/row_name.h"
#include "report/text.h"

namespace strictbench {
namespace {

/// Builds a comparison step by step: rows are sorted out one by one, then those with two numbers are judged
/// together.
class Comparer {
 public:
  Comparer(const Side& baseline, const Side& contender, const CompareOptions& options)
      : baseline_(baseline),
        contender_(contender),
        options_(options),
        baseline_environments_(environments_of(baseline)),
        contender_environments_(environments_of(contender)) {}

  Comparison run() {
    for (const Evidence& evidence : baseline_.benchmarks)
      sort_out(&evidence, counterpart(contender_, evidence.name));
    for (const Evidence& evidence : contender_.benchmarks) {
      // A name may stand with Google Benchmark's suffix and without: the baseline's row goes with one of
      // them.
      const Evidence* const before = counterpart(baseline_, evidence.name);
      const bool paired = before != nullptr && counterpart(contender_, before->name) == &evidence;
      if (!paired) sort_out(nullptr, &evidence);
    }
    judge();
    for (const ComparedRow& row : result_.rows) ++result_.counts[static_cast<std::size_t>(row.verdict)];
    result_.alpha = options_.alpha;
    result_.metric = options_.metric;
    result_.baseline_rows_read = baseline_.rows_read;
    result_.contender_rows_read = contender_.rows_read;
    result_.notes = notes_of(result_, facts_, baseline_, contender_);
    return std::move(result_);
  }

 private:
  struct Pair {
    std::size_t row;  // in result_.rows
    bool limited;     // never more than inconclusive
  };

  void sort_out(const Evidence* b, const Evidence* c) {
    const bool published = b != nullptr && b->published;
    const bool baseline_suspect = b != nullptr && b->suspect_rows() > 0;
    const bool baseline_wrong = b != nullptr && b->troubles && b->troubles->wrong > 0;
    const bool baseline_counts =
        b != nullptr && !published && !baseline_wrong && (b->has_number() || baseline_suspect);
    if (b != nullptr && !baseline_counts) note_absent(*b);
    if (c == nullptr && !baseline_counts) return;
    if (c == nullptr && contender_.not_asked_for(b->name)) {
      ++facts_.not_asked;
      return;
    }

    ComparedRow& row = result_.rows.emplace_back();
    row.name = b != nullptr ? b->name : c->name;
    if (baseline_counts) describe(*b, row, row.baseline);
    if (c == nullptr) {
      decide(row, Verdict::missing, "the contender has no such row");
      return;
    }
    const Troubles none;
    const Troubles& troubles = c->troubles ? *c->troubles : none;
    if (troubles.wrong > 0) {
      decide(row, Verdict::wrong, troubles.wrong_message);
      return;
    }
    if (troubles.failed > 0) {
      decide(row, Verdict::failed, troubles.failed_message);
      return;
    }
    const bool has_any = c->has_number() || c->suspect_rows() > 0;
    if (troubles.skipped > 0 && baseline_counts) {
      decide(row, Verdict::failed, "skipped where the baseline has a number: " + troubles.skipped_message);
    } else if (!has_any && troubles.skipped > 0) {
      decide(row, Verdict::skipped, troubles.skipped_message);
    } else if (!has_any) {
      decide(row, Verdict::failed, "no usable number: a summary row without a median or mean");
    } else {
      describe(*c, row, row.contender);
      if (baseline_counts) {
        pair_up(*b, *c, row);
      } else {
        decide(row, Verdict::added,
               c->has_number() ? "" : "measured only while the machine was throttled or shared");
      }
    }
  }

  void pair_up(const Evidence& b, const Evidence& c, ComparedRow& row) {
    if (too_thin(b) || too_thin(c)) {
      decide(row, Verdict::incomparable,
             std::string("too little of the ") + (too_thin(b) ? "baseline" : "contender") +
                 " is left: the machine was throttled or shared while it was measured");
      return;
    }
    // Of two unknown units nobody can tell whether they are one, whatever their names.
    const std::string before = b.no_times();
    const std::string after = c.no_times();
    if (!before.empty() || !after.empty()) {
      // A row is shown in one unit: what is not in it would be off by thousands.
      if (!before.empty()) row.baseline.median = no_number;
      if (!after.empty()) row.contender.median = no_number;
      row.unit = Unit::time;
      row.unit_name = "ns";
      decide(row, Verdict::incomparable, after.empty() ? "the baseline's row: " + before : after);
      return;
    }
    if (b.unit != c.unit) {
      decide(row, Verdict::incomparable, "the units of the numbers differ in kind");
      return;
    }
    const std::optional<std::string> difference = environments_differ(b, c);
    if (difference && !options_.cross_machine) {
      decide(row, Verdict::incomparable, *difference);
      return;
    }
    RowSample sample = pair_of(b, c);
    if (options_.paired) {
      const double sign = b.unit == Unit::rate ? -1 : 1;
      PairedSample paired{sample.group, paired_log_ratios(baseline_, b, contender_, c, sign),
                          sample.resolution};
      if (paired.log_ratios.empty()) {
        decide(row, Verdict::incomparable, "no process measured it on both sides");
        return;
      }
      facts_.pairs.insert(paired.log_ratios.size());
      paired_samples_.push_back(std::move(paired));
    }
    if (difference) row.reason = *difference;
    pairs_.push_back({result_.rows.size() - 1, difference.has_value()});
    samples_.push_back(std::move(sample));
  }

  RowSample pair_of(const Evidence& b, const Evidence& c) {
    const double sign = b.unit == Unit::rate ? -1 : 1;
    std::vector<std::uint32_t> before;
    std::vector<std::uint32_t> after;
    RowSample sample;
    sample.group = groups_.try_emplace(std::string(timer_of(b.name)), groups_.size()).first->second;
    sample.baseline = sample_of(b, sign, before);
    sample.contender = sample_of(c, sign, after);
    sample.resolution = std::max(resolution_of(b), resolution_of(c));
    sample.across_sessions = !options_.paired && known_sessions_differ(before, after);
    return sample;
  }

  bool known_sessions_differ(const std::vector<std::uint32_t>& before,
                             const std::vector<std::uint32_t>& after) {
    return before.size() > 1 || after.size() > 1 ||
           known_to_differ(baseline_.sessions[before[0]], contender_.sessions[after[0]]);
  }

  std::optional<std::string> environments_differ(const Evidence& b, const Evidence& c) {
    const std::string_view timer = timer_of(b.name);
    const auto used = [](const Evidence& evidence, const Environments& environments) {
      std::vector<std::uint32_t> ids;
      for (const ProcessRecord& process : evidence.processes) {
        const std::uint32_t id = environments.of_source[process.source];
        if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
      }
      return ids;
    };
    for (const std::uint32_t before : used(b, baseline_environments_)) {
      for (const std::uint32_t after : used(c, contender_environments_)) {
        const auto found = difference(baseline_environments_.distinct[before],
                                      contender_environments_.distinct[after], timer);
        if (found) return found;
      }
    }
    return std::nullopt;
  }

  void judge() {
    facts_.across_sessions = std::any_of(samples_.begin(), samples_.end(),
                                         [](const RowSample& sample) { return sample.across_sessions; });
    facts_.threshold_given = options_.threshold.has_value();
    result_.threshold = options_.threshold.value_or(facts_.across_sessions ? 0.05 : 0.01);
    TableIntervals table = judge_table(samples_, options_.alpha, result_.threshold);
    if (options_.paired) {
      table.rows = judge_pairs(paired_samples_, options_.alpha, result_.threshold, options_.looks);
      facts_.looks = options_.looks;
    }
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      settle(result_.rows[pairs_[i].row], table.rows[i], pairs_[i].limited);
    }
    for (const auto& [timer, group] : groups_) {
      if (facts_.across_sessions) facts_.session_spread.emplace_back(timer, table.session_spread[group]);
    }
  }

  void settle(ComparedRow& row, const RowInterval& interval, bool limited) {
    row.ratio = std::exp(interval.log_ratio);
    row.ratio_low = std::exp(interval.log_ratio - interval.half_width);
    row.ratio_high = std::exp(interval.log_ratio + interval.half_width);
    row.smallest_visible = smallest_visible(interval.half_width, result_.threshold);
    switch (call(interval.log_ratio, interval.half_width, result_.threshold)) {
      case Call::slower:
        row.verdict = Verdict::slower;
        break;
      case Call::faster:
        row.verdict = Verdict::faster;
        break;
      case Call::same:
        row.verdict = Verdict::same;
        break;
      case Call::inconclusive:
        row.verdict = Verdict::inconclusive;
        break;
    }
    if (limited) {
      row.verdict = Verdict::inconclusive;
      row.smallest_visible = no_number;  // no change, however large, would have been called one
    }
    const bool one_each = row.baseline.processes < 2 || row.contender.processes < 2;
    facts_.assumed += interval.origin == SpreadOrigin::assumed ? 1 : 0;
    facts_.few += interval.origin == SpreadOrigin::few_processes ? 1 : 0;
    facts_.from_baseline += interval.origin == SpreadOrigin::baseline_record ? 1 : 0;
    if (row.verdict != Verdict::inconclusive || limited) return;
    row.reason = "could be " + readable_change(row.ratio_low) + " to " + readable_change(row.ratio_high);
    row.reason += one_each ? "; one process is no proof"
                           : "; a slowdown shows from " + readable_change(1 + row.smallest_visible) + " on";
  }

  void describe(const Evidence& evidence, ComparedRow& row, SideFigures& side) const {
    side = figures_of(evidence);
    row.unit = evidence.unit;
    row.unit_name = evidence.unit == Unit::time   ? "ns"
                    : evidence.unit == Unit::rate ? "/s"
                                                  : evidence.unit_name;
  }

  void note_absent(const Evidence& b) {
    if (b.published) {
      ++facts_.published;
      return;
    }
    if (facts_.baseline_absent++ > 0) return;
    facts_.first_absent = b.name;
    if (!b.troubles) return;
    const Troubles& troubles = *b.troubles;
    facts_.first_absent_reason = troubles.wrong > 0    ? troubles.wrong_message
                                 : troubles.failed > 0 ? troubles.failed_message
                                                       : troubles.skipped_message;
  }

  static void decide(ComparedRow& row, Verdict verdict, std::string reason) {
    row.verdict = verdict;
    row.reason = std::move(reason);
  }

  NoteFacts facts_;
  const Side& baseline_;
  const Side& contender_;
  const CompareOptions& options_;
  Environments baseline_environments_;
  Environments contender_environments_;
  Comparison result_;
  std::vector<Pair> pairs_;
  std::vector<RowSample> samples_;
  std::vector<PairedSample> paired_samples_;
  std::map<std::string, std::size_t> groups_;
};

}  // namespace

Comparison compare(const Side& baseline, const Side& contender, const CompareOptions& options) {
  refuse_hopeless(baseline, contender, options);
  Comparison comparison = Comparer(baseline, contender, options).run();
  // A baseline's failed process made no row worse: it is noted, and `accept` takes no such run.
  comparison.process_failed = std::any_of(contender.runs.begin(), contender.runs.end(),
                                          [](const RunRecord& run) { return run.failed > 0; });
  // Left-out rows are no reason to fail; a comparison of nothing at all is no reason to pass.
  const bool left_out = std::any_of(baseline.benchmarks.begin(), baseline.benchmarks.end(),
                                    [&](const Evidence& b) { return contender.not_asked_for(b.name); });
  if (left_out && comparison.rows.size() == comparison.count(Verdict::added))
    throw UsageError(
        "--contender: the run was asked for none of the baseline's rows, so nothing is compared");
  return comparison;
}

}  // namespace strictbench
