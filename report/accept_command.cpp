/// strictbench accept: turns results into a committed baseline.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "report/accept.h"
#include "report/baselines_folder.h"
#include "report/commands.h"
#include "report/compare.h"
#include "report/compare_output.h"
#include "report/error.h"
#include "report/name_pattern.h"
#include "report/neighbours.h"
#include "report/output_file.h"
#include "report/text.h"

namespace strictbench {
namespace {

namespace fs = std::filesystem;

struct Arguments {
  std::vector<std::string> results;
  std::string name = "main";
  std::string baselines;
  std::string filter;
  bool force = false;
};

// All of them stand in one line, which should still be read.
constexpr std::size_t most_objections = 5;
constexpr std::size_t longest_objection = 160;  // columns: a row's name and what is said of it, as a rule

void check_name(const std::string& name) {
  const bool harmless =
      !name.empty() && name.front() != '.' &&
      name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") ==
          std::string::npos;
  if (!harmless) throw UsageError("--name " + printable(name) + ": use letters, digits, '.', '_' and '-'");
  // `table` shows published.json as the figures of others.
  if (name == "published") throw UsageError("--name published: that file holds figures published by others");
}

void refuse_with(const std::vector<std::string>& reasons) {
  if (reasons.empty()) return;
  std::string text = "not accepted: ";
  for (std::size_t i = 0; i < reasons.size() && i < most_objections; ++i) {
    if (i > 0) text += "; ";
    text += shortened(printable(reasons[i]), longest_objection);
  }
  if (reasons.size() > most_objections) {
    text += "; and " + counted(reasons.size() - most_objections, "more reason");
  }
  throw UsageError(text);
}

fs::path folder_of_baselines(const std::string& given) {
  if (!given.empty()) return given;
  const auto found = baselines_above(fs::current_path());
  if (!found) {
    throw UsageError(
        "no folder named baselines here or above: run accept in the source tree, or name one with "
        "--baselines");
  }
  return *found;
}

void print_changes(std::ostream& out, const std::string& old_file, const Side& side) {
  try {
    const Side old = read_side({old_file}, "real_time");
    for (const Evidence& row : old.benchmarks)
      if (side.find(row.name) == nullptr) out << "no longer in the baseline: " << printable(row.name) << "\n";
    out << "against the baseline that this replaces: ";
    write_text(out, compare(old, side, CompareOptions{}), stdout_takes_colour());
  } catch (const UsageError& error) {
    out << "the baseline that this replaces cannot be compared with: " << printable(error.what()) << "\n";
  }
}

/// The results by `metric`, of the rows that the filter finds.
Side read_results(const Arguments& arguments, const std::string& metric) {
  Side side = read_side(arguments.results, metric);
  if (arguments.filter.empty()) return side;
  refuse_with(broken_rows(side));  // what is left out of the baseline must be right all the same
  const NamePattern pattern("--filter", arguments.filter);
  side.keep([&](const std::string& name) { return pattern.found_in(name); });
  if (side.benchmarks.empty())
    throw UsageError("--filter " + printable(arguments.filter) + ": the results have no such row");
  return side;
}

int run(const Arguments& arguments) {
  check_name(arguments.name);
  const Side real = read_results(arguments, "real_time");
  refuse_with(objections(real));
  const Side cpu = read_results(arguments, "cpu_time");
  const std::string device = device_folder(only_device(real));
  if (device.empty())
    throw UsageError("the device's name, " + printable(only_device(real)) + ", makes no folder name");
  const fs::path folder = folder_of_baselines(arguments.baselines) / device;
  const fs::path file = folder / (arguments.name + ".json");
  std::error_code error;
  const bool replaces = fs::exists(file, error);
  if (replaces && !arguments.force) {
    throw UsageError(printable(file.string()) + ": exists; give another --name, or --force to replace it");
  }
  std::vector<std::string> notes;
  const std::vector<Neighbour> neighbours = neighbours_of(file, notes);
  refuse_with(neighbour_objections(real, neighbours));
  std::ranges::move(neighbour_notes(real, neighbours), std::back_inserter(notes));
  fs::create_directories(folder, error);
  if (error) throw UsageError(printable(folder.string()) + ": cannot be made: " + error.message());
  // The changes are told against the old file, which the new one is about to replace.
  if (replaces) write_stdout([&](std::ostream& out) { print_changes(out, file.string(), real); });
  write_file(file.string(), [&](std::ostream& out) { write_baseline(out, real, cpu); });
  std::size_t rows = 0;
  for (const Evidence& evidence : real.benchmarks) rows += evidence.has_number() ? 1 : 0;
  write_stdout([&](std::ostream& out) {
    out << "accepted " << counted(rows, "row") << " of " << counted(real.sessions.size(), "session") << " as "
        << printable(file.string()) << "\n";
    if (rows < real.benchmarks.size()) {
      out << counted(real.benchmarks.size() - rows, "row was skipped and is not in it",
                     "rows were skipped and are not in it")
          << "\n";
    }
    for (const std::string& note : notes) out << "note: " << printable(note) << "\n";
  });
  return 0;
}

}  // namespace

void add_accept_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("accept", "Turn results into a committed baseline");
  command->footer(
      "All files of baselines/<device>/ count together, as sessions of one baseline: bench.sh compares with\n"
      "every one of them. So a second --name adds rows or sessions to the first, and a changed kernel is\n"
      "accepted by replacing (--force) the file that holds its rows.");
  const auto arguments = std::make_shared<Arguments>();
  command->add_option("results", arguments->results, "Result folders of strictbench run")
      ->required()
      ->type_name("RESULT");
  command->add_option("--name", arguments->name, "Name of the baseline (default main)");
  command
      ->add_option("--baselines", arguments->baselines,
                   "Where baselines stand (default: baselines of this source tree)")
      ->type_name("DIR");
  command->add_option("--filter", arguments->filter,
                      "Only rows in whose names this regular expression is found (default: all)");
  command->add_flag("--force", arguments->force, "Replace a baseline of the same name");
  command->callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace strictbench
