#include "report/side_part.h"

#include <limits>

namespace strictbench {

Side part_of(const Side& whole, std::span<const PickedRow> rows, std::span<const std::uint32_t> sources) {
  constexpr std::uint32_t absent = std::numeric_limits<std::uint32_t>::max();
  Side part;
  part.sessions = whole.sessions;
  std::vector<std::uint32_t> place(whole.sources.size(), absent);
  for (const std::uint32_t source : sources) {
    place[source] = static_cast<std::uint32_t>(part.sources.size());
    part.sources.push_back(whole.sources[source]);
  }
  for (const PickedRow& row : rows) {
    const Evidence& from = *row.evidence;
    Evidence& to = part.find_or_add(row.name);
    to.unit_name = from.unit_name;
    to.unit = from.unit;
    to.unit_known = from.unit_known;
    to.units_differ = from.units_differ;
    to.published = from.published;
    to.checked = from.checked;
    to.tolerance = from.tolerance;
    to.relative_error = from.relative_error;
    to.control = from.control;
    for (const ProcessRecord& process : from.processes) {
      if (place[process.source] == absent) continue;
      to.processes.push_back(process);
      to.processes.back().source = place[process.source];
      part.rows_read += process.samples.size() + process.suspect;
      part.suspect += process.suspect;
    }
  }
  part.with_metric = part.rows_read;
  return part;
}

}  // namespace strictbench
