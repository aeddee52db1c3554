#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string_view>

#include "report/grid.h"
#include "report/row_name.h"
#include "report/table.h"
#include "report/text.h"

namespace strictbench {
namespace {

struct Protocol {
  std::string_view timer;
  std::string_view words;
};
constexpr std::array<Protocol, 5> protocols{{
    {"graph", "mean of back-to-back launches replayed as a CUDA graph"},
    {"cold", "one launch, caches flushed before it, launch cost hidden"},
    {"wall", "host clock over back-to-back calls and one synchronize, divided by the calls"},
    {"event", "two events around one call of many launches"},
    {"cpu", "host clock over back-to-back calls on the CPU, divided by the calls"},
}};

std::string speedup_cell(const Measured& measured) {
  if (std::isnan(measured.speedup)) return "";
  const auto times = [](double speedup) {
    return fixed(speedup, speedup < 9.995 ? 2 : speedup < 99.95 ? 1 : 0);
  };
  std::string text = times(measured.speedup) + " x";
  if (std::isnan(measured.speedup_low)) return text;
  return text.append(" (")
      .append(times(measured.speedup_low))
      .append(" to ")
      .append(times(measured.speedup_high))
      .append(")");
}

/// What the checks of a line's variants came to; the gravest wins.
std::string check_cell(const TableLine& line) {
  bool timed = false;
  bool all_checked = true;
  for (const auto& [variant, measured] : line.variants) {
    if (measured.trouble.rfind("wrong", 0) == 0) return "FAILED";
    if (!measured.trouble.empty()) continue;
    timed = true;
    all_checked = all_checked && measured.checked;
  }
  if (!timed) return "";
  return all_checked ? "passed" : "not stated";
}

Grid grid_of(const OperatorTable& group) {
  std::vector<Column> columns{{group.op, Align::left, true}, {"timer", Align::left, false}};
  for (const std::string& variant : group.variants) {
    columns.push_back({variant, Align::right, false});
    if (variant != "legacy") columns.push_back({"legacy / " + variant, Align::right, false});
  }
  columns.push_back({"check", Align::left, false});
  columns.push_back({"why", Align::left, false});
  Grid grid(std::move(columns));
  for (const TableLine& line : group.lines) {
    std::vector<std::string> cells{line.shape, line.timer};
    std::string why;
    for (const std::string& variant : group.variants) {
      const auto found = line.variants.find(variant);
      const bool stands = found != line.variants.end();
      const bool timed = stands && !std::isnan(found->second.time);
      const std::string trouble = stands ? found->second.trouble : "";
      cells.push_back(timed    ? readable_time(found->second.time)
                      : stands ? trouble.substr(0, trouble.find(':'))
                               : "");
      if (variant != "legacy") cells.push_back(timed ? speedup_cell(found->second) : "");
      if (!trouble.empty()) {
        if (!why.empty()) why += "; ";
        why.append(variant).append(" ").append(trouble);
      }
    }
    cells.push_back(check_cell(line));
    cells.push_back(why);
    grid.add(std::move(cells));
  }
  return grid;
}

Grid published_grid(const SpeedupTable& table) {
  Grid grid({{"row", Align::left, true},
             {"published", Align::right, false},
             {"measured", Align::right, false},
             {"measured / published", Align::right, false},
             {"published on", Align::left, false},
             {"measured on", Align::left, false},
             {"why", Align::left, false}});
  for (const PublishedLine& line : table.published) {
    const bool measured = !std::isnan(line.measured);
    grid.add({line.name, readable_time(line.published), measured ? readable_time(line.measured) : "",
              measured ? fixed(line.measured / line.published, 3) : "", line.published_on, line.measured_on,
              line.trouble});
  }
  return grid;
}

std::vector<std::string> protocol_lines(const SpeedupTable& table) {
  std::set<std::string> timers;
  for (const OperatorTable& group : table.operators) {
    for (const TableLine& line : group.lines) timers.insert(line.timer);
  }
  std::vector<std::string> lines;
  for (const Protocol& protocol : protocols) {
    if (timers.count(std::string(protocol.timer)) == 0) continue;
    lines.push_back("timer " + std::string(protocol.timer) + ": " + std::string(protocol.words));
  }
  return lines;
}

constexpr std::string_view published_title =
    "Beside figures published by others (for comparison by eye; no gate, since devices and software differ)";

}  // namespace

void write_table_text(std::ostream& out, const SpeedupTable& table) {
  for (const std::string& line : table.header) out << printable(line) << "\n";
  for (const std::string& line : protocol_lines(table)) out << printable(line) << "\n";
  for (const std::string& note : table.notes) out << "note: " << printable(note) << "\n";
  if (table.bad_rows > 0) out << table.bad_rows << " wrong or failed rows, shown without a time\n";
  for (const OperatorTable& group : table.operators) {
    out << "\n";
    grid_of(group).write_text(out);
  }
  if (table.published.empty()) return;
  out << "\n" << published_title << ":\n";
  published_grid(table).write_text(out);
}

void write_table_markdown(std::ostream& out, const SpeedupTable& table) {
  for (const std::string& line : table.header) out << "- " << markdown_text(line) << "\n";
  for (const std::string& line : protocol_lines(table)) out << "- " << markdown_text(line) << "\n";
  for (const std::string& note : table.notes) out << "- note: " << markdown_text(note) << "\n";
  if (table.bad_rows > 0)
    out << "- **" << table.bad_rows << " wrong or failed rows**, shown without a time\n";
  for (const OperatorTable& group : table.operators) {
    out << "\n";
    grid_of(group).write_markdown(out);
  }
  if (table.published.empty()) return;
  out << "\n" << published_title << ":\n\n";
  published_grid(table).write_markdown(out);
}

}  // namespace strictbench
