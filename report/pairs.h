/// Pair by pair: process k of the baseline with process k of the contender, which ran behind each other. What
/// drifts slowly hits both and drops out of their ratio.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "report/judge.h"
#include "report/results.h"

namespace strictbench {

/// One row: the logarithm of contender / baseline of each pair. At least one pair.
struct PairedSample {
  std::size_t group = 0;  // rows of one timer lend each other evidence; numbered from 0
  std::vector<double> log_ratios;
  double resolution = 0;  // step of the clock as a fraction of the time
};

/// Intervals of all rows' log ratios, by the rules of `judge_table` with the pair as the unit of evidence.
/// `alpha` is the error of the whole table over all `looks` at growing data: each may call a change, so they
/// share it.
std::vector<RowInterval> judge_pairs(std::span<const PairedSample> rows, double alpha, double threshold,
                                     int looks);

/// The log ratios of the processes that measured a row on both sides. Files of one `process_index` are a
/// pair; `sign` is -1 for rates.
std::vector<double> paired_log_ratios(const Side& baseline, const Evidence& b, const Side& contender,
                                      const Evidence& c, double sign);

}  // namespace strictbench
