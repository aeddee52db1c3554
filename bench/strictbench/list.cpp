/// `strictbench list`: what can be measured.
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>

#include "bench/strictbench/commands.h"
#include "bench/strictbench/executables.h"
#include "bench/strictbench/process.h"
#include "report/error.h"
#include "report/name_pattern.h"
#include "report/output_file.h"
#include "report/text.h"

namespace strictbench::runner {
namespace {

struct ListArguments {
  Selection selection;
  bool all = false;
  std::string format = "text";
  std::string executables;
};

/// What --all shows: every timer of the cases that the filter finds, gating or not.
void select_every_timer(std::vector<Executable>& executables, const std::string& filter) {
  // Google Benchmark's reading of a filter: extended regular expression, a leading minus turns it over.
  const bool inverted = filter.starts_with('-');
  std::string text = inverted ? filter.substr(1) : filter;
  if (text == "all") text = ".";
  const NamePattern pattern("--filter", text.empty() ? "." : text);
  for (Executable& executable : executables) {
    for (Case& one : executable.cases) {
      one.selected = pattern.found_in(one.name) != inverted;
    }
  }
}

std::string json_text(const std::vector<Executable>& executables) {
  nlohmann::ordered_json operators = nlohmann::ordered_json::array();
  for (const Executable& executable : executables) {
    nlohmann::ordered_json json = executable.description;
    nlohmann::ordered_json cases = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < executable.cases.size(); ++i) {
      if (executable.cases[i].selected) cases.push_back(json["cases"][i]);
    }
    if (cases.empty()) continue;
    json["cases"] = std::move(cases);
    operators.push_back(std::move(json));
  }
  return nlohmann::ordered_json{{"operators", operators}}.dump(
             2, ' ', true, nlohmann::ordered_json::error_handler_t::replace) +
         "\n";
}

std::string bytes_text(double bytes) {
  if (bytes <= 0) return "";
  constexpr std::array units{"B", "kB", "MB", "GB"};
  std::size_t unit = 0;
  for (; bytes >= 1000 && unit + 1 < units.size(); ++unit) bytes /= 1000;
  char text[32];
  std::snprintf(text, sizeof text, bytes < 10 && unit > 0 ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
  return text;
}

void add_once(std::vector<std::string>& words, const std::string& word) {
  if (std::ranges::find(words, word) == words.end()) words.push_back(word);
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

/// One line of the table: a shape with what is measured of it.
struct ShapeLine {
  std::string shape;
  std::vector<std::string> variants, timers;
  double memory = 0;
};

std::string operator_text(const Executable& executable) {
  std::vector<ShapeLine> lines;
  std::size_t cases = 0;
  for (const Case& one : executable.cases) {
    if (!one.selected) continue;
    ++cases;
    const std::string shape = printable(one.shape);
    auto line = std::ranges::find(lines, shape, &ShapeLine::shape);
    if (line == lines.end()) line = lines.insert(lines.end(), ShapeLine{shape, {}, {}, 0});
    add_once(line->variants, printable(one.variant));
    add_once(line->timers, printable(one.timer) + (one.gating ? "*" : ""));
    line->memory = std::max(line->memory, one.memory);
  }
  if (lines.empty()) return {};
  std::array<std::size_t, 3> widths{5, 8, 6};
  for (const ShapeLine& line : lines) {
    widths = {std::max(widths[0], line.shape.size()), std::max(widths[1], joined(line.variants).size()),
              std::max(widths[2], joined(line.timers).size())};
  }
  const auto row = [&](std::array<std::string, 4> cells) {
    for (std::size_t i = 0; i < widths.size(); ++i) cells[i].resize(widths[i] + 2, ' ');
    std::string text = "  " + cells[0] + cells[1] + cells[2] + cells[3];
    text.erase(text.find_last_not_of(' ') + 1);
    return text + "\n";
  };
  const std::string& device = executable.gpu_name.empty() ? executable.device : executable.gpu_name;
  std::string text =
      printable(executable.operator_name + " on " + device) + ", " + counted(cases, "case") + "\n";
  text += row({"shape", "variants", "timers", "memory"});
  for (const ShapeLine& line : lines) {
    text += row({line.shape, joined(line.variants), joined(line.timers), bytes_text(line.memory)});
  }
  return text;
}

std::string text_of(const std::vector<Executable>& executables, bool all) {
  std::string text;
  std::size_t shown = 0;
  std::size_t every = 0;
  for (const Executable& executable : executables) {
    const std::string part = operator_text(executable);
    if (!part.empty()) text += part + "\n";
    shown += executable.selected_names().size();
    every += executable.cases.size();
  }
  text += std::to_string(shown) + " of " + counted(every, "case") + "; * marks the gating timer";
  if (!all && shown < every) text += "; every timer: strictbench list --all";
  return text + "\n";
}

int list(const ListArguments& arguments) {
  if (!arguments.selection.device.empty()) require_device(arguments.selection.device);
  StopSignals signals;
  try {
    std::vector<Executable> executables = find_executables(
        arguments.executables.empty() ? own_folder() : std::filesystem::path(arguments.executables),
        arguments.selection, signals);
    if (arguments.all) select_every_timer(executables, arguments.selection.filter);
    require_selected(executables, arguments.selection.filter);
    const std::string text =
        arguments.format == "json" ? json_text(executables) : text_of(executables, arguments.all);
    write_stdout([&](std::ostream& out) { out << text; });
  } catch (const Stopped& stopped) {
    return stopped.exit_code();
  }
  return 0;
}

}  // namespace
}  // namespace strictbench::runner

namespace strictbench {

void add_list_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("list", "Show operators, variants, shapes and timers");
  auto arguments = std::make_shared<runner::ListArguments>();
  command->add_option("--filter", arguments->selection.filter,
                      "Only cases in whose names this regular expression is found");
  command->add_option("--device", arguments->selection.device,
                      "cpu, cuda or the index of a GPU (default: GPU 0 where there is one)");
  command->add_flag("--all", arguments->all, "Every timer, not the gating ones alone");
  command->add_option("--format", arguments->format, "text or json (default: text)")
      ->check(CLI::IsMember({"text", "json"}));
  // For tests, which have benchmarks of their own: not in the help.
  command->add_option("--executables", arguments->executables)->group("");
  command->callback([=, &action] { action = [=] { return runner::list(*arguments); }; });
}

}  // namespace strictbench
