/// The subcommands of `strictbench` that read files only.
#pragma once
#include <CLI/CLI.hpp>
#include <functional>

namespace strictbench {

/// What a parsed command line does; returns the process's exit code. Throws UsageError for exit code 2.
using Action = std::function<int()>;

/// Each adds one subcommand to `app`; parsing that subcommand sets `action`.
void add_compare_command(CLI::App& app, Action& action);
void add_table_command(CLI::App& app, Action& action);
void add_accept_command(CLI::App& app, Action& action);
void add_kernels_command(CLI::App& app, Action& action);

}  // namespace strictbench
