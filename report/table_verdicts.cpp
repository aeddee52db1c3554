#include <string_view>
#include <unordered_map>

#include "report/compare_output.h"
#include "report/row_name.h"
#include "report/table.h"
#include "report/text.h"

namespace strictbench {

void add_verdicts(SpeedupTable& table, const Comparison& comparison, const std::string& baseline) {
  table.judged = true;
  std::unordered_map<std::string_view, const ComparedRow*> rows;
  for (const ComparedRow& row : comparison.rows) rows.emplace(without_suffix(row.name), &row);
  for (OperatorTable& group : table.operators) {
    for (TableLine& line : group.lines) {
      for (auto& [variant, measured] : line.variants) {
        const std::string shape = line.shape.empty() ? "" : line.shape + "/";
        const auto found = rows.find(group.op + "/" + variant + "/" + shape + "timer:" + line.timer);
        if (found == rows.end()) continue;
        measured.verdict = name_of(found->second->verdict);
        measured.ratio = found->second->ratio;
      }
    }
  }
  table.header.push_back("baseline: " + baseline + "; " + headline(comparison) + "; threshold " +
                         fixed(100 * comparison.threshold, 2) + " %, error of the whole table " +
                         fixed(100 * comparison.alpha, 2) + " %");
  for (const std::string& note : comparison.notes)
    table.notes.push_back(note.starts_with("baseline: ") ? note : "baseline: " + note);
  // Rows that were not measured stand in no line.
  constexpr std::size_t most_named = 20;
  std::size_t missing = 0;
  for (const ComparedRow& row : comparison.rows) {
    if (row.verdict != Verdict::missing || ++missing > most_named) continue;
    table.notes.push_back("missing: " + row.name + (row.reason.empty() ? "" : ": " + row.reason));
  }
  if (missing > most_named) table.notes.push_back("missing: " + counted(missing - most_named, "more row"));
}

}  // namespace strictbench
