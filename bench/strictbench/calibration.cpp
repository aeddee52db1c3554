#include "bench/strictbench/calibration.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>

#include "bench/strictbench/calibration_rows.h"
#include "bench/strictbench/plan.h"
#include "report/error.h"
#include "report/row_evidence.h"
#include "report/side_part.h"
#include "report/statistics.h"
#include "report/text.h"

namespace strictbench::calibration {
namespace {

/// The median over processes of a number in the row `name`; NaN where there is none.
double median_of(const Side& side, std::string_view name) {
  const Evidence* evidence = side.find(name);
  return evidence == nullptr ? no_number : figures_of(*evidence).median;
}

double tick_of(std::string_view timer, double calls) {
  if (timer == "wall" || timer == "cpu") return 0;
  return timer == "graph" && calls >= 1 ? event_tick_ns / calls : event_tick_ns;
}

std::optional<double> size_of(double reached) {
  for (const double size : delays)
    if (size > 0 && std::abs(reached - size) <= size_tolerance * size) return size;
  return std::nullopt;
}

/// The cases of one timer, the tables drawn of them, and what came out.
class TimerTables {
 public:
  TimerTables(const Measurements& measured, const Settings& settings, std::string timer,
              std::vector<Subject> subjects)
      : measured_(measured), settings_(settings), subjects_(std::move(subjects)) {
    result_.timer = std::move(timer);
    result_.cases = subjects_.size();
  }

  void run(const Rounds& rounds, Calibration& all) {
    find_complete(rounds);
    for (Subject& subject : subjects_) describe(subject);
    result_.tables = tables();
    for (std::size_t t = 0; t < result_.tables; ++t) draw(static_cast<int>(t));
    sum_up();
    all.timers.push_back(std::move(result_));
    for (Subject& subject : subjects_) all.cases.push_back(std::move(subject.result));
  }

 private:
  /// Keeps the rounds in which every row of the timer has a number.
  void find_complete(const Rounds& rounds) {
    std::vector<std::size_t> numbers(measured_.times.sources.size());
    std::size_t rows = 0;
    for (const Subject& subject : subjects_) {
      for (const Evidence* evidence : subject.rows) {
        ++rows;
        for (const ProcessRecord& process : evidence->processes)
          numbers[process.source] += std::isnan(process.value()) ? 0 : 1;
      }
    }
    for (const auto& [round, sources] : rounds) {
      std::size_t held = 0;
      for (const std::uint32_t source : sources) held += numbers[source];
      if (held == rows) complete_.push_back(sources);
    }
    result_.processes = complete_.size();
    if (complete_.size() < 2 * settings_.sides)
      throw UsageError("timer " + printable(result_.timer) + ": " + counted(complete_.size(), "process") +
                       " measured every row, and two sides of " + std::to_string(settings_.sides) + " need " +
                       std::to_string(2 * settings_.sides) +
                       (measured_.times.suspect > 0
                            ? " (" + counted(measured_.times.suspect, "row is", "rows are") +
                                  " left out: the machine was throttled or shared)"
                            : "") +
                       "; measure more --processes or give fewer --sides");
  }

  /// What is known of a case before anything is drawn.
  void describe(Subject& subject) const {
    CaseResult& result = subject.result;
    std::vector<double> logs;
    for (std::size_t a = 0; a < subject.rows.size(); ++a) {
      const double time = figures_of(*subject.rows[a]).median;
      Arm& arm = result.arms[a];
      if (a == 0) {
        result.time_ns = time;
        result.tick_ns = tick_of(result.timer, median_of(measured_.calls, subject.rows[a]->name));
        for (const ProcessRecord& process : subject.rows[a]->processes)
          if (const double value = process.value(); !std::isnan(value)) logs.push_back(std::log(value));
        result.spread = std::sqrt(spread_of(logs).variance);
      }
      arm.asked_ns = a == 0 ? 0 : median_of(measured_.delays_us, subject.rows[a]->name) * 1000;
      arm.reached = time / result.time_ns - 1;
      if (a == 0) continue;
      arm.size = size_of(arm.reached);
      if (arm.asked * result.time_ns < 2 * result.tick_ns) {
        arm.size.reset();
        arm.left_out = "is under two timer ticks of " + fixed(result.tick_ns, 1) + " ns";
      } else if (!arm.size) {
        arm.left_out = "reached " + fixed(arm.reached * 100, 2) + " %";
      }
    }
  }

  std::size_t tables() const {
    if (settings_.tables > 0) return settings_.tables;
    std::size_t fewest = subjects_.size();
    for (const double size : delays)
      if (const std::size_t arms = arms_of(size); arms > 0) fewest = std::min(fewest, arms);
    return (fewest_rows + fewest - 1) / fewest;
  }

  std::size_t arms_of(double size) const {
    std::size_t count = 0;
    for (const Subject& subject : subjects_)
      for (const Arm& arm : subject.result.arms) count += arm.size == size ? 1 : 0;
    return count;
  }

  /// Two sides of processes that have none in common; the second one with each of the waits.
  void draw(int table) {
    const std::vector<std::size_t> order = runner::shuffled(complete_.size(), settings_.seed, table);
    std::vector<std::uint32_t> before;
    std::vector<std::uint32_t> after;
    for (std::size_t i = 0; i < 2 * settings_.sides; ++i) {
      std::vector<std::uint32_t>& side = i < settings_.sides ? before : after;
      side.insert(side.end(), complete_[order[i]].begin(), complete_[order[i]].end());
    }
    for (const double delay : delays) judge(delay, before, after);
  }

  void judge(double delay, std::span<const std::uint32_t> before, std::span<const std::uint32_t> after) {
    std::vector<std::pair<CaseResult*, Arm*>> judged;
    std::vector<PickedRow> plain;
    std::vector<PickedRow> delayed;
    for (Subject& subject : subjects_) {
      for (std::size_t a = 0; a < subject.rows.size(); ++a) {
        if (subject.result.arms[a].asked != delay) continue;
        judged.emplace_back(&subject.result, &subject.result.arms[a]);
        plain.push_back({subject.rows[0], subject.result.name});
        delayed.push_back({subject.rows[a], subject.result.name});
      }
    }
    if (judged.empty()) return;
    CompareOptions options;
    options.threshold = settings_.threshold;
    options.alpha = settings_.alpha;
    const Comparison comparison =
        compare(part_of(measured_.times, plain, before), part_of(measured_.times, delayed, after), options);
    for (std::size_t i = 0; i < judged.size(); ++i) {
      judged[i].second->counts.add(comparison.rows[i].verdict);
      const double visible = comparison.rows[i].smallest_visible;
      if (delay == 0 && !std::isnan(visible)) visible_[judged[i].first].push_back(visible);
    }
    if (delay == 0 && comparison.count(Verdict::slower) + comparison.count(Verdict::faster) > 0)
      ++result_.tables_with_alarm;
  }

  void sum_up() {
    for (const double size : delays)
      if (size > 0) result_.sizes.push_back({.size = size, .counts = {}});
    for (Subject& subject : subjects_) {
      const std::vector<double>& visible = visible_[&subject.result];
      if (!visible.empty()) subject.result.smallest_visible = median(visible);
      for (const Arm& arm : subject.result.arms) {
        if (arm.asked == 0) result_.identical.add(arm.counts);
        for (SizeResult& size : result_.sizes) {
          if (arm.size != size.size) continue;
          ++size.arms;
          size.reached_low = std::fmin(size.reached_low, arm.reached);
          size.reached_high = std::fmax(size.reached_high, arm.reached);
          size.counts.add(arm.counts);
        }
      }
    }
  }

  const Measurements& measured_;
  const Settings& settings_;
  std::vector<Subject> subjects_;
  std::vector<std::vector<std::uint32_t>> complete_;  // the files of each such round
  std::map<const CaseResult*, std::vector<double>> visible_;
  TimerResult result_;
};

/// One line a case: which arms count for no size, and why.
void note_left_out(Calibration& all) {
  for (const CaseResult& result : all.cases) {
    std::string line;
    for (const Arm& arm : result.arms) {
      if (arm.left_out.empty()) continue;
      line += (line.empty() ? "" : "; ") + plain_percent(arm.asked) + " " + arm.left_out;
    }
    if (!line.empty()) all.notes.push_back(result.name + " counts for no size where asked for " + line);
  }
}

}  // namespace

Calibration evaluate(const Measurements& measured, const Settings& settings) {
  Calibration all;
  all.settings = settings;
  auto timers = subjects_of(measured.times, all);
  const auto rounds = rounds_of(measured.times);
  for (auto& [timer, subjects] : timers)
    TimerTables(measured, settings, timer, std::move(subjects)).run(rounds, all);
  for (const TimerResult& timer : all.timers) {
    const std::string who = "timer " + timer.timer + ": ";
    if (const std::size_t lacking = rounds.size() - timer.processes; lacking > 0)
      all.notes.push_back(who + std::to_string(lacking) + " of " + counted(rounds.size(), "process") +
                          (lacking == 1 ? " is left out: it lacks a row" : " are left out: they lack a row"));
    all.notes.push_back(who + counted(timer.tables, "table") + " of " + counted(timer.processes, "process") +
                        " are not independent; " + std::to_string(timer.processes / (2 * settings.sides)) +
                        " share no process");
  }
  note_left_out(all);
  return all;
}

}  // namespace strictbench::calibration
