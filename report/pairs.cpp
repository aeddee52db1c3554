#include "report/pairs.h"

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "report/environment.h"

namespace strictbench {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

using PairKey = std::pair<std::string, double>;  // the file's process_index, the row's own number

std::map<PairKey, double> logs_by_process(const Side& side, const Evidence& evidence) {
  std::map<PairKey, double> logs;
  for (const ProcessRecord& process : evidence.processes) {
    const double value = process.value();
    if (std::isnan(value)) continue;
    logs[{stated(side.sources[process.source].context, "process_index"), process.number}] = std::log(value);
  }
  return logs;
}

}  // namespace

std::vector<RowInterval> judge_pairs(std::span<const PairedSample> rows, double alpha, double threshold,
                                     int looks) {
  std::vector<std::vector<Spread>> spreads;
  for (const PairedSample& row : rows) {
    if (row.group >= spreads.size()) spreads.resize(row.group + 1);
    spreads[row.group].push_back(spread_of(row.log_ratios));
  }
  std::vector<SpreadPrior> priors;
  for (const std::vector<Spread>& group : spreads) priors.push_back(learn_prior(group));

  const double log_threshold = std::log1p(threshold);
  const auto width_of = [&](const Spread& spread, std::size_t pairs) {
    const Quantiles quantiles = quantiles_for(spread.degrees, alpha / looks, rows.size());
    return half_width(std::sqrt(spread.variance / static_cast<double>(pairs)), quantiles, log_threshold);
  };
  // Both processes of a pair vary.
  constexpr Spread assumed{2 * assumed_spread * assumed_spread, infinity};
  std::vector<RowInterval> intervals;
  for (const PairedSample& row : rows) {
    const std::size_t pairs = row.log_ratios.size();
    const Spread own = spread_of(row.log_ratios);
    RowInterval interval{mean(row.log_ratios), 0, SpreadOrigin::both_sides};
    if (own.degrees > 0) interval.half_width = width_of(moderate(own, priors[row.group]), pairs);
    if (pairs < enough_processes) {
      interval.origin = pairs < 2 ? SpreadOrigin::assumed : SpreadOrigin::few_processes;
      interval.half_width = std::max(interval.half_width, width_of(assumed, pairs));
    }
    interval.half_width += row.resolution;
    intervals.push_back(interval);
  }
  return intervals;
}

std::vector<double> paired_log_ratios(const Side& baseline, const Evidence& b, const Side& contender,
                                      const Evidence& c, double sign) {
  const std::map<PairKey, double> before = logs_by_process(baseline, b);
  std::vector<double> ratios;
  for (const auto& [key, log] : logs_by_process(contender, c)) {
    const auto partner = before.find(key);
    if (partner != before.end()) ratios.push_back(sign * (log - partner->second));
  }
  return ratios;
}

}  // namespace strictbench
