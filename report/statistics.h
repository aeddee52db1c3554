/// Statistics of benchmark times as pure functions. All spreads, means and intervals are of natural
/// logarithms of times, so that a spread of 0.01 is 1 % and a difference is the logarithm of a ratio.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

namespace strictbench {

/// The spread assumed between processes, or between sessions, where nothing is known: 1 %.
inline constexpr double assumed_spread = 0.01;

/// Median of `values`, which must not be empty; the mean of the middle two where their number is even.
double median(std::span<const double> values);

/// Mean of `values`, which must not be empty.
double mean(std::span<const double> values);

/// A variance and how much evidence stands behind it. Infinite degrees: taken as known.
struct Spread {
  double variance = 0;
  double degrees = 0;
};

/// Fewer processes than this, on either side, have not seen enough to know whether they agree: with two
/// modes, four would all fall into one on each side, and into different ones, once in a hundred rows.
inline constexpr std::size_t enough_processes = 5;

/// Variance of `values` about their mean; zero degrees for fewer than two.
Spread spread_of(std::span<const double> values);

/// The variance that several groups share, each about its own mean.
Spread pooled(std::span<const Spread> groups);

/// Squared standard error of the median of one process's samples (logarithms); 0 for fewer than two.
double squared_error_of_median(std::span<const double> log_samples);

/// What rows of one kind let one expect of a row's variance: as if `degrees` more observations of
/// `variance` stood behind it.
struct SpreadPrior {
  double variance = assumed_spread * assumed_spread;
  double degrees = 1;
  bool learned = false;  // from the rows; else one pseudo-observation of the assumed 1 %
};

/// Learns a prior from the spreads of a table's rows (those with zero degrees say nothing): the moments of
/// the logarithms of sample variances, after Smyth (2004). Too few rows give the assumed prior. The
/// evidence is capped: that rows are alike is never quite known.
SpreadPrior learn_prior(std::span<const Spread> rows);

/// The row's own spread and the prior together. Never smaller than the row's own spread: a quiet table does
/// not talk a noisy row down, while a row whose few processes agree by luck is brought back to the table.
Spread moderate(const Spread& own, const SpreadPrior& prior);

/// Upper `tail` quantile of Student's t with `degrees` (infinity: the normal distribution); `tail` in (0,
/// 0.5].
double t_quantile(double tail, double degrees);

/// The degrees of freedom of a sum of variances, each with degrees of its own (Satterthwaite).
Spread sum_of(std::span<const Spread> parts);

/// Probability that the larger of two sample variances exceeds the smaller by at least this much when the
/// true ones are equal (two-sided F test). 1 where a side says nothing.
double equal_spread_probability(const Spread& a, const Spread& b);

/// The two quantiles that a row's interval is made of.
struct Quantiles {
  double alone = 0;  // of one interval at 1 - alpha
  double table = 0;  // of `rows` intervals that together err with alpha
};
Quantiles quantiles_for(double degrees, double alpha, std::size_t rows);

/// Half the width of the interval of one row's log ratio, whose standard error is `error`.
///
/// A single interval at 1 - alpha, widened where it must be so that over the whole table at most `alpha` of
/// runs with no change show any row beyond the threshold: such a row must also be beyond zero by the quantile
/// for alpha / rows. `log_threshold` is log(1 + t).
double half_width(double error, const Quantiles& quantiles, double log_threshold);

/// The step in which a clock counts, as a fraction of the median, where samples show it: few distinct values,
/// each many times. 0 where they do not. `samples` are times, not logarithms.
///
/// Processes that all land on one step agree perfectly and still know the time only to that step.
double resolution_of(std::span<const double> samples);

/// Interval of the mean of paired log ratios, one per process, at 1 - alpha; `prior` as for a row's spread.
struct Interval {
  double centre = 0;
  double half_width = 0;  // infinite where one pair alone stands
};
Interval paired_interval(std::span<const double> log_ratios, const SpreadPrior& prior, double alpha);

/// What a row's sessions say of the spread between sessions.
struct SessionRow {
  Spread between;     // variance of the session means
  double within = 0;  // expected part of it that the spread of processes explains
};

/// The spread between sessions of one timer's rows.
struct SessionSpread {
  double variance = assumed_spread * assumed_spread;
  double degrees = 0;  // infinite where assumed
  bool learned = false;
};

/// Learns from the rows of a timer. Rows differ: a kernel of one block feels the machine more than one that
/// fills the chip. So the rows are pooled by their fourth moments, which lean to those that vary most. Rows
/// of one session move together, so that all of them are worth at most ten observations; five more of the
/// assumed 1 % keep two sessions that agree by luck from claiming that all do. No row with two sessions or
/// more gives the assumed spread.
SessionSpread learn_session_spread(std::span<const SessionRow> rows);

/// The spread between sessions that counts for one row: the timer's, or the row's own where that is larger.
double session_variance(const SessionSpread& timer, const SessionRow& row);

/// The smallest slowdown that data with this half width would have called slower, as a fraction: 0.02 is 2 %.
double smallest_visible(double half_width, double threshold);

}  // namespace strictbench
