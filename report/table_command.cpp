/// strictbench table: the speedup table of a result.
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "report/baselines_folder.h"
#include "report/commands.h"
#include "report/environment.h"
#include "report/error.h"
#include "report/github_actions.h"
#include "report/output_file.h"
#include "report/table.h"
#include "report/text.h"

namespace strictbench {
namespace {

struct Arguments {
  std::string result;
  std::vector<std::string> baseline;
  std::string format = "text";
  std::string output;
  std::string published;
};

std::vector<Side> read_published(const std::string& given) {
  std::vector<Side> published;
  if (!given.empty()) {
    published.push_back(read_side({given}, "real_time"));
    return published;
  }
  for (const std::filesystem::path& file : published_files()) {
    published.push_back(read_side({file.string()}, "real_time"));
  }
  return published;
}

void deliver(const SpeedupTable& table, const Arguments& arguments) {
  const auto write = [&](std::ostream& out) {
    if (arguments.format == "json") {
      write_table_json(out, table);
    } else if (arguments.format == "markdown") {
      write_table_markdown(out, table);
    } else {
      write_table_text(out, table);
    }
  };
  if (arguments.output.empty()) {
    write_stdout(write);
  } else {
    write_file(arguments.output, write);
    write_stdout([&](std::ostream& out) { out << headline(table) << "\n"; });
  }
  if (arguments.format == "markdown") append_to_step_summary(write);
}

int run(const Arguments& arguments) {
  std::vector<std::string> inputs = arguments.baseline;
  inputs.push_back(arguments.result);
  if (!arguments.published.empty()) inputs.push_back(arguments.published);
  require_apart(arguments.output, inputs);
  const Side result = read_side({arguments.result}, "real_time");
  if (result.benchmarks.empty()) throw UsageError(printable(arguments.result) + ": holds no rows");
  const std::vector<Side> published = read_published(arguments.published);
  SpeedupTable table = make_table(result, published);
  if (published.empty()) {
    table.notes.push_back(
        "no published figures beside these: there is no baselines/*/published.json above the program or the "
        "working folder, nor in the source tree of the build; name them with --published");
  }
  const bool judged = !arguments.baseline.empty();
  if (judged || in_github_action()) {
    // Beside itself a result has no slower row, but what is wrong or failed in it still is.
    const Comparison comparison =
        judged ? compare(read_side(arguments.baseline, "real_time"), result, CompareOptions{})
               : compare(result, result, CompareOptions{});
    if (judged) add_verdicts(table, comparison, joined(arguments.baseline));
    // The table on standard output stays whole; GitHub reads both streams.
    if (in_github_action()) write_annotations(std::cerr, comparison);
  }
  deliver(table, arguments);
  return table.bad_rows > 0 ? 1 : 0;
}

}  // namespace

void add_table_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("table", "Show the speedup of each variant over legacy");
  command->footer(
      "Exit code 1 where a row is wrong or failed. With --baseline the verdicts are shown and change no "
      "exit\n"
      "code: `strictbench compare` is the gate. In a GitHub action, --format markdown also goes into the\n"
      "summary of the step.");
  const auto arguments = std::make_shared<Arguments>();
  command->add_option("result", arguments->result, "A result folder or a Google Benchmark JSON file")
      ->required()
      ->type_name("RESULT");
  command
      ->add_option(
          "--baseline", arguments->baseline,
          "Result folders or Google Benchmark JSON files: adds the verdicts of a comparison with them")
      ->type_name("PATH");
  command->add_option("--format", arguments->format, "text, markdown or json")
      ->check(CLI::IsMember({"text", "markdown", "json"}));
  command->add_option("--output", arguments->output, "Write to this file instead of standard output");
  command
      ->add_option("--published", arguments->published,
                   "Figures published by others (default: baselines/*/published.json of the source tree or "
                   "the install)")
      ->type_name("PATH");
  command->callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace strictbench
