/// strictbench compare: reads two sides, compares, writes.
#include <memory>
#include <string>
#include <vector>

#include "report/commands.h"
#include "report/compare.h"
#include "report/delivery.h"
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
  Delivery delivery;
  bool cross_machine = false;
  const CLI::Option* threshold_option = nullptr;
};

CompareOptions options_of(const Arguments& arguments) {
  CompareOptions options;
  if (arguments.threshold_option->count() > 0) {
    require_threshold(arguments.threshold);
    options.threshold = arguments.threshold;
  }
  require_alpha(arguments.alpha);
  if (arguments.metric.empty()) throw UsageError("--metric is empty; real_time is the default");
  options.alpha = arguments.alpha;
  options.metric = arguments.metric;
  options.cross_machine = arguments.cross_machine;
  return options;
}

int run(const Arguments& arguments) {
  const CompareOptions options = options_of(arguments);
  std::vector<std::string> inputs = arguments.baseline;
  inputs.insert(inputs.end(), arguments.contender.begin(), arguments.contender.end());
  require_apart(arguments.delivery.output, inputs);
  const Side baseline = read_side(arguments.baseline, options.metric);
  const Side contender = read_side(arguments.contender, options.metric);
  const Comparison comparison = compare(baseline, contender, options);
  deliver(comparison, arguments.delivery);
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
                      "real_time (default), a counter, or of other programs' files cpu_time; more counts as "
                      "slower, of a rate (*_per_second) less does");
  command->add_flag("--cross-machine", arguments->cross_machine,
                    "Show ratios across machines, never as more than inconclusive");
  add_delivery_options(*command, arguments->delivery);
  command->callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace strictbench
