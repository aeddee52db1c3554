/// What GitHub Actions shows of a report beside the log of a step.
#pragma once
#include <functional>
#include <ostream>

#include "report/compare.h"

namespace strictbench {

/// Whether this is a step of a GitHub action.
bool in_github_action();

/// One `::error` for each slower, wrong, failed or missing row, the gravest first. Of more than ten, which is
/// what GitHub shows, the first line says how many there are and nine rows follow.
void write_annotations(std::ostream& out, const Comparison& comparison);

/// Appends to the summary of the step, where there is one. Where it cannot be written, says so in one line on
/// standard error: the report itself is not lost.
void append_to_step_summary(const std::function<void(std::ostream&)>& write);

}  // namespace strictbench
