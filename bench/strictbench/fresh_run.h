/// What comes before a run: its options, its record and its result folder.
#pragma once
#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "bench/strictbench/executables.h"
#include "bench/strictbench/process.h"
#include "bench/strictbench/run_record.h"

namespace strictbench::runner {

/// The options that every command that measures takes.
class RunArguments {
 public:
  RunOptions options;
  std::string out;
  bool wait = false;  ///< for a device that another command measures on

  /// Adds them to `command`; `rounds` says how many processes there are where --processes is not given.
  void add_to(CLI::App& command, const std::string& rounds);

  bool processes_given() const { return processes_->count() > 0; }
  /// The name of the first option that stands on the command line; empty where none does.
  std::string first_given() const;
  /// Throws UsageError where a value makes no sense or --out exists.
  void require_usable() const;

 private:
  const CLI::Option* processes_ = nullptr;
  std::vector<const CLI::Option*> given_;
};

/// The words of our own command line; nobody hands them to a subcommand.
std::vector<std::string> own_command_line();

/// A record of what `executables` select, with nothing planned yet. `options.executables` names their folder.
/// Throws UsageError where one of them is a debug build that was not allowed.
RunRecord fresh_record(const RunOptions& options, const std::vector<Executable>& executables,
                       StopSignals& signals);

/// Creates the result folder: `out`, or where that is empty `name` in the folder `results` of the source tree
/// that we stand in. Throws UsageError, with nothing created, where it cannot.
std::filesystem::path create_folder(const std::string& out, const std::string& name);

}  // namespace strictbench::runner
