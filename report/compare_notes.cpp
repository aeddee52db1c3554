#include "report/compare_notes.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <set>

#include "report/environment.h"
#include "report/row_name.h"
#include "report/text.h"

namespace strictbench {
namespace {

std::string rows(std::size_t count) { return counted(count, "row"); }

std::string percent(double fraction) { return fixed(100 * fraction, fraction < 0.1 ? 2 : 1) + " %"; }

/// How many of the side's sessions tell something of the spread between them: those that share rows of the
/// timer. Files of rows that no other file holds are sessions too, and tell nothing.
std::size_t sessions_behind(const Side& side, std::string_view timer) {
  std::set<std::uint32_t> all;
  for (const Evidence& evidence : side.benchmarks) {
    if (timer_of(evidence.name) != timer) continue;
    std::set<std::uint32_t> own;
    for (const ProcessRecord& process : evidence.processes) {
      if (!std::isnan(process.value())) own.insert(process.session);
    }
    if (own.size() > 1) all.merge(own);
  }
  return all.size();
}

void note_sessions(const NoteFacts& facts, const Side& baseline, double threshold,
                   std::vector<std::string>& notes) {
  if (!facts.across_sessions) return;
  if (!facts.threshold_given) {
    notes.push_back("the sides are from different sessions, so the threshold is " + percent(threshold) +
                    "; `strictbench ab` on one machine sees smaller changes");
  }
  for (const auto& [timer, spread] : facts.session_spread) {
    const std::string which = timer.empty() ? "" : " (timer " + timer + ")";
    notes.push_back("spread between sessions" + which + ": " + percent(std::sqrt(spread.variance)) +
                    (spread.learned ? ", learned from " + std::to_string(sessions_behind(baseline, timer)) +
                                          " sessions of the baseline"
                                    : ", assumed: no row of the baseline was measured in two sessions"));
  }
}

/// A check that became weaker: its rows are as fast as before, and no longer held to what they were held to.
void note_claims(const Side& baseline, const Side& contender, std::vector<std::string>& notes) {
  std::size_t weaker = 0;
  std::string first;
  for (const Evidence& now : contender.benchmarks) {
    if (now.tolerance == 0) continue;
    const Evidence* const before = counterpart(baseline, now.name);
    if (before == nullptr || before->checked == 0 || before->tolerance >= now.tolerance) continue;
    if (weaker++ == 0) first = now.name + (before->tolerance == 0 ? ", held to bits before" : "");
  }
  if (weaker == 0) return;
  notes.push_back(rows(weaker) + " held to a wider tolerance than in the baseline; first " + first);
}

void note_left_out(const char* who, const Side& side, std::vector<std::string>& notes) {
  if (side.suspect > 0) {
    notes.push_back(std::string(who) + ": " + std::to_string(side.suspect) + " of " + rows(side.rows_read) +
                    " left out: the machine was throttled or shared while they were measured");
  }
  for (const std::string& note : side.notes) notes.push_back(std::string(who) + ": " + note);
}

/// "row_fold/new/rows:64/..." gives operator "row_fold" and variant "new"; empty where a name is not ours.
std::pair<std::string, std::string> operator_and_variant(const std::string& name) {
  if (timer_of(name).empty()) return {};
  const std::size_t first = name.find('/');
  const std::size_t second = name.find('/', first + 1);
  if (first == std::string::npos || second == std::string::npos) return {};
  return {name.substr(0, first), name.substr(first + 1, second - first - 1)};
}

/// Where the rows of one variant went.
struct Moves {
  std::vector<double> log_ratios;
  bool slower = false;  // a row's whole interval lies above "no change"
  bool faster = false;  // or below it
};

/// The middle of the rows is beyond `threshold`, one row at least proves the direction, and none the other.
bool moved(const Moves& moves, double threshold, bool slower) {
  const double middle = median(moves.log_ratios);
  return (slower ? middle : -middle) > std::log1p(threshold) && (slower ? moves.slower : moves.faster) &&
         !(slower ? moves.faster : moves.slower);
}

/// An operator whose every variant, the untouched legacy among them, moved the same way. The rows that cannot
/// tell do not silence it where others of their variant can; middles alone say nothing of what is real.
void note_control(const Comparison& comparison, std::vector<std::string>& notes) {
  std::map<std::string, std::map<std::string, Moves>> operators;
  for (const ComparedRow& row : comparison.rows) {
    if (std::isnan(row.ratio)) continue;
    const auto [name, variant] = operator_and_variant(row.name);
    if (name.empty()) continue;
    Moves& moves = operators[name][variant];
    moves.log_ratios.push_back(std::log(row.ratio));
    moves.slower = moves.slower || row.ratio_low > 1;
    moves.faster = moves.faster || row.ratio_high < 1;
  }
  for (const auto& [name, variants] : operators) {
    if (variants.size() < 2 || variants.count("legacy") == 0) continue;
    const auto all = [&variants = variants, &comparison](bool slower) {
      return std::all_of(variants.begin(), variants.end(), [&](const auto& variant) {
        return moved(variant.second, comparison.threshold, slower);
      });
    };
    if (!all(true) && !all(false)) continue;
    notes.push_back(name + ": every variant, legacy among them, is " + (all(true) ? "slower" : "faster") +
                    ": the machine or the toolchain moved, not the code");
  }
}

void note_pairs(const NoteFacts& facts, std::vector<std::string>& notes) {
  if (facts.pairs.empty()) return;
  const std::size_t fewest = *facts.pairs.begin();
  const std::size_t most = *facts.pairs.rbegin();
  std::string note =
      "compared pair by pair, process by process: " + (fewest < most ? std::to_string(fewest) + " to " : "") +
      counted(most, "pair") + " a row";
  if (facts.looks > 1) {
    note += "; the error of the whole table is that of all " + std::to_string(facts.looks) +
            " looks at growing data together";
  }
  notes.push_back(std::move(note));
}

}  // namespace

std::vector<std::string> notes_of(const Comparison& comparison, const NoteFacts& facts, const Side& baseline,
                                  const Side& contender) {
  std::vector<std::string> notes;
  note_control(comparison, notes);
  note_claims(baseline, contender, notes);
  note_pairs(facts, notes);
  note_sessions(facts, baseline, comparison.threshold, notes);
  if (facts.assumed > 0) {
    notes.push_back(
        rows(facts.assumed) +
        ": no two baseline processes of one session, so the spread between processes is assumed at " +
        percent(assumed_spread));
  }
  if (facts.few > 0) {
    notes.push_back(rows(facts.few) + ": fewer than " + std::to_string(enough_processes) +
                    " processes on either side, so their spread counts as at least " +
                    percent(assumed_spread));
  }
  if (facts.from_baseline > 0) {
    notes.push_back(rows(facts.from_baseline) +
                    ": the contender has one process, so the spread between processes is the baseline's own");
  }
  if (facts.baseline_absent > 0) {
    std::string note = "baseline: " + rows(facts.baseline_absent) +
                       " without a usable number, counted as absent; first " + facts.first_absent;
    if (!facts.first_absent_reason.empty()) note += " (" + facts.first_absent_reason + ")";
    notes.push_back(std::move(note));
  }
  if (facts.published > 0) {
    notes.push_back("baseline: " + rows(facts.published) +
                    " published by others, shown by `strictbench table` and never compared as a gate");
  }
  if (facts.not_asked > 0) {
    notes.push_back("baseline: " + rows(facts.not_asked) +
                    " left out: the contender's run was not asked for them (its filter or timers)");
  }
  if (baseline.summaries + contender.summaries > 0) {
    notes.push_back("rows that sum up others (aggregates, complexity) are no times of a run: " +
                    std::to_string(baseline.summaries) + " of the baseline's " + rows(baseline.rows_read) +
                    ", " + std::to_string(contender.summaries) + " of the contender's " +
                    rows(contender.rows_read));
  }
  note_left_out("baseline", baseline, notes);
  note_left_out("contender", contender, notes);
  const auto today = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
  for (std::string& note : warnings(baseline, contender, today.time_since_epoch().count())) {
    notes.push_back(std::move(note));
  }
  return notes;
}

}  // namespace strictbench
