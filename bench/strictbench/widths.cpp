#include "bench/strictbench/widths.h"

#include <cstdint>
#include <vector>

#include "bench/strictbench/adaptive.h"
#include "report/judge.h"
#include "report/row_evidence.h"
#include "report/row_name.h"

namespace strictbench::runner {

std::map<std::string, double> half_widths_of(const Side& side) {
  std::vector<std::string> names;
  std::vector<RowSample> rows;
  std::map<std::string, std::size_t, std::less<>> groups;
  for (const Evidence& evidence : side.benchmarks) {
    // What a comparison would call too thin has no width: more processes are asked for.
    if (!evidence.has_number() || too_thin(evidence)) continue;
    std::vector<std::uint32_t> sessions;
    RowSample row;
    row.group = groups.try_emplace(std::string(timer_of(evidence.name)), groups.size()).first->second;
    row.baseline = row.contender = sample_of(evidence, 1, sessions);
    names.emplace_back(without_suffix(evidence.name));
    rows.push_back(std::move(row));
  }
  const TableIntervals table = judge_table(rows, evidence_alpha, evidence_threshold);
  std::map<std::string, double> widths;
  for (std::size_t i = 0; i < rows.size(); ++i) widths[names[i]] = table.rows[i].half_width;
  return widths;
}

}  // namespace strictbench::runner
