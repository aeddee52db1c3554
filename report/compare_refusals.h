/// What is no comparison at all, whatever its rows are.
#pragma once
#include "report/compare.h"
#include "report/results.h"

namespace strictbench {

/// Throws UsageError where no row could get a verdict that means something: a baseline without rows or of
/// several devices, a metric that no row has, or `cpu_time` of rows of our own.
void refuse_hopeless(const Side& baseline, const Side& contender, const CompareOptions& options);

}  // namespace strictbench
