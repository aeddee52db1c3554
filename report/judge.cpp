#include "report/judge.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <unordered_map>

namespace strictbench {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
// Sides whose spreads differ by more than chance at this level are not taken to share one.
constexpr double unequal_spreads = 0.01;

/// Numbers of one side that do not depend on other rows.
struct SideSummary {
  double centre = 0;    // mean of the session means
  Spread spread;        // between processes of a session
  double inverse = 0;   // variance of `centre` in units of the spread: 1 / n for one session
  SessionRow sessions;  // `within` in units of the spread
};

SideSummary summarise(const SideSample& side) {
  std::vector<double> centres;
  std::vector<Spread> spreads;
  double inverse = 0;
  for (const std::vector<double>& session : side.sessions) {
    centres.push_back(mean(session));
    spreads.push_back(spread_of(session));
    inverse += 1 / static_cast<double>(session.size());
  }
  const double count = static_cast<double>(centres.size());
  return {mean(centres), pooled(spreads), inverse / (count * count), {spread_of(centres), inverse / count}};
}

/// The quantiles of one table: few distinct degrees of freedom occur, and many rows.
class HalfWidths {
 public:
  HalfWidths(double alpha, std::size_t rows, double threshold)
      : alpha_(alpha), rows_(rows), log_threshold_(std::log1p(threshold)) {}

  double of(const Spread& squared_error) {
    const auto [place, added] = quantiles_.try_emplace(squared_error.degrees);
    if (added) place->second = quantiles_for(squared_error.degrees, alpha_, rows_);
    return half_width(std::sqrt(squared_error.variance), place->second, log_threshold_);
  }

 private:
  double alpha_;
  std::size_t rows_;
  double log_threshold_;
  std::unordered_map<double, Quantiles> quantiles_;
};

/// What is known of a row before its table is looked at, and then the squared error of its log ratio.
struct RowState {
  SideSummary baseline;
  SideSummary contender;
  Spread own;  // between processes, from the sides that may speak of it
  SpreadOrigin origin = SpreadOrigin::both_sides;
};

RowState look_at(const RowSample& row) {
  RowState state{summarise(row.baseline), summarise(row.contender), {}, SpreadOrigin::both_sides};
  state.own = pooled(std::array{state.baseline.spread, state.contender.spread});
  if (state.baseline.spread.degrees <= 0) {
    state.origin = SpreadOrigin::assumed;
  } else if (std::max(row.baseline.processes(), row.contender.processes()) < enough_processes) {
    state.origin = SpreadOrigin::few_processes;
  } else if (row.contender.processes() < 2) {
    state.origin = SpreadOrigin::baseline_record;
  }
  return state;
}

/// Squared error of a lone baseline process against a contender: the assumed spread, or what is seen if more.
Spread assumed_error(const RowSample& row, const RowState& state) {
  const double assumed = assumed_spread * assumed_spread;
  const Spread& seen = state.contender.spread;
  const double baseline = assumed * state.baseline.inverse + row.baseline.squared_error_within;
  if (seen.degrees > 0 && seen.variance > assumed) {
    return sum_of(
        std::array{Spread{seen.variance * (state.baseline.inverse + state.contender.inverse), seen.degrees},
                   Spread{row.baseline.squared_error_within, infinity}});
  }
  const double within = seen.degrees > 0 ? 0 : row.contender.squared_error_within;
  return {baseline + assumed * state.contender.inverse + within, infinity};
}

/// Squared error from the spread that was seen between processes.
Spread seen_error(const RowSample& row, const RowState& state, const SpreadPrior& prior, HalfWidths& widths) {
  const Spread spread = moderate(state.own, prior);
  if (row.contender.processes() < 2) {
    // The one process may have measured less well than those of the record did.
    const double lone = std::max(spread.variance, row.contender.squared_error_within);
    return {spread.variance * state.baseline.inverse + lone, spread.degrees};
  }
  const Spread shared{spread.variance * (state.baseline.inverse + state.contender.inverse), spread.degrees};
  if (equal_spread_probability(state.baseline.spread, state.contender.spread) >= unequal_spreads)
    return shared;
  const auto part = [](const SideSummary& side) {
    return Spread{side.spread.variance * side.inverse, side.spread.degrees};
  };
  const Spread separate = sum_of(std::array{part(state.baseline), part(state.contender)});
  return widths.of(separate) > widths.of(shared) ? separate : shared;
}

/// Squared error of the log ratio from the spread of processes alone.
Spread process_error(const RowSample& row, const RowState& state, const SpreadPrior& prior,
                     HalfWidths& widths) {
  if (state.origin == SpreadOrigin::assumed) return assumed_error(row, state);
  const Spread seen = seen_error(row, state, prior, widths);
  if (state.origin != SpreadOrigin::few_processes) return seen;
  const double assumed = assumed_spread * assumed_spread;
  const Spread least{assumed * (state.baseline.inverse + state.contender.inverse), infinity};
  return widths.of(least) > widths.of(seen) ? least : seen;
}

}  // namespace

std::size_t SideSample::processes() const {
  std::size_t count = 0;
  for (const std::vector<double>& session : sessions) count += session.size();
  return count;
}

TableIntervals judge_table(std::span<const RowSample> rows, double alpha, double threshold) {
  TableIntervals table;
  HalfWidths widths(alpha, rows.size(), threshold);
  std::vector<RowState> states;
  std::vector<std::vector<Spread>> spreads;
  for (const RowSample& row : rows) {
    states.push_back(look_at(row));
    if (row.group >= spreads.size()) spreads.resize(row.group + 1);
    spreads[row.group].push_back(states.back().own);
  }
  std::vector<SpreadPrior> priors;
  for (const std::vector<Spread>& group : spreads) priors.push_back(learn_prior(group));

  std::vector<Spread> errors;
  std::vector<std::vector<SessionRow>> records(priors.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    RowState& state = states[i];
    errors.push_back(process_error(rows[i], state, priors[rows[i].group], widths));
    state.baseline.sessions.within *= moderate(state.own, priors[rows[i].group]).variance;
    records[rows[i].group].push_back(state.baseline.sessions);
  }
  for (const std::vector<SessionRow>& record : records)
    table.session_spread.push_back(learn_session_spread(record));

  for (std::size_t i = 0; i < rows.size(); ++i) {
    const RowState& state = states[i];
    if (rows[i].across_sessions) {
      const SessionSpread& timer = table.session_spread[rows[i].group];
      const double sides = 1 / static_cast<double>(rows[i].baseline.sessions.size()) +
                           1 / static_cast<double>(rows[i].contender.sessions.size());
      const Spread between{session_variance(timer, state.baseline.sessions) * sides, timer.degrees};
      errors[i] = sum_of(std::array{errors[i], between});
    }
    // Either side may be off by half a step, and no number of processes averages that out.
    const double width = widths.of(errors[i]) + rows[i].resolution;
    table.rows.push_back({state.contender.centre - state.baseline.centre, width, state.origin});
  }
  return table;
}

Call call(double log_ratio, double half_width, double threshold) {
  const double limit = std::log1p(threshold);
  const double low = log_ratio - half_width;
  const double high = log_ratio + half_width;
  if (low > limit) return Call::slower;
  if (high < -limit) return Call::faster;
  // Not an `else`: a width that is no number is inconclusive.
  return low >= -limit && high <= limit ? Call::same : Call::inconclusive;
}

}  // namespace strictbench
