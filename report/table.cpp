#include "report/table.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "report/environment.h"
#include "report/judge.h"
#include "report/row_evidence.h"
#include "report/row_name.h"
#include "report/statistics.h"
#include "report/text.h"

namespace strictbench {
namespace {

constexpr double alpha = 0.01;

using ProcessKey = std::tuple<std::uint32_t, std::uint32_t, double>;  // source, session and number

/// The time of each process that has one, as a logarithm.
std::map<ProcessKey, double> log_times(const Evidence& evidence) {
  std::map<ProcessKey, double> times;
  for (const ProcessRecord& process : evidence.processes) {
    const double value = process.value();
    if (!std::isnan(value)) times[{process.source, process.session, process.number}] = std::log(value);
  }
  return times;
}

bool is_bad(const Evidence& evidence) {
  return (evidence.troubles && (evidence.troubles->wrong > 0 || evidence.troubles->failed > 0)) ||
         !evidence.no_times().empty();
}

std::string trouble_of(const Evidence& evidence) {
  const Troubles none;
  const Troubles& troubles = evidence.troubles ? *evidence.troubles : none;
  if (troubles.wrong > 0) return "wrong: " + troubles.wrong_message;
  if (troubles.failed > 0) return "failed: " + troubles.failed_message;
  if (const std::string why = evidence.no_times(); !why.empty()) return "failed: " + why;
  if (troubles.skipped > 0 && !evidence.has_number()) {
    const bool says_so = troubles.skipped_message.rfind("skipped:", 0) == 0;
    return says_so ? troubles.skipped_message : "skipped: " + troubles.skipped_message;
  }
  if (too_thin(evidence)) return "left out: the machine was throttled or shared";
  return evidence.has_number() ? "" : "no number";
}

Measured measure(const Evidence& evidence) {
  Measured measured;
  measured.trouble = trouble_of(evidence);
  if (!measured.trouble.empty()) return measured;
  std::vector<double> values;
  std::vector<double> floors;
  std::vector<double> shares;
  std::size_t rows = 0;
  for (const ProcessRecord& process : evidence.processes) {
    const double value = process.value();
    if (std::isnan(value)) continue;
    values.push_back(value);
    rows += process.samples.size();
    if (std::isnan(process.floor)) continue;
    floors.push_back(process.floor);
    shares.push_back(process.floor / value);
  }
  measured.time = median(values);
  if (!floors.empty()) {
    measured.floor = median(floors);
    measured.share_of_floor = median(shares);
  }
  measured.processes = values.size();
  measured.checked = rows > 0 && evidence.checked == rows;
  measured.tolerance = evidence.tolerance;
  measured.relative_error = evidence.relative_error;
  return measured;
}

/// A ratio that waits for its timer's other rows: what they say of the spread narrows or widens it.
struct Pairing {
  double* ratio;  // of the median processes
  double* low;
  double* high;
  std::vector<double> log_ratios;  // one per process that has both
};

void fill_ratios(const std::vector<Pairing>& pairings) {
  std::vector<Spread> spreads;
  for (const Pairing& pairing : pairings) spreads.push_back(spread_of(pairing.log_ratios));
  const SpreadPrior prior = learn_prior(spreads);
  for (const Pairing& pairing : pairings) {
    if (pairing.log_ratios.empty()) continue;
    const Interval interval = paired_interval(pairing.log_ratios, prior, alpha);
    // The median, as the times beside it are: one disturbed process does not move it.
    *pairing.ratio = std::exp(median(pairing.log_ratios));
    if (std::isinf(interval.half_width)) continue;
    *pairing.low = std::exp(interval.centre - interval.half_width);
    *pairing.high = std::exp(interval.centre + interval.half_width);
  }
}

/// log(above / below), one per process that has both.
std::vector<double> log_ratios(const Evidence& above, const Evidence& below) {
  std::vector<double> ratios;
  const std::map<ProcessKey, double> others = log_times(below);
  for (const auto& [process, log_time] : log_times(above)) {
    const auto same = others.find(process);
    if (same != others.end()) ratios.push_back(log_time - same->second);
  }
  return ratios;
}

/// Whether a control held still, from its interval of legacy / new.
Steadiness steadiness_of(const TableLine& line) {
  const auto fresh = line.variants.find("new");
  if (fresh == line.variants.end() || std::isnan(fresh->second.speedup_low)) return Steadiness::unclear;
  const double low = std::log(fresh->second.speedup_low);
  const double high = std::log(fresh->second.speedup_high);
  switch (call((low + high) / 2, (high - low) / 2, control_threshold)) {
    case Call::same:
      return Steadiness::steady;
    case Call::slower:
    case Call::faster:
      return Steadiness::moved;
    case Call::inconclusive:
      break;
  }
  return Steadiness::unclear;
}

/// Sorts the rows into operators and lines, and then pairs each variant with its line's legacy.
class Sorter {
 public:
  explicit Sorter(SpeedupTable& table) : table_(table) {}

  void add(const Evidence& evidence, const RowName& name) {
    const auto [op, fresh] = operators_.try_emplace(name.op, table_.operators.size());
    if (fresh) table_.operators.push_back({name.op, {}, {}});
    OperatorTable& group = table_.operators[op->second];
    if (std::find(group.variants.begin(), group.variants.end(), name.variant) == group.variants.end()) {
      group.variants.insert(name.variant == "legacy" ? group.variants.begin() : group.variants.end(),
                            name.variant);
    }
    const auto [place, new_line] = lines_.try_emplace(key_of(name), group.lines.size());
    if (new_line) group.lines.push_back({name.shape, name.timer, {}, {}});
    TableLine& line = group.lines[place->second];
    line.variants[name.variant] = measure(evidence);
    if (evidence.control) line.control = Steadiness::unclear;
    evidence_[place->first + "\n" + name.variant] = &evidence;
  }

  void pair_up() {
    std::map<std::string, std::vector<Pairing>> by_timer;
    for (OperatorTable& group : table_.operators) {
      for (TableLine& line : group.lines) {
        const std::string key = group.op + "\n" + line.shape + "\n" + line.timer + "\n";
        const auto timed = [&](const std::string& variant) {
          const auto found = line.variants.find(variant);
          return found != line.variants.end() && !std::isnan(found->second.time);
        };
        for (auto& [variant, measured] : line.variants) {
          if (!timed(variant)) continue;
          const Evidence& evidence = *evidence_.at(key + variant);
          if (variant != "legacy" && timed("legacy"))
            by_timer[line.timer].push_back({&measured.speedup, &measured.speedup_low, &measured.speedup_high,
                                            log_ratios(*evidence_.at(key + "legacy"), evidence)});
          if (is_bar(variant) && timed("new"))
            by_timer[line.timer].push_back({&measured.over_new, &measured.over_new_low,
                                            &measured.over_new_high,
                                            log_ratios(evidence, *evidence_.at(key + "new"))});
        }
      }
    }
    for (const auto& [timer, pairings] : by_timer) fill_ratios(pairings);
    for (OperatorTable& group : table_.operators) {
      for (TableLine& line : group.lines) {
        if (line.control) line.control = steadiness_of(line);
      }
    }
  }

  /// What the table holds of a row; null where it stands in none.
  const Measured* find(const RowName& name) const {
    const auto op = operators_.find(name.op);
    const auto line = lines_.find(key_of(name));
    if (op == operators_.end() || line == lines_.end()) return nullptr;
    const auto& variants = table_.operators[op->second].lines[line->second].variants;
    const auto found = variants.find(name.variant);
    return found == variants.end() ? nullptr : &found->second;
  }

 private:
  static std::string key_of(const RowName& name) { return name.op + "\n" + name.shape + "\n" + name.timer; }

  SpeedupTable& table_;
  std::unordered_map<std::string, const Evidence*> evidence_;
  std::unordered_map<std::string, std::size_t> operators_;
  std::unordered_map<std::string, std::size_t> lines_;
};

std::string device_of(const Side& side, const std::string& op) {
  // A file of published figures may state a device for each operator.
  for (const std::string& key :
       {op + ".gpu_name", std::string("gpu_name"), std::string("cpu_model"), std::string("host_name")}) {
    const std::vector<std::string> values = stated_values(side, key);
    if (!values.empty()) return joined(values);
  }
  return "not stated";
}

void add_header(const Side& side, SpeedupTable& table) {
  const auto line = [&](const char* title, const char* key) {
    const std::vector<std::string> values = stated_values(side, key);
    if (!values.empty()) table.header.push_back(std::string(title) + ": " + joined(values));
  };
  table.header.push_back("device: " + device_of(side, ""));
  if (!stated_values(side, "gpu_name").empty()) line("CPU", "cpu_model");
  line("driver", "driver_version");
  line("CUDA", "cuda_version");
  line("compiler", "compiler");
  line("build", "build_type");
  const std::vector<std::string> dirty = stated_values(side, "git_dirty");
  const bool is_dirty =
      std::any_of(dirty.begin(), dirty.end(), [](const std::string& d) { return is_true(d); });
  const std::vector<std::string> commits = stated_values(side, "git_commit");
  if (!commits.empty()) {
    table.header.push_back("commit: " + joined(commits) + (is_dirty ? " with uncommitted changes" : ""));
  }
  const std::vector<std::string> dates = stated_values(side, "date");
  if (!dates.empty()) {
    const auto [first, last] = std::minmax_element(dates.begin(), dates.end());
    table.header.push_back("date: " + *first + (first == last ? "" : " to " + *last));
  }
  std::size_t fewest = side.benchmarks.empty() ? 0 : SIZE_MAX;
  std::size_t most = 0;
  for (const Evidence& evidence : side.benchmarks) {
    if (!evidence.has_number()) continue;
    fewest = std::min(fewest, evidence.processes.size());
    most = std::max(most, evidence.processes.size());
  }
  std::string processes = "processes: " + std::to_string(most);
  if (fewest < most) processes = "processes: " + std::to_string(fewest) + " to " + std::to_string(most);
  table.header.push_back(processes + (most > 1 ? "; intervals at 99 %" : "; one process gives no interval"));
}

using RowsByName = std::unordered_map<std::string_view, const Evidence*>;

RowsByName rows_by_name(const Side& side) {
  RowsByName rows;
  for (const Evidence& evidence : side.benchmarks) rows.emplace(without_suffix(evidence.name), &evidence);
  return rows;
}

/// The published time of a row's legacy; NaN where there is none, and for legacy itself.
double published_legacy(const RowsByName& published, const RowName& name) {
  if (!name.complete() || name.variant == "legacy") return no_number;
  const std::string legacy =
      name.op + "/legacy/" + (name.shape.empty() ? "" : name.shape + "/") + "timer:" + name.timer;
  const auto found = published.find(legacy);
  return found != published.end() && found->second->published ? measure(*found->second).time : no_number;
}

void add_published(const Side& result, const Side& published, const Sorter& sorter, SpeedupTable& table) {
  const RowsByName measured = rows_by_name(result);
  const RowsByName all_published = rows_by_name(published);
  for (const Evidence& evidence : published.benchmarks) {
    const auto found = measured.find(without_suffix(evidence.name));
    if (!evidence.published || found == measured.end() || !evidence.has_number()) continue;
    const RowName name = parse_row_name(evidence.name);
    const Measured* const paired = sorter.find(name);
    const Measured here = paired != nullptr ? *paired : measure(*found->second);
    PublishedLine line{.name = evidence.name,
                       .published = measure(evidence).time,
                       .measured = here.time,
                       .trouble = here.trouble,
                       .published_on = device_of(published, name.op),
                       .measured_on = device_of(result, name.op)};
    line.published_speedup = published_legacy(all_published, name) / line.published;
    // Without the other's ratio, the speedup above says it already.
    if (!std::isnan(line.published_speedup)) line.measured_speedup = here.speedup;
    table.published.push_back(std::move(line));
  }
}

}  // namespace

SpeedupTable make_table(const Side& result, const std::vector<Side>& published) {
  SpeedupTable table;
  table.notes = result.notes;
  if (result.suspect > 0) {
    table.notes.push_back(std::to_string(result.suspect) + " of " + counted(result.rows_read, "row") +
                          " left out: the machine was throttled or shared while they were measured");
  }
  add_header(result, table);
  Sorter sorter(table);
  std::size_t other_names = 0;
  for (const Evidence& evidence : result.benchmarks) {
    table.bad_rows += is_bad(evidence) ? 1 : 0;
    const RowName name = parse_row_name(evidence.name);
    if (name.complete()) {
      sorter.add(evidence, name);
    } else {
      ++other_names;
    }
  }
  sorter.pair_up();
  if (other_names > 0) {
    const std::string where = " named operator/variant/.../timer:... and ";
    table.notes.push_back(counted(other_names, "row is not" + where + "stands in no table",
                                  "rows are not" + where + "stand in no table"));
  }
  for (const Side& side : published) add_published(result, side, sorter, table);
  return table;
}

}  // namespace strictbench
