/// What one side's evidence for a row amounts to.
#pragma once
#include <cstdint>
#include <vector>

#include "report/compare.h"
#include "report/judge.h"
#include "report/results.h"

namespace strictbench {

/// Whether so much of a row was left out as suspect that the rest is no fair picture of it.
bool too_thin(const Evidence& evidence);

/// Median of the process medians, and how much stands behind it.
SideFigures figures_of(const Evidence& evidence);

/// The step in which the clock counted, as a fraction of the time; 0 where the samples do not show it.
double resolution_of(const Evidence& evidence);

/// The logarithms of process medians by session; `sign` is -1 for rates, so that larger is always worse.
/// `session_ids` receives the sessions in the order of the sample's.
SideSample sample_of(const Evidence& evidence, double sign, std::vector<std::uint32_t>& session_ids);

}  // namespace strictbench
