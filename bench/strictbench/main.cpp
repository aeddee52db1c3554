/// strictbench: the command line. Subcommands live in files of their own; this one parses and reports errors.
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>

#include "bench/strictbench/commands.h"
#include "bench/strictbench/version.h"
#include "report/commands.h"
#include "report/error.h"
#include "report/output_file.h"
#include "report/text.h"

namespace {

constexpr int unusable = 2;  // exit code for unusable input or command line

/// What --help or --version asked for. A text that nobody got is no success.
int answer(const CLI::App& app, const CLI::Success& asked) {
  try {
    strictbench::write_stdout([&](std::ostream& out) { app.exit(asked, out, out); });
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "strictbench: %s\n", strictbench::printable(error.what()).c_str());
  }
  return unusable;
}

/// Parses the command line and does what it asks. Returns the exit code.
int run(int argc, char** argv) {
  CLI::App app{
      "StrictBench: proves kernel pairs right to the last bit, times them, and says what got slower."};
  app.name("strictbench");
  app.require_subcommand(1);
  app.set_version_flag("--version", strictbench::runner::version_text, "The commit and the build, and exit");
  strictbench::Action action;
  strictbench::add_list_command(app, action);
  strictbench::add_run_command(app, action);
  strictbench::add_calibrate_command(app, action);
  strictbench::add_ab_command(app, action);
  strictbench::add_table_command(app, action);
  strictbench::add_compare_command(app, action);
  strictbench::add_accept_command(app, action);
  strictbench::add_kernels_command(app, action);
  // An empty value is a variable that was not set, and not the wish for a default.
  const auto not_empty = [](const std::string& value) {
    return value.empty() ? std::string("must not be empty") : std::string();
  };
  for (CLI::App* command : app.get_subcommands({}))
    for (CLI::Option* option : command->get_options())
      if (option->get_items_expected_max() > 0 && option->get_name() != "--filter") option->check(not_empty);
  try {
    if (argc > 1 && argv[1][0] != '-') {
      const std::string wanted = argv[1];
      bool known = false;
      std::string commands;
      for (const CLI::App* command : app.get_subcommands({})) {
        known = known || command->get_name() == wanted;
        commands += " " + command->get_name();
      }
      if (!known)
        throw strictbench::UsageError("no command '" + strictbench::printable(wanted) + "'; there are" +
                                      commands);
    }
    app.parse(argc, argv);
    return action();
  } catch (const CLI::Success& asked) {
    return answer(app, asked);
  } catch (const CLI::ParseError& error) {
    const auto chosen = app.get_subcommands();
    const std::string command = chosen.empty() ? "" : " " + chosen.front()->get_name();
    std::fprintf(stderr, "strictbench: %s (see strictbench%s --help)\n",
                 strictbench::printable(error.what()).c_str(), command.c_str());
  } catch (const std::exception& error) {
    // One line, whatever names from files or the system stand in it.
    std::fprintf(stderr, "strictbench: %s\n", strictbench::printable(error.what()).c_str());
  }
  return unusable;
}

}  // namespace

int main(int argc, char** argv) {
  // A file that may grow no further (ulimit -f) is an error like a full disk, and told like one.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return run(argc, argv);
  } catch (const strictbench::ReaderGone&) {
    return 128 + SIGPIPE;
  }
}
