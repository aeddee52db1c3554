/// strictbench kernels: GPU time per kernel, before and after.
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "report/commands.h"
#include "report/kernel_table.h"
#include "report/output_file.h"
#include "report/text.h"

namespace strictbench {
namespace {

struct Arguments {
  std::string before;
  std::string after;
  std::string both_cases;
  std::string before_cases;
  std::string after_cases;
  std::string controls{default_controls};
  std::string format = "text";
  std::string output;
};

KernelSide read(const std::string& path, const Arguments& arguments, const char* option,
                const std::string& own) {
  std::vector<NamePattern> patterns;
  std::string chosen;
  const auto add = [&](const char* name, const std::string& expression) {
    if (expression.empty()) return;
    patterns.emplace_back(name, expression);
    chosen += (chosen.empty() ? "" : " and ") + expression;
  };
  add("--case", arguments.both_cases);
  add(option, own);
  KernelSide side = read_kernel_side(path, patterns);
  if (!chosen.empty()) side.title += ", cases " + chosen;
  return side;
}

void write(std::ostream& out, const KernelTable& table, const std::string& format) {
  if (format == "json") {
    write_kernels_json(out, table);
  } else if (format == "markdown") {
    write_kernels_markdown(out, table);
  } else {
    write_kernels_text(out, table);
  }
}

/// Names the cases that failed where their kernels were to be recorded; the exit code.
int say_what_failed(const KernelSide& before, const KernelSide& after) {
  std::set<std::pair<std::string, std::string>> said;  // both sides may be one result
  for (const KernelSide* side : {&before, &after}) {
    for (const UnrecordedCase& one : side->failed) {
      if (!said.emplace(one.file, one.name).second) continue;
      std::fprintf(stderr, "strictbench: %s: no kernels of %s: %s\n", printable(one.file).c_str(),
                   printable(one.name).c_str(), printable(one.error).c_str());
    }
  }
  return said.empty() ? 0 : 1;
}

int run(const Arguments& arguments) {
  require_apart(arguments.output, {arguments.before, arguments.after});
  const NamePattern controls("--control", arguments.controls);
  KernelSide before = read(arguments.before, arguments, "--before-case", arguments.before_cases);
  KernelSide after = read(arguments.after, arguments, "--after-case", arguments.after_cases);
  std::vector<std::string> notes;
  pair_cases(before, after, notes);
  KernelTable table = make_kernel_table(before, after, controls);
  table.notes.insert(table.notes.begin(), notes.begin(), notes.end());
  const auto write_to = [&](std::ostream& out) { write(out, table, arguments.format); };
  if (arguments.output.empty()) {
    write_stdout(write_to);
  } else {
    write_file(arguments.output, write_to);
    write_stdout([&](std::ostream& out) { out << headline(table) << "\n"; });
  }
  return say_what_failed(before, after);
}

}  // namespace

void add_kernels_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("kernels", "Show the GPU time of each kernel, before and after");
  command->footer(
      "PATH is a result folder of strictbench run --kernels, one <operator>.kernels.json of it, or what\n"
      "`nsys stats --report cuda_gpu_kern_sum --format csv` writes. Kernels are told apart by their short\n"
      "names. Both variants of one result:\n"
      "  strictbench kernels --before RESULT --before-case /legacy/ --after RESULT --after-case /new/\n"
      "Exit code 1 where a case failed its check, or otherwise, while its kernels were recorded.");
  const auto arguments = std::make_shared<Arguments>();
  command->add_option("--before", arguments->before, "Kernels before the change")
      ->required()
      ->type_name("PATH");
  command->add_option("--after", arguments->after, "Kernels after it")->required()->type_name("PATH");
  command->add_option("--case", arguments->both_cases,
                      "Only cases in whose names this regular expression is found, on both sides");
  command->add_option("--before-case", arguments->before_cases, "The same for the side before");
  command->add_option("--after-case", arguments->after_cases, "The same for the side after");
  command->add_option(
      "--control", arguments->controls,
      "Kernels that should not move: a regular expression to find in their short names (default: " +
          std::string(default_controls) + ")");
  command->add_option("--format", arguments->format, "text, markdown or json")
      ->check(CLI::IsMember({"text", "markdown", "json"}));
  command->add_option("--output", arguments->output, "Write to this file instead of standard output");
  command->callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace strictbench
