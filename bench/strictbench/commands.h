/// The subcommands of `strictbench` that start benchmark processes.
#pragma once
#include "report/commands.h"

namespace strictbench {

void add_list_command(CLI::App& app, Action& action);
void add_run_command(CLI::App& app, Action& action);
void add_calibrate_command(CLI::App& app, Action& action);
void add_ab_command(CLI::App& app, Action& action);

}  // namespace strictbench
