#include <algorithm>
#include <array>
#include <cmath>

#include "report/compare_output.h"
#include "report/text.h"

namespace strictbench {
namespace {

// Longer tables show what matters; the JSON form has every row.
constexpr std::size_t most_quiet_rows = 100;
constexpr std::size_t most_rows_of_a_verdict = 1000;
constexpr std::size_t longest_name = 140;

const char* colour_of(Verdict verdict) {
  switch (exit_code_of(verdict)) {
    case 1:
      return "\x1b[31m";
    case 3:
      return "\x1b[33m";
    default:
      return verdict == Verdict::faster ? "\x1b[32m" : "";
  }
}

bool is_quiet(Verdict verdict) { return verdict == Verdict::same || verdict == Verdict::skipped; }

std::string change_with_interval(const ComparedRow& row) {
  if (std::isnan(row.ratio)) return "";
  std::string text = pad_left(readable_change(row.ratio), 8);
  text.append("  [").append(readable_change(row.ratio_low));
  return text.append(" .. ").append(readable_change(row.ratio_high)).append("]");
}

using Cells = std::array<std::string, 6>;

Cells cells_of(const ComparedRow& row) {
  return {std::string(name_of(row.verdict)),   printable(row.name),       readable(row.baseline.median, row),
          readable(row.contender.median, row), change_with_interval(row), printable(row.reason)};
}

void write_rows(std::ostream& out, const std::vector<const ComparedRow*>& rows, bool colour) {
  std::vector<Cells> table{{"verdict", "row", "baseline", "contender", "change", "why"}};
  for (const ComparedRow* row : rows) table.push_back(cells_of(*row));
  std::array<std::size_t, 5> widths{};
  for (const Cells& cells : table) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], std::min(columns_of(cells[i]), longest_name));
    }
  }
  for (std::size_t line = 0; line < table.size(); ++line) {
    const Cells& cells = table[line];
    const char* paint = colour && line > 0 ? colour_of(rows[line - 1]->verdict) : "";
    std::string text = paint;
    text.append(pad_right(cells[0], widths[0])).append(*paint != 0 ? "\x1b[0m" : "");
    text.append("  ").append(pad_right(cells[1], widths[1]));
    text.append("  ").append(pad_left(cells[2], widths[2]));
    text.append("  ").append(pad_left(cells[3], widths[3]));
    text.append("  ").append(pad_right(cells[4], widths[4]));
    text.append("  ").append(cells[5]);
    text.erase(text.find_last_not_of(' ') + 1);
    out << text << "\n";
  }
}

}  // namespace

std::string readable(double value, const ComparedRow& row) {
  if (std::isnan(value)) return "-";
  if (row.unit == Unit::time) return readable_time(value);
  std::string text = readable_number(value);
  if (!row.unit_name.empty())
    text += std::string(row.unit == Unit::rate ? "" : " ").append(printable(row.unit_name));
  return text;
}

std::string headline(const Comparison& comparison) {
  std::string text(comparison.verdict());
  const char* separator = ": ";
  if (comparison.failed_unseen()) {
    text.append(separator).append(process_failed_words);
    separator = ", ";
  }
  for (const Verdict verdict : all_verdicts) {
    const std::size_t count = comparison.count(verdict);
    if (count == 0) continue;
    text.append(separator).append(std::to_string(count)).append(" ");
    text += name_of(verdict);
    separator = ", ";
  }
  if (comparison.rows.empty()) text += ": no rows to compare";
  return text;
}

void write_text(std::ostream& out, const Comparison& comparison, bool colour) {
  const int code = comparison.exit_code();
  const char* paint = !colour ? "" : code == 0 ? "\x1b[1;32m" : code == 1 ? "\x1b[1;31m" : "\x1b[1;33m";
  out << paint << headline(comparison) << (colour ? "\x1b[0m" : "") << "\n";
  out << "threshold " << fixed(100 * comparison.threshold, 2) << " %, error of the whole table "
      << fixed(100 * comparison.alpha, 2) << " %, " << printable(comparison.metric) << "\n";
  for (const std::string& note : comparison.notes) out << "note: " << printable(note) << "\n";
  for (const bool quiet : {false, true}) {
    std::vector<const ComparedRow*> rows;
    std::size_t hidden = 0;
    for (const Verdict verdict : all_verdicts) {
      if (is_quiet(verdict) != quiet) continue;
      const std::size_t limit =
          quiet ? (comparison.rows.size() <= most_quiet_rows ? most_quiet_rows : 0) : most_rows_of_a_verdict;
      hidden += comparison.count(verdict) - std::min(comparison.count(verdict), limit);
      std::size_t shown = 0;
      for (const ComparedRow& row : comparison.rows) {
        if (row.verdict == verdict && shown < limit) {
          rows.push_back(&row);
          ++shown;
        }
      }
    }
    if (!quiet) {
      // The largest change first, among rows of one verdict.
      std::stable_sort(rows.begin(), rows.end(), [](const ComparedRow* a, const ComparedRow* b) {
        if (a->verdict != b->verdict) return a->verdict < b->verdict;
        return std::abs(std::log(a->ratio)) > std::abs(std::log(b->ratio));
      });
    }
    if (rows.empty() && hidden == 0) continue;
    out << "\n";
    if (!rows.empty()) write_rows(out, rows, colour);
    if (hidden > 0) {
      out << (quiet ? counted(hidden, "row the same or skipped", "rows the same or skipped")
                    : counted(hidden, "more row"))
          << "; --format json lists every row\n";
    }
  }
}

}  // namespace strictbench
