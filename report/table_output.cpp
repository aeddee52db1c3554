#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>
#include <string>
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

std::string times(double speedup) { return fixed(speedup, speedup < 9.995 ? 2 : speedup < 99.95 ? 1 : 0); }

std::string speedup_cell(const Measured& measured) {
  if (std::isnan(measured.speedup)) return "";
  std::string text = times(measured.speedup) + " x";
  if (std::isnan(measured.speedup_low)) return text;
  return text.append(" (")
      .append(times(measured.speedup_low))
      .append(" to ")
      .append(times(measured.speedup_high))
      .append(")");
}

/// 0.02 is "2 %", 1e-6 is "0.0001 %".
std::string percent(double fraction) {
  std::array<char, 32> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%.3g %%", 100 * fraction);
  return buffer.data();
}

std::string within(double tolerance) {
  return std::isinf(tolerance) ? "within a tolerance not stated" : "within " + percent(tolerance);
}

/// What the checks of a line's variants came to; the gravest wins. `bits` is said of those alone that were
/// held to every bit: "bits; cublas within 2 %".
std::string check_cell(const OperatorTable& group, const TableLine& line) {
  std::map<double, std::string> held_to;  // tolerance, and who was held to it
  for (const std::string& variant : group.variants) {
    const auto found = line.variants.find(variant);
    if (found == line.variants.end() || !found->second.trouble.empty()) continue;
    std::string& names = held_to[found->second.tolerance];
    names += (names.empty() ? "" : ", ") + variant;
  }
  bool all_checked = true;
  for (const auto& [variant, measured] : line.variants) {
    if (measured.trouble.rfind("wrong", 0) == 0) return "FAILED";
    all_checked = all_checked && (measured.checked || !measured.trouble.empty());
  }
  if (!all_checked) return "not stated";
  std::string cell;
  for (const auto& [tolerance, names] : held_to) {
    if (!cell.empty()) cell += "; ";
    cell += tolerance > 0 ? names + " " + within(tolerance) : "bits";
  }
  return cell;
}

std::string control_cell(const TableLine& line) {
  if (!line.control) return "";
  switch (*line.control) {
    case Steadiness::steady:
      return "control: steady";
    case Steadiness::moved:
      return "control: MOVED";
    case Steadiness::unclear:
      break;
  }
  return "control: unclear";
}

/// How many controls an operator has and what became of them; empty where it has none.
std::string control_note(const OperatorTable& group) {
  std::map<Steadiness, int> counts;
  int all = 0;
  for (const TableLine& line : group.lines) {
    if (!line.control) continue;
    ++counts[*line.control];
    ++all;
  }
  if (all == 0) return "";
  std::string note =
      std::to_string(all) + (all == 1 ? " control line" : " control lines") +
      ", where legacy and new run the same code: " + std::to_string(counts[Steadiness::steady]) +
      " steady (all of the interval within " + percent(control_threshold) + " of 1), " +
      std::to_string(counts[Steadiness::moved]) + " MOVED, " + std::to_string(counts[Steadiness::unclear]) +
      " unclear";
  if (counts[Steadiness::moved] > 0) {
    note +=
        ". What moves a control is the machine or the measurement, unless the code is not the same after "
        "all: until it holds still, a gain or loss of that size on the operator's other lines proves "
        "nothing";
  }
  return note;
}

/// The change from legacy to new in percent. Shown for whole calls, the ones that `event` times: there a
/// change is a few percent to some tens, which a factor near 1 hides, while of a kernel that is 5 or 50,000
/// times as fast it would say -80 % or -100 %.
bool shows_change(const OperatorTable& group) {
  const auto has_event = [](const TableLine& line) { return line.timer == "event"; };
  return std::any_of(group.lines.begin(), group.lines.end(), has_event);
}

Grid grid_of(const OperatorTable& group) {
  const bool change = shows_change(group);
  const bool controls = std::any_of(group.lines.begin(), group.lines.end(),
                                    [](const TableLine& line) { return line.control.has_value(); });
  std::vector<Column> columns{{group.op, Align::left, true}, {"timer", Align::left, false}};
  for (const std::string& variant : group.variants) {
    columns.push_back({variant, Align::right, false});
    if (variant != "legacy") columns.push_back({"legacy / " + variant, Align::right, false});
    if (variant == "new" && change) columns.push_back({"change", Align::right, false});
  }
  if (controls) columns.push_back({"verdict", Align::left, false});
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
      if (variant == "new" && change) {
        const bool paired = timed && !std::isnan(found->second.speedup);
        cells.push_back(paired ? readable_change(1 / found->second.speedup) : "");
      }
      if (!trouble.empty()) {
        if (!why.empty()) why += "; ";
        why.append(variant).append(" ").append(trouble);
      }
    }
    if (controls) cells.push_back(control_cell(line));
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
  const auto speedup = [](double value) { return std::isnan(value) ? "" : times(value) + " x"; };
  for (const PublishedLine& line : table.published) {
    const bool measured = !std::isnan(line.measured);
    grid.add({line.name, readable_time(line.published), measured ? readable_time(line.measured) : "",
              measured ? fixed(line.measured / line.published, 3) : "", speedup(line.published_speedup),
              speedup(line.measured_speedup), line.published_on, line.measured_on, line.trouble});
  }
  return grid;
}

/// Who was held to a tolerance, and how near they came; empty where every row was held to bits.
std::string tolerance_note(const SpeedupTable& table) {
  std::string held;
  for (const OperatorTable& group : table.operators) {
    for (const std::string& variant : group.variants) {
      double tolerance = 0;
      double error = no_number;
      for (const TableLine& line : group.lines) {
        const auto found = line.variants.find(variant);
        if (found == line.variants.end()) continue;
        tolerance = std::max(tolerance, found->second.tolerance);
        error = std::fmax(error, found->second.relative_error);
      }
      if (tolerance == 0) continue;
      held += (held.empty() ? "" : ", ") + group.op + " " + variant;
      held += " (" + (std::isnan(error) ? "not stated" : percent(error)) + ")";
    }
  }
  if (held.empty()) return "";
  return "check: bits, where every bit is the oracle's; within, where a relative L2 error is all that is "
         "held to, and no equality. The largest error of each: " +
         held;
}

std::vector<std::string> legend_lines(const SpeedupTable& table) {
  std::set<std::string> timers;
  for (const OperatorTable& group : table.operators) {
    for (const TableLine& line : group.lines) timers.insert(line.timer);
  }
  std::vector<std::string> lines;
  for (const Protocol& protocol : protocols) {
    if (timers.count(std::string(protocol.timer)) == 0) continue;
    lines.push_back("timer " + std::string(protocol.timer) + ": " + std::string(protocol.words));
  }
  if (std::string note = tolerance_note(table); !note.empty()) lines.push_back(std::move(note));
  return lines;
}

constexpr std::string_view published_title =
    "Beside figures published by others (for comparison by eye; no gate, since devices and software differ)";

}  // namespace

void write_table_text(std::ostream& out, const SpeedupTable& table) {
  for (const std::string& line : table.header) out << printable(line) << "\n";
  for (const std::string& line : legend_lines(table)) out << printable(line) << "\n";
  for (const std::string& note : table.notes) out << "note: " << printable(note) << "\n";
  if (table.bad_rows > 0) out << table.bad_rows << " wrong or failed rows, shown without a time\n";
  for (const OperatorTable& group : table.operators) {
    out << "\n";
    grid_of(group).write_text(out);
    if (const std::string note = control_note(group); !note.empty()) out << note << "\n";
  }
  if (table.published.empty()) return;
  out << "\n" << published_title << ":\n";
  published_grid(table).write_text(out);
}

void write_table_markdown(std::ostream& out, const SpeedupTable& table) {
  for (const std::string& line : table.header) out << "- " << markdown_text(line) << "\n";
  for (const std::string& line : legend_lines(table)) out << "- " << markdown_text(line) << "\n";
  for (const std::string& note : table.notes) out << "- note: " << markdown_text(note) << "\n";
  if (table.bad_rows > 0)
    out << "- **" << table.bad_rows << " wrong or failed rows**, shown without a time\n";
  for (const OperatorTable& group : table.operators) {
    out << "\n";
    grid_of(group).write_markdown(out);
    if (const std::string note = control_note(group); !note.empty())
      out << "\n" << markdown_text(note) << "\n";
  }
  if (table.published.empty()) return;
  out << "\n" << published_title << ":\n\n";
  published_grid(table).write_markdown(out);
}

}  // namespace strictbench
