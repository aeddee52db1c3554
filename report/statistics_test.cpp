#include "report/statistics.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace strictbench {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

TEST(Median, KnownAnswers) {
  EXPECT_EQ(median(std::array{3.0}), 3);
  EXPECT_EQ(median(std::array{9.0, 1.0, 5.0}), 5);
  EXPECT_EQ(median(std::array{9.0, 1.0, 5.0, 2.0}), 3.5);
  // The sum of these two is beyond a double; their middle is not.
  EXPECT_DOUBLE_EQ(median(std::array{1.6e308, 1.2e308}), 1.4e308);
}

TEST(SpreadOf, KnownAnswers) {
  const Spread spread = spread_of(std::array{1.0, 2.0, 3.0, 6.0});
  EXPECT_DOUBLE_EQ(spread.variance, 14.0 / 3);
  EXPECT_EQ(spread.degrees, 3);
  EXPECT_EQ(spread_of(std::array{1.0}).degrees, 0);
}

TEST(Pooled, WeighsByDegreesAndIgnoresGroupsThatSayNothing) {
  const Spread both = pooled(std::array{Spread{1, 1}, Spread{4, 2}, Spread{100, 0}});
  EXPECT_DOUBLE_EQ(both.variance, 3);
  EXPECT_EQ(both.degrees, 3);
  EXPECT_EQ(pooled(std::array{Spread{}, Spread{}}).degrees, 0);
}

TEST(SquaredErrorOfMedian, IsThatOfNormalSamples) {
  EXPECT_EQ(squared_error_of_median(std::array{1.0}), 0);
  // Simulated: medians of 25 normal numbers.
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal(0, 2);
  std::vector<double> medians;
  double expected = 0;
  for (int i = 0; i < 4000; ++i) {
    std::vector<double> samples(25);
    for (double& sample : samples) sample = normal(random);
    medians.push_back(median(samples));
    expected += squared_error_of_median(samples) / 4000;
  }
  EXPECT_NEAR(spread_of(medians).variance / expected, 1, 0.06);
}

TEST(TQuantile, AgreesWithPrintedTables) {
  EXPECT_NEAR(t_quantile(0.025, 10), 2.228139, 1e-6);
  EXPECT_NEAR(t_quantile(0.005, 2), 9.924843, 1e-6);
  EXPECT_NEAR(t_quantile(0.005, infinity), 2.575829, 1e-6);
  EXPECT_NEAR(t_quantile(0.5, 3), 0, 1e-12);
}

TEST(TQuantile, ExistsWhereverATableMayAskForIt) {
  for (double degrees = 0.3; degrees < 1e7; degrees *= 1.3) {
    for (double tail = 5e-16; tail <= 0.5; tail *= 2) {
      const double quantile = t_quantile(tail, degrees);
      EXPECT_GE(quantile, 0) << tail << " " << degrees;
      EXPECT_FALSE(std::isnan(quantile)) << tail << " " << degrees;
    }
  }
}

TEST(ResolutionOf, IsTheStepOfAClockThatCountsInSteps) {
  std::vector<double> samples;
  for (int i = 0; i < 20; ++i) samples.push_back(i % 3 == 0 ? 3072 : 3040);
  EXPECT_NEAR(resolution_of(samples), 32.0 / 3040, 1e-8);
  samples.push_back(3040 * (1 + 1e-9));  // the same step, written otherwise
  EXPECT_NEAR(resolution_of(samples), 32.0 / 3040, 1e-8);
  // A clock that is fine enough, one that never moved, and too few samples to tell.
  std::vector<double> fine;
  for (int i = 0; i < 20; ++i) fine.push_back(3000 + i);
  EXPECT_EQ(resolution_of(fine), 0);
  EXPECT_EQ(resolution_of(std::vector<double>(20, 5.0)), 0);
  EXPECT_EQ(resolution_of(std::array{1.0, 2.0, 1.0, 2.0}), 0);
}

TEST(SumOf, IsSatterthwaites) {
  const Spread sum = sum_of(std::array{Spread{1, 5}, Spread{1, 5}});
  EXPECT_EQ(sum.variance, 2);
  EXPECT_DOUBLE_EQ(sum.degrees, 10);
  // What is known costs no degrees, what is uncertain dominates.
  EXPECT_NEAR(sum_of(std::array{Spread{1, 4}, Spread{1e-9, infinity}}).degrees, 4, 1e-6);
  EXPECT_TRUE(std::isinf(sum_of(std::array{Spread{1, infinity}, Spread{0, 3}}).degrees));
}

TEST(EqualSpreadProbability, AgreesWithPrintedTables) {
  // F(9, 9) exceeds 4.026 with probability 0.025; two-sided 0.05.
  EXPECT_NEAR(equal_spread_probability({4.026, 9}, {1, 9}), 0.05, 1e-4);
  EXPECT_NEAR(equal_spread_probability({1, 9}, {4.026, 9}), 0.05, 1e-4);
  EXPECT_EQ(equal_spread_probability({5, 9}, {1, 0}), 1);
  EXPECT_EQ(equal_spread_probability({5, 9}, {0, 9}), 0);
  EXPECT_EQ(equal_spread_probability({0, 9}, {0, 9}), 1);
}

/// Sample variances of rows whose true variances follow a scaled inverse chi-squared distribution.
std::vector<Spread> rows_with_prior(double prior_variance, double prior_degrees, double degrees,
                                    std::size_t count) {
  std::mt19937_64 random(2);
  std::chi_squared_distribution<double> prior(prior_degrees);
  std::chi_squared_distribution<double> sampling(degrees);
  std::vector<Spread> rows;
  for (std::size_t i = 0; i < count; ++i) {
    const double variance = prior_variance * prior_degrees / prior(random);
    rows.push_back({variance * sampling(random) / degrees, degrees});
  }
  return rows;
}

TEST(LearnPrior, FindsThePriorThatMadeTheRows) {
  for (const double degrees : {2.0, 4.0, 8.0}) {
    const SpreadPrior prior = learn_prior(rows_with_prior(1e-6, degrees, 9, 4000));
    EXPECT_TRUE(prior.learned);
    EXPECT_NEAR(prior.degrees / degrees, 1, 0.15) << degrees;
    EXPECT_NEAR(prior.variance / 1e-6, 1, 0.1) << degrees;
  }
}

TEST(LearnPrior, IsCappedWhereRowsAreAlike) {
  const SpreadPrior prior = learn_prior(rows_with_prior(1e-6, 1e6, 9, 1000));
  EXPECT_EQ(prior.degrees, 10);
  EXPECT_NEAR(prior.variance / 1e-6, 1, 0.05);
}

TEST(LearnPrior, AssumesOnePercentWhereFewRowsSpeak) {
  std::vector<Spread> rows(20, Spread{0, 0});
  for (int i = 0; i < 4; ++i) rows.push_back({1e-8, 9});
  const SpreadPrior prior = learn_prior(rows);
  EXPECT_FALSE(prior.learned);
  EXPECT_DOUBLE_EQ(prior.variance, 1e-4);
  EXPECT_EQ(prior.degrees, 1);
}

TEST(LearnPrior, RowsWithoutAnySpreadAreNoInfinity) {
  const SpreadPrior prior = learn_prior(std::vector<Spread>(10, Spread{0, 4}));
  EXPECT_TRUE(std::isfinite(prior.variance));
  EXPECT_GT(prior.variance, 0);
  EXPECT_LT(prior.variance, 1e-9);
}

TEST(Moderate, NeverTalksANoisyRowDown) {
  const SpreadPrior quiet{1e-6, 6, true};
  const Spread noisy = moderate({1e-4, 4}, quiet);
  EXPECT_EQ(noisy.variance, 1e-4);
  EXPECT_EQ(noisy.degrees, 4);
  const Spread lucky = moderate({0, 4}, quiet);
  EXPECT_DOUBLE_EQ(lucky.variance, 6e-7);
  EXPECT_EQ(lucky.degrees, 10);
}

TEST(HalfWidth, IsTheWiderOfRowAndTable) {
  const Quantiles quantiles = quantiles_for(18, 0.01, 100);
  EXPECT_NEAR(quantiles.alone, 2.878440, 1e-5);
  EXPECT_GT(quantiles.table, 4.9);
  EXPECT_LT(quantiles.table, 5.1);
  // A quiet row: the threshold alone keeps it from a false alarm.
  EXPECT_DOUBLE_EQ(half_width(0.001, quantiles, 0.01), quantiles.alone * 0.001);
  // A noisy row: the table's quantile, less the threshold that the row must cross besides.
  EXPECT_DOUBLE_EQ(half_width(0.01, quantiles, 0.01), quantiles.table * 0.01 - 0.01);
  EXPECT_EQ(quantiles_for(5, 0.01, 1).alone, quantiles_for(5, 0.01, 1).table);
}

TEST(PairedInterval, KnownAnswer) {
  const SpreadPrior nothing{0, 0, false};
  const Interval interval = paired_interval(std::array{1.0, 2.0, 3.0}, nothing, 0.01);
  EXPECT_DOUBLE_EQ(interval.centre, 2);
  EXPECT_NEAR(interval.half_width, 9.924843 / std::sqrt(3), 1e-5);
  EXPECT_TRUE(std::isinf(paired_interval(std::array{1.0}, nothing, 0.01).half_width));
}

TEST(PairedInterval, CoversTheTruthAsOftenAsItSays) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> drift(0, 0.05);  // hits both of a pair, and so does not count
  std::normal_distribution<double> noise(0, 0.002);
  int covered = 0;
  double width = 0;
  constexpr int runs = 4000;
  for (int run = 0; run < runs; ++run) {
    std::vector<double> ratios;
    for (int process = 0; process < 5; ++process) {
      const double machine = drift(random);
      ratios.push_back((std::log(3.0) + machine + noise(random)) - (machine + noise(random)));
    }
    const Interval interval = paired_interval(ratios, {8e-6, 4, true}, 0.05);
    covered += std::abs(interval.centre - std::log(3.0)) <= interval.half_width ? 1 : 0;
    width += interval.half_width / runs;
  }
  EXPECT_GE(covered, runs * 0.945);
  EXPECT_LT(covered, runs);
  EXPECT_LT(width, 0.006);
}

TEST(LearnSessionSpread, AssumesOnePercentWithoutASecondSession) {
  const SessionSpread spread = learn_session_spread(std::vector<SessionRow>(50));
  EXPECT_FALSE(spread.learned);
  EXPECT_DOUBLE_EQ(spread.variance, 1e-4);
  EXPECT_TRUE(std::isinf(spread.degrees));
}

TEST(LearnSessionSpread, LearnsFromManyRows) {
  std::mt19937_64 random(4);
  const auto learn = [&](double truth, double within) {
    std::vector<SessionRow> rows;
    std::normal_distribution<double> session(0, std::sqrt(truth * truth + within));
    for (int row = 0; row < 200; ++row) {
      rows.push_back({spread_of(std::array{session(random), session(random), session(random)}), within});
    }
    return learn_session_spread(rows);
  };
  // Ten observations of the rows stand against five assumed ones of 1 %.
  const SessionSpread wide = learn(0.03, 1e-6);
  EXPECT_TRUE(wide.learned);
  EXPECT_NEAR(wide.variance, (5e-4 + 10 * 9e-4) / 15, 1e-4);
  EXPECT_EQ(wide.degrees, 15);
  // Agreement is believed only so far, and the spread of processes is not taken for one of sessions.
  EXPECT_NEAR(learn(0, 1e-5).variance, 5e-4 / 15, 1e-5);
}

TEST(LearnSessionSpread, LeansToTheRowsThatVaryMost) {
  std::vector<SessionRow> rows(100, SessionRow{{1e-8, 1}, 0});
  const double quiet = learn_session_spread(rows).variance;
  for (int i = 0; i < 10; ++i) rows[static_cast<std::size_t>(i)].between.variance = 1e-3;
  // The mean of the variances alone would be 1e-4.
  EXPECT_GT(learn_session_spread(rows).variance, quiet + 10.0 / 15 * 1.5e-4);
}

TEST(SessionVariance, TakesTheRowsOwnWhereItIsLarger) {
  const SessionSpread timer{1e-5, 15, true};
  EXPECT_DOUBLE_EQ(session_variance(timer, {{1e-7, 2}, 0}), 1e-5);
  EXPECT_DOUBLE_EQ(session_variance(timer, {{4e-5, 2}, 1e-5}), (1e-5 + 2 * 3e-5) / 3);
}

TEST(SmallestVisible, IsWhatWouldHaveBeenCalledSlower) {
  EXPECT_NEAR(smallest_visible(0, 0.01), 0.01, 1e-12);
  const double slowdown = smallest_visible(0.004, 0.01);
  EXPECT_NEAR(std::log1p(slowdown) - 0.004, std::log1p(0.01), 1e-12);
}

}  // namespace
}  // namespace strictbench
