#include <cmath>
#include <nlohmann/json.hpp>

#include "report/compare_output.h"

namespace strictbench {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json side(const SideFigures& figures) {
  return {{"median", number(figures.median)}, {"processes", figures.processes}, {"samples", figures.samples}};
}

Json row_object(const ComparedRow& row) {
  return {{"name", row.name},
          {"verdict", name_of(row.verdict)},
          {"ratio", number(row.ratio)},
          {"ratio_low", number(row.ratio_low)},
          {"ratio_high", number(row.ratio_high)},
          {"smallest_visible", number(row.smallest_visible)},
          {"baseline", side(row.baseline)},
          {"contender", side(row.contender)},
          {"unit", row.unit_name},
          {"reason", row.reason}};
}

/// In ASCII, so that a terminal obeys no name. Text that came from the command line or the system need not be
/// UTF-8; a row's always is.
std::string dump(const Json& value) { return value.dump(-1, ' ', true, Json::error_handler_t::replace); }

}  // namespace

void write_json(std::ostream& out, const Comparison& comparison) {
  Json counts = Json::object();
  for (const Verdict verdict : all_verdicts)
    counts[std::string(name_of(verdict))] = comparison.count(verdict);
  const Json rows_read{{"baseline", comparison.baseline_rows_read},
                       {"contender", comparison.contender_rows_read}};
  out << "{\"verdict\": " << dump(comparison.verdict()) << ",\n \"exit_code\": " << comparison.exit_code()
      << ",\n \"threshold\": " << dump(comparison.threshold) << ",\n \"alpha\": " << dump(comparison.alpha)
      << ",\n \"metric\": " << dump(comparison.metric) << ",\n \"counts\": " << dump(counts)
      << ",\n \"rows_read\": " << dump(rows_read) << ",\n \"notes\": " << dump(comparison.notes)
      << ",\n \"rows\": [";
  // Row by row: a document of a million rows would take gigabytes.
  const char* separator = "\n  ";
  for (const ComparedRow& row : comparison.rows) {
    out << separator << dump(row_object(row));
    separator = ",\n  ";
  }
  out << "\n ]}\n";
}

}  // namespace strictbench
