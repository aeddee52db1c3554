#include "report/delivery.h"

#include <iostream>

#include "report/compare_output.h"
#include "report/error.h"
#include "report/github_actions.h"
#include "report/output_file.h"

namespace strictbench {
namespace {

void write(std::ostream& out, const Comparison& comparison, const std::string& format, bool colour) {
  if (format == "json") {
    write_json(out, comparison);
  } else if (format == "markdown") {
    write_markdown(out, comparison);
  } else if (format == "junit") {
    write_junit(out, comparison);
  } else {
    write_text(out, comparison, colour);
  }
}

}  // namespace

void add_delivery_options(CLI::App& command, Delivery& delivery) {
  command.add_option("--format", delivery.format, "text, markdown, json or junit")
      ->check(CLI::IsMember({"text", "markdown", "json", "junit"}));
  command.add_option("--output", delivery.output, "Write to this file instead of standard output");
}

void require_threshold(double threshold) {
  // Whoever writes 5 means 5 %. Taken as 500 %, it would hide every slowdown.
  if (!(threshold > 0 && threshold <= 1)) {
    throw UsageError("--threshold is a share above 0 and up to 1, for example 0.01 for 1 %");
  }
}

void require_alpha(double alpha) {
  // Smaller errors are beyond what the tails of any distribution here can be trusted with.
  constexpr double least_alpha = 1e-9;
  if (!(alpha >= least_alpha && alpha < 1)) {
    throw UsageError("--alpha must lie between 1e-9 and 1, for example 0.01");
  }
}

void deliver(const Comparison& comparison, const Delivery& delivery) {
  const bool to_stdout = delivery.output.empty();
  if (to_stdout) {
    write_stdout([&](std::ostream& out) { write(out, comparison, delivery.format, stdout_takes_colour()); });
  } else {
    write_file(delivery.output, [&](std::ostream& out) { write(out, comparison, delivery.format, false); });
    write_stdout([&](std::ostream& out) { out << headline(comparison) << "\n"; });
  }
  if (delivery.format == "markdown") {
    append_to_step_summary([&](std::ostream& out) { write_markdown(out, comparison); });
  }
  if (!in_github_action()) return;
  // A report that goes on to another program stays whole; GitHub reads both streams.
  if (to_stdout && delivery.format != "text") {
    write_annotations(std::cerr, comparison);
  } else {
    write_stdout([&](std::ostream& out) { write_annotations(out, comparison); });
  }
}

}  // namespace strictbench
