/// What commands that end in a comparison have in common: how it is asked for and where it goes.
#pragma once
#include <CLI/CLI.hpp>
#include <string>

#include "report/compare.h"

namespace strictbench {

struct Delivery {
  std::string format = "text";
  std::string output;  // empty: standard output
};

/// Adds --format and --output to `command`; `delivery` must outlive its parsing.
void add_delivery_options(CLI::App& command, Delivery& delivery);

/// Throw UsageError where the value makes no sense. Both are shares: 0.01 is 1 %.
void require_threshold(double threshold);
void require_alpha(double alpha);

/// Writes `comparison` as asked. Into a file it goes in full or not at all, and its headline to standard
/// output. In a GitHub action, Markdown also goes into the summary of the step, and rows that fail become
/// annotations.
void deliver(const Comparison& comparison, const Delivery& delivery);

}  // namespace strictbench
