#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "report/grid.h"
#include "report/table.h"
#include "report/table_cells.h"
#include "report/text.h"

namespace strictbench {
namespace {

/// The change from legacy to new in percent. Shown for whole calls, the ones that `event` times: there a
/// change is a few percent to some tens, which a factor near 1 hides, while of a kernel that is 5 or 50,000
/// times as fast it would say -80 % or -100 %.
bool shows_change(const OperatorTable& group) {
  const auto has_event = [](const TableLine& line) { return line.timer == "event"; };
  return std::any_of(group.lines.begin(), group.lines.end(), has_event);
}

/// The first `most` lines.
Grid grid_of(const SpeedupTable& table, const OperatorTable& group, std::size_t most = SIZE_MAX) {
  const bool change = shows_change(group);
  const bool controls = std::any_of(group.lines.begin(), group.lines.end(),
                                    [](const TableLine& line) { return line.control.has_value(); });
  std::vector<Column> columns{{group.op, Align::left, true}, {"timer", Align::left, false}};
  for (const std::string& variant : group.variants) {
    columns.push_back({variant, Align::right, false});
    if (variant != "legacy")
      columns.push_back({is_bar(variant) ? variant + " / new" : "legacy / " + variant, Align::right, false});
    if (variant == "new" && change) columns.push_back({"change", Align::right, false});
    if (shows_floor(variant)) columns.push_back({"floor / " + variant, Align::right, false});
  }
  if (controls) columns.push_back({table.judged ? "control" : "verdict", Align::left, false});
  if (table.judged) columns.push_back({"verdict", Align::left, false});
  columns.push_back({"check", Align::left, false});
  columns.push_back({"why", Align::left, false});
  Grid grid(std::move(columns));
  for (const TableLine& line : group.lines) {
    if (most-- == 0) break;
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
      if (variant != "legacy") {
        const Measured measured = stands ? found->second : Measured{};
        cells.push_back(is_bar(variant)
                            ? ratio_cell(measured.over_new, measured.over_new_low, measured.over_new_high)
                            : ratio_cell(measured.speedup, measured.speedup_low, measured.speedup_high));
      }
      if (variant == "new" && change) {
        const bool paired = timed && !std::isnan(found->second.speedup);
        cells.push_back(paired ? readable_change(1 / found->second.speedup) : "");
      }
      if (shows_floor(variant)) cells.push_back(floor_cell(stands ? found->second : Measured{}));
      if (!trouble.empty()) {
        if (!why.empty()) why += "; ";
        why.append(variant).append(" ").append(trouble);
      }
    }
    if (controls) cells.push_back(line.control ? "control: " + control_word(line) : "");
    if (table.judged) cells.push_back(verdict_cell(group, line));
    cells.push_back(check_cell(group, line));
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
             {"published speedup", Align::right, false},
             {"measured speedup", Align::right, false},
             {"published on", Align::left, false},
             {"measured on", Align::left, false},
             {"why", Align::left, false}});
  const auto speedup = [](double value) { return std::isnan(value) ? "" : speedup_text(value); };
  for (const PublishedLine& line : table.published) {
    const bool measured = !std::isnan(line.measured);
    grid.add({line.name, readable_time(line.published), measured ? readable_time(line.measured) : "",
              measured ? fixed(line.measured / line.published, 3) : "", speedup(line.published_speedup),
              speedup(line.measured_speedup), line.published_on, line.measured_on, line.trouble});
  }
  return grid;
}

/// What the figures leave out, and who was held to what.
std::vector<std::string> notes_above(const SpeedupTable& table) {
  std::vector<std::string> lines;
  for (std::string line : {excluded_line(table), floor_line(table), tolerance_note(table)}) {
    if (!line.empty()) lines.push_back(std::move(line));
  }
  return lines;
}

// GitHub refuses a comment or summary that is too long.
constexpr std::size_t most_markdown_lines = 200;

constexpr std::string_view published_title =
    "Beside figures published by others (for comparison by eye; no gate, since devices and software differ)";

}  // namespace

void write_table_text(std::ostream& out, const SpeedupTable& table) {
  for (const std::string& line : table.header) out << printable(line) << "\n";
  for (const std::string& line : timer_lines(table)) out << printable(line) << "\n";
  for (const std::string& line : notes_above(table)) out << printable(line) << "\n";
  for (const std::string& note : table.notes) out << "note: " << printable(note) << "\n";
  if (table.bad_rows > 0) out << counted(table.bad_rows, "wrong or failed row") << ", shown without a time\n";
  for (const OperatorTable& group : table.operators) {
    out << "\n";
    grid_of(table, group).write_text(out);
    if (const std::string note = control_note(group); !note.empty()) out << note << "\n";
  }
  if (table.published.empty()) return;
  out << "\n" << published_title << ":\n";
  published_grid(table).write_text(out);
}

void write_table_markdown(std::ostream& out, const SpeedupTable& table) {
  for (const std::string& line : table.header) out << "- " << markdown_text(line) << "\n";
  out << "- " << markdown_text(protocol_line(table)) << "\n";
  for (const std::string& line : notes_above(table)) out << "- " << markdown_text(line) << "\n";
  for (const std::string& note : table.notes) out << "- note: " << markdown_text(note) << "\n";
  if (table.bad_rows > 0)
    out << "- **" << counted(table.bad_rows, "wrong or failed row") << "**, shown without a time\n";
  for (const OperatorTable& group : table.operators) {
    out << "\n";
    grid_of(table, group, most_markdown_lines).write_markdown(out);
    if (group.lines.size() > most_markdown_lines)
      out << "\n" << counted(group.lines.size() - most_markdown_lines, "more line") << ".\n";
    if (const std::string note = control_note(group); !note.empty())
      out << "\n" << markdown_text(note) << "\n";
  }
  if (table.published.empty()) return;
  out << "\n" << published_title << ":\n\n";
  published_grid(table).write_markdown(out);
}

std::string headline(const SpeedupTable& table) {
  std::size_t lines = 0;
  for (const OperatorTable& group : table.operators) lines += group.lines.size();
  std::string text = counted(table.operators.size(), "operator") + ", " + counted(lines, "line");
  if (table.bad_rows > 0) text += ", " + counted(table.bad_rows, "wrong or failed row");
  return text;
}

}  // namespace strictbench
