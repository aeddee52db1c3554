#include "bench/strictbench/calibration_output.h"

#include <cmath>

#include "report/grid.h"
#include "report/text.h"

namespace strictbench::calibration {
namespace {

using Json = nlohmann::ordered_json;

constexpr int format_version = 1;

/// What of a file's context tells one machine and build from another.
constexpr const char* kept_context[] = {
    "gpu_name",   "gpu_uuid",  "gpu_sm_count", "driver_version",   "cuda_version",  "compiler",
    "build_type", "cpu_model", "sm_clock_mhz", "memory_clock_mhz", "power_limit_w", "clock_event_reasons",
    "boot_id",    "host_name"};

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

void add_counts(Json& json, const Counts& counts) {
  json["rows"] = counts.rows;
  json["slower"] = counts.slower;
  json["inconclusive"] = counts.inconclusive;
  json["same"] = counts.same;
  json["faster"] = counts.faster;
  json["other"] = counts.other;
}

Json json_of(const TimerResult& timer) {
  Json identical{{"tables", timer.tables}, {"tables_with_alarm", timer.tables_with_alarm}};
  add_counts(identical, timer.identical);
  Json json{{"timer", timer.timer},
            {"cases", timer.cases},
            {"processes", timer.processes},
            {"identical", std::move(identical)},
            {"sizes", Json::array()}};
  for (const SizeResult& size : timer.sizes) {
    Json entry{{"size", size.size},
               {"arms", size.arms},
               {"reached_low", number(size.reached_low)},
               {"reached_high", number(size.reached_high)}};
    add_counts(entry, size.counts);
    json["sizes"].push_back(std::move(entry));
  }
  return json;
}

Json json_of(const CaseResult& result) {
  Json json{{"name", result.name},
            {"timer", result.timer},
            {"time_ns", number(result.time_ns)},
            {"spread", number(result.spread)},
            {"tick_ns", number(result.tick_ns)},
            {"smallest_visible", number(result.smallest_visible)},
            {"arms", Json::array()}};
  for (const Arm& arm : result.arms) {
    Json entry{{"asked", arm.asked},
               {"asked_ns", number(arm.asked_ns)},
               {"reached", number(arm.reached)},
               {"size", arm.size ? Json(*arm.size) : Json(nullptr)}};
    if (!arm.left_out.empty()) entry["left_out"] = arm.left_out;
    add_counts(entry, arm.counts);
    json["arms"].push_back(std::move(entry));
  }
  return json;
}

/// "99.2 %"; nothing is rounded to a 0 or 100 that it is not.
std::string share(std::size_t part, const Counts& counts) {
  if (counts.rows == 0) return "-";
  const double percent = 100 * static_cast<double>(part) / static_cast<double>(counts.rows);
  if (part > 0 && percent < 0.1) return "< 0.1 %";
  if (part < counts.rows && percent > 99.9) return "> 99.9 %";
  return fixed(percent, 1) + " %";
}

std::string percent(double value, int digits = 1) {
  if (std::isfinite(value) && value > 1) return "> 100 %";
  return std::isfinite(value) ? fixed(value * 100, digits) + " %" : "-";
}

std::string range(const SizeResult& size) {
  if (size.arms == 0) return "-";
  return fixed(size.reached_low * 100, 2) + " to " + fixed(size.reached_high * 100, 2) + " %";
}

void write_identical(std::ostream& out, const Calibration& calibration) {
  Grid grid({{"timer"},
             {"cases", Align::right},
             {"comparisons", Align::right},
             {"slower", Align::right},
             {"faster", Align::right},
             {"tables with either", Align::right},
             {"cannot tell", Align::right},
             {"same", Align::right}});
  for (const TimerResult& timer : calibration.timers) {
    const Counts& counts = timer.identical;
    grid.add({timer.timer, std::to_string(timer.cases), std::to_string(counts.rows),
              std::to_string(counts.slower), std::to_string(counts.faster),
              std::to_string(timer.tables_with_alarm) + " of " + std::to_string(timer.tables),
              share(counts.inconclusive + counts.other, counts), share(counts.same, counts)});
  }
  out << "identical code\n";
  grid.write_text(out);
}

void write_sizes(std::ostream& out, const Calibration& calibration) {
  Grid grid({{"timer"},
             {"slowdown", Align::right},
             {"reached", Align::right},
             {"cases", Align::right},
             {"comparisons", Align::right},
             {"slower", Align::right},
             {"cannot tell", Align::right},
             {"same (missed)", Align::right},
             {"faster", Align::right}});
  for (const TimerResult& timer : calibration.timers) {
    for (const SizeResult& size : timer.sizes) {
      const Counts& counts = size.counts;
      grid.add({timer.timer, plain_percent(size.size), range(size), std::to_string(size.arms),
                std::to_string(counts.rows), share(counts.slower, counts),
                share(counts.inconclusive + counts.other, counts), share(counts.same, counts),
                std::to_string(counts.faster)});
    }
  }
  out << "\nslower by\n";
  grid.write_text(out);
}

void write_cases(std::ostream& out, const Calibration& calibration) {
  Grid grid({{"case"},
             {"time", Align::right},
             {"spread of processes", Align::right},
             {"smallest visible", Align::right},
             {"reached (* counts for no size)", Align::left}});
  for (const CaseResult& result : calibration.cases) {
    std::string reached;
    for (const Arm& arm : result.arms) {
      if (arm.asked == 0) continue;
      reached += (reached.empty() ? "" : "  ") + percent(arm.reached, 2) + (arm.size ? "" : "*");
    }
    grid.add({result.name, readable_time(result.time_ns), percent(result.spread, 2),
              percent(result.smallest_visible), reached});
  }
  out << "\ncase by case\n";
  grid.write_text(out);
}

}  // namespace

Json to_json(const Calibration& calibration, const Provenance& provenance) {
  const Settings& settings = calibration.settings;
  Json json{{"format", format_version},
            {"device", provenance.device},
            {"device_name", provenance.device_name},
            {"date", provenance.date}};
  if (!provenance.commit.empty()) {
    json["commit"] = provenance.commit;
    json["dirty"] = provenance.dirty;
  }
  json["machine"] = provenance.machine;
  json["context"] = Json::object();
  for (const char* key : kept_context)
    if (const auto found = provenance.context.find(key); found != provenance.context.end())
      json["context"][key] = found->second;
  json["settings"] = {{"processes", provenance.processes},
                      {"sides", settings.sides},
                      {"tables", settings.tables},
                      {"threshold", settings.threshold},
                      {"alpha", settings.alpha},
                      {"seed", settings.seed},
                      {"delays", delays},
                      {"size_tolerance", size_tolerance},
                      {"event_tick_ns", event_tick_ns}};
  json["timers"] = Json::array();
  for (const TimerResult& timer : calibration.timers) json["timers"].push_back(json_of(timer));
  json["cases"] = Json::array();
  for (const CaseResult& result : calibration.cases) json["cases"].push_back(json_of(result));
  json["bad_rows"] = calibration.bad_rows;
  json["notes"] = calibration.notes;
  return json;
}

void write_text(std::ostream& out, const Calibration& calibration, const Provenance& provenance) {
  const Settings& settings = calibration.settings;
  out << printable(provenance.device_name) << ", " << printable(provenance.date)
      << (provenance.commit.empty() ? "" : ", commit " + printable(provenance.commit.substr(0, 12)))
      << (provenance.dirty ? " with local changes" : "") << "\n"
      << counted(settings.sides, "process") << " a side, threshold " << plain_percent(settings.threshold)
      << ", alpha " << plain_percent(settings.alpha) << "; drawn from";
  for (const TimerResult& timer : calibration.timers)
    out << (&timer == &calibration.timers.front() ? " " : ", ") << timer.processes << " (" << timer.timer
        << ")";
  out << " processes\n\n";
  write_identical(out, calibration);
  write_sizes(out, calibration);
  write_cases(out, calibration);
  if (!calibration.notes.empty()) out << "\n";
  for (const std::string& note : calibration.notes) out << "note: " << printable(note) << "\n";
}

}  // namespace strictbench::calibration
