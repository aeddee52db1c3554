/// strictbench: the command line. Subcommands live in files of their own; this one parses and reports errors.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "bench/strictbench/commands.h"
#include "report/commands.h"
#include "report/error.h"

int main(int argc, char** argv) {
  constexpr int unusable = 2;  // exit code for unusable input or command line
  CLI::App app{"StrictBench: proves kernel pairs right to the last bit, times them, and says what got slower."};
  app.name("strictbench");
  app.require_subcommand(1);
  strictbench::Action action;
  strictbench::add_list_command(app, action);
  strictbench::add_run_command(app, action);
  strictbench::add_calibrate_command(app, action);
  strictbench::add_ab_command(app, action);
  strictbench::add_table_command(app, action);
  strictbench::add_compare_command(app, action);
  strictbench::add_accept_command(app, action);
  try {
    app.parse(argc, argv);
    return action();
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "strictbench: %s (see strictbench --help)\n", error.what());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "strictbench: %s\n", error.what());
  }
  return unusable;
}
