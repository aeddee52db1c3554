/// strictbench compare: reads two sides, compares, writes.
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "report/commands.h"
#include "report/compare.h"
#include "report/compare_output.h"
#include "report/error.h"
#include "report/output_file.h"

namespace strictbench {
namespace {

struct Arguments {
  std::vector<std::string> baseline;
  std::vector<std::string> contender;
  double threshold = 0;
  double alpha = 0.01;
  std::string metric = "real_time";
  std::string format = "text";
  std::string output;
  bool cross_machine = false;
  const CLI::Option* threshold_option = nullptr;
};

CompareOptions options_of(const Arguments& arguments) {
  CompareOptions options;
  if (arguments.threshold_option->count() > 0) {
    if (!std::isfinite(arguments.threshold) || arguments.threshold <= 0) {
      throw UsageError("--threshold must be a positive number, for example 0.01 for 1 %");
    }
    options.threshold = arguments.threshold;
  }
  // Smaller errors are beyond what the tails of any distribution here can be trusted with.
  constexpr double least_alpha = 1e-9;
  if (!(arguments.alpha >= least_alpha && arguments.alpha < 1)) {
    throw UsageError("--alpha must lie between 1e-9 and 1, for example 0.01");
  }
  if (arguments.metric.empty()) throw UsageError("--metric is empty; real_time is the default");
  options.alpha = arguments.alpha;
  options.metric = arguments.metric;
  options.cross_machine = arguments.cross_machine;
  return options;
}

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

int run(const Arguments& arguments) {
  const CompareOptions options = options_of(arguments);
  const Side baseline = read_side(arguments.baseline, options.metric);
  const Side contender = read_side(arguments.contender, options.metric);
  const Comparison comparison = compare(baseline, contender, options);
  if (arguments.output.empty()) {
    write_stdout([&](std::ostream& out) { write(out, comparison, arguments.format, stdout_takes_colour()); });
  } else {
    write_file(arguments.output, [&](std::ostream& out) { write(out, comparison, arguments.format, false); });
    write_stdout([&](std::ostream& out) { out << headline(comparison) << "\n"; });
  }
  return comparison.exit_code();
}

}  // namespace

void add_compare_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("compare", "Compare two sets of results and give each row a verdict");
  const auto arguments = std::make_shared<Arguments>();
  command->add_option("--baseline", arguments->baseline, "Result folders or Google Benchmark JSON files")
      ->required()
      ->type_name("PATH");
  command->add_option("--contender", arguments->contender, "Result folders or Google Benchmark JSON files")
      ->required()
      ->type_name("PATH");
  arguments->threshold_option =
      command->add_option("--threshold", arguments->threshold,
                          "Smallest change that matters, as a fraction (default 0.01; 0.05 across sessions)");
  command->add_option("--alpha", arguments->alpha, "Error of the whole table (default 0.01)");
  command->add_option("--metric", arguments->metric,
                      "real_time, cpu_time or a counter; *_per_second is a rate");
  command->add_flag("--cross-machine", arguments->cross_machine,
                    "Show ratios across machines, never as more than inconclusive");
  command->add_option("--format", arguments->format, "text, markdown, json or junit")
      ->check(CLI::IsMember({"text", "markdown", "json", "junit"}));
  command->add_option("--output", arguments->output, "Write to this file instead of standard output");
  command->callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace strictbench
