#include "report/statistics.h"

#include <algorithm>
#include <boost/math/distributions/fisher_f.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/polygamma.hpp>
#include <boost/math/special_functions/trigamma.hpp>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

namespace strictbench {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Fewer rows than this say too little of what rows of their kind are like.
constexpr std::size_t least_rows_for_prior = 5;
constexpr double most_prior_degrees = 10;
// Variances below (0.001 %)^2 are rounding; their logarithms would swamp those of real ones.
constexpr double smallest_variance = 1e-10;
constexpr double most_session_worth = 10;
constexpr std::size_t least_samples_for_resolution = 10;
constexpr double session_pseudo_observations = 5;

/// Solves trigamma(x) = value for x, by Newton's method on 1 / trigamma, which is nearly linear.
double inverse_trigamma(double value) {
  double x = 0.5 + 1 / value;
  for (int step = 0; step < 50; ++step) {
    const double trigamma = boost::math::trigamma(x);
    const double change = trigamma * (1 - trigamma / value) / boost::math::polygamma(2, x);
    x += change;
    if (std::abs(change) < 1e-9 * x) break;
  }
  return x;
}

}  // namespace

double median(std::span<const double> values) {
  if (values.size() == 1) return values.front();
  std::vector<double> copy(values.begin(), values.end());
  const auto middle = copy.begin() + static_cast<std::ptrdiff_t>(copy.size() / 2);
  std::nth_element(copy.begin(), middle, copy.end());
  if (copy.size() % 2 == 1) return *middle;
  const double below = *std::max_element(copy.begin(), middle);
  return below + (*middle - below) / 2;
}

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

Spread spread_of(std::span<const double> values) {
  if (values.size() < 2) return {};
  const double centre = mean(values);
  double sum = 0;
  for (const double value : values) sum += (value - centre) * (value - centre);
  const double degrees = static_cast<double>(values.size() - 1);
  return {sum / degrees, degrees};
}

Spread pooled(std::span<const Spread> groups) {
  double sum = 0;
  double degrees = 0;
  for (const Spread& group : groups) {
    sum += group.variance * group.degrees;
    degrees += group.degrees;
  }
  return degrees > 0 ? Spread{sum / degrees, degrees} : Spread{};
}

double squared_error_of_median(std::span<const double> log_samples) {
  if (log_samples.size() < 2) return 0;
  // Of normal samples; pi / 2 is what the median pays for its robustness.
  return std::numbers::pi / 2 * spread_of(log_samples).variance / static_cast<double>(log_samples.size());
}

SpreadPrior learn_prior(std::span<const Spread> rows) {
  std::vector<double> logs;  // of the true variances, as far as each sample variance tells
  double chance = 0;         // variance of those logarithms that sampling alone explains
  for (const Spread& row : rows) {
    if (row.degrees <= 0) continue;
    const double half = row.degrees / 2;
    logs.push_back(std::log(std::max(row.variance, smallest_variance)) - boost::math::digamma(half) +
                   std::log(half));
    chance += boost::math::trigamma(half);
  }
  if (logs.size() < least_rows_for_prior) return {};
  chance /= static_cast<double>(logs.size());
  const double excess = spread_of(logs).variance - chance;
  SpreadPrior prior{std::exp(mean(logs)), most_prior_degrees, true};
  if (excess <= 0) return prior;
  const double half = inverse_trigamma(excess);
  if (2 * half >= most_prior_degrees) return prior;
  prior.degrees = 2 * half;
  prior.variance *= std::exp(boost::math::digamma(half) - std::log(half));
  return prior;
}

Spread moderate(const Spread& own, const SpreadPrior& prior) {
  const double degrees = own.degrees + prior.degrees;
  const double variance = (own.variance * own.degrees + prior.variance * prior.degrees) / degrees;
  if (own.degrees > 0 && own.variance >= variance) return own;
  return {variance, degrees};
}

double t_quantile(double tail, double degrees) {
  if (std::isinf(degrees)) return quantile(complement(boost::math::normal_distribution<double>(), tail));
  return quantile(complement(boost::math::students_t_distribution<double>(degrees), tail));
}

Spread sum_of(std::span<const Spread> parts) {
  double variance = 0;
  double weight = 0;
  for (const Spread& part : parts) {
    variance += part.variance;
    if (part.degrees > 0) weight += part.variance * part.variance / part.degrees;
  }
  return {variance, weight > 0 ? variance * variance / weight : infinity};
}

double equal_spread_probability(const Spread& a, const Spread& b) {
  if (a.degrees <= 0 || b.degrees <= 0) return 1;
  const bool a_larger = a.variance >= b.variance;
  const Spread& large = a_larger ? a : b;
  const Spread& small = a_larger ? b : a;
  if (large.variance <= 0) return 1;
  if (small.variance <= 0) return 0;
  const boost::math::fisher_f_distribution<double> f(large.degrees, small.degrees);
  return std::min(1.0, 2 * cdf(complement(f, large.variance / small.variance)));
}

Quantiles quantiles_for(double degrees, double alpha, std::size_t rows) {
  const double shared = alpha / static_cast<double>(std::max<std::size_t>(rows, 1));
  return {t_quantile(alpha / 2, degrees), t_quantile(shared / 2, degrees)};
}

double half_width(double error, const Quantiles& quantiles, double log_threshold) {
  return std::max(quantiles.alone * error, quantiles.table * error - log_threshold);
}

double resolution_of(std::span<const double> samples) {
  if (samples.size() < least_samples_for_resolution) return 0;
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  double step = infinity;
  std::size_t distinct = 1;
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    const double gap = sorted[i] - sorted[i - 1];
    // The same count of steps may differ in its last digits.
    if (gap <= 1e-6 * sorted[i]) continue;
    step = std::min(step, gap);
    ++distinct;
  }
  if (distinct < 2 || 2 * distinct > sorted.size()) return 0;
  return step / sorted[sorted.size() / 2];
}

Interval paired_interval(std::span<const double> log_ratios, const SpreadPrior& prior, double alpha) {
  const double pairs = static_cast<double>(log_ratios.size());
  const Spread own = spread_of(log_ratios);
  if (own.degrees <= 0) return {mean(log_ratios), infinity};
  const Spread spread = moderate(own, prior);
  return {mean(log_ratios), t_quantile(alpha / 2, spread.degrees) * std::sqrt(spread.variance / pairs)};
}

SessionSpread learn_session_spread(std::span<const SessionRow> rows) {
  double fourth = 0;  // mean fourth power of the spread, as the rows tell it
  double degrees = 0;
  double counted = 0;
  for (const SessionRow& row : rows) {
    const double own = row.between.degrees;
    if (own <= 0) continue;
    const double beyond = std::max(0.0, row.between.variance - row.within);
    fourth += beyond * beyond / (1 + 2 / own);  // what the square of a sample variance is too large by
    degrees += own;
    counted += 1;
  }
  const double assumed = assumed_spread * assumed_spread;
  if (counted == 0) return {assumed, infinity, false};
  const double seen = std::sqrt(fourth / counted);
  const double worth = std::min(degrees, most_session_worth);
  return {(assumed * session_pseudo_observations + seen * worth) / (session_pseudo_observations + worth),
          session_pseudo_observations + worth, true};
}

double session_variance(const SessionSpread& timer, const SessionRow& row) {
  const double own = std::max(0.0, row.between.variance - row.within);
  const double degrees = row.between.degrees;
  return std::max(timer.variance, (timer.variance + own * degrees) / (1 + degrees));
}

double smallest_visible(double half_width, double threshold) {
  return (1 + threshold) * std::exp(half_width) - 1;
}

}  // namespace strictbench
