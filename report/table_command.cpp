/// strictbench table: the speedup table of a result.
#include <memory>
#include <string>
#include <vector>

#include "report/baselines_folder.h"
#include "report/commands.h"
#include "report/error.h"
#include "report/output_file.h"
#include "report/table.h"
#include "report/text.h"

namespace strictbench {
namespace {

struct Arguments {
  std::string result;
  std::string format = "text";
  std::string published;
};

int run(const Arguments& arguments) {
  const Side result = read_side({arguments.result}, "real_time");
  if (result.benchmarks.empty()) throw UsageError(printable(arguments.result) + ": holds no rows");
  std::vector<std::string> files;
  if (!arguments.published.empty()) {
    files.push_back(arguments.published);
  } else {
    for (const std::filesystem::path& file : published_files()) files.push_back(file.string());
  }
  std::vector<Side> published;
  for (const std::string& file : files) published.push_back(read_side({file}, "real_time"));
  const SpeedupTable table = make_table(result, published);
  write_stdout([&](std::ostream& out) {
    arguments.format == "markdown" ? write_table_markdown(out, table) : write_table_text(out, table);
  });
  return table.bad_rows > 0 ? 1 : 0;
}

}  // namespace

void add_table_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("table", "Show the speedup of each variant over legacy");
  const auto arguments = std::make_shared<Arguments>();
  command->add_option("result", arguments->result, "A result folder or a Google Benchmark JSON file")
      ->required()
      ->type_name("RESULT");
  command->add_option("--format", arguments->format, "text or markdown")
      ->check(CLI::IsMember({"text", "markdown"}));
  command
      ->add_option("--published", arguments->published,
                   "Figures published by others (default: baselines/*/published.json)")
      ->type_name("PATH");
  command->callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace strictbench
