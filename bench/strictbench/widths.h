/// How narrow each case's evidence is, by the statistics of the report.
#pragma once
#include <map>
#include <string>

#include "report/results.h"

namespace strictbench::runner {

/// By case: half of the interval, as a logarithm, that `compare` would give the ratio of two sides that were
/// both measured like this one. Cases without a usable number are left out; so is the step of the clock,
/// which no number of processes makes smaller.
std::map<std::string, double> half_widths_of(const Side& side);

}  // namespace strictbench::runner
