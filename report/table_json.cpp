#include <cmath>
#include <nlohmann/json.hpp>

#include "report/table.h"
#include "report/table_cells.h"

namespace strictbench {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json variant_object(const std::string& variant, const Measured& measured, bool judged) {
  Json object{{"time_ns", number(measured.time)}};
  if (variant != "legacy") {
    object["speedup"] = number(measured.speedup);
    object["speedup_low"] = number(measured.speedup_low);
    object["speedup_high"] = number(measured.speedup_high);
  }
  if (is_bar(variant)) {
    object["over_new"] = number(measured.over_new);
    object["over_new_low"] = number(measured.over_new_low);
    object["over_new_high"] = number(measured.over_new_high);
  }
  object["floor_ns"] = number(measured.floor);
  object["share_of_floor"] = number(measured.share_of_floor);
  if (judged) object["verdict"] = measured.verdict.empty() ? Json(nullptr) : Json(measured.verdict);
  object["trouble"] = measured.trouble;
  return object;
}

Json line_object(const SpeedupTable& table, const OperatorTable& group, const TableLine& line) {
  Json variants = Json::object();
  for (const std::string& variant : group.variants) {
    const auto found = line.variants.find(variant);
    if (found != line.variants.end())
      variants[variant] = variant_object(variant, found->second, table.judged);
  }
  return {{"shape", line.shape},
          {"timer", line.timer},
          {"check", check_cell(group, line)},
          {"control", control_word(line)},
          {"variants", std::move(variants)}};
}

Json published_object(const PublishedLine& line) {
  return {{"name", line.name},
          {"published_ns", number(line.published)},
          {"measured_ns", number(line.measured)},
          {"published_speedup", number(line.published_speedup)},
          {"measured_speedup", number(line.measured_speedup)},
          {"published_on", line.published_on},
          {"measured_on", line.measured_on},
          {"trouble", line.trouble}};
}

/// In ASCII, so that a terminal obeys no name; paths in notes need not be UTF-8.
std::string dump(const Json& value) { return value.dump(-1, ' ', true, Json::error_handler_t::replace); }

}  // namespace

void write_table_json(std::ostream& out, const SpeedupTable& table) {
  out << "{\"header\": " << dump(table.header) << ",\n \"notes\": " << dump(table.notes)
      << ",\n \"operators\": [";
  const char* group_separator = "\n  ";
  for (const OperatorTable& group : table.operators) {
    out << group_separator << "{\"op\": " << dump(group.op) << ", \"variants\": " << dump(group.variants)
        << ", \"lines\": [";
    const char* separator = "\n   ";
    for (const TableLine& line : group.lines) {
      out << separator << dump(line_object(table, group, line));
      separator = ",\n   ";
    }
    out << "]}";
    group_separator = ",\n  ";
  }
  out << "],\n \"published\": [";
  const char* separator = "\n  ";
  for (const PublishedLine& line : table.published) {
    out << separator << dump(published_object(line));
    separator = ",\n  ";
  }
  out << "]}\n";
}

}  // namespace strictbench
