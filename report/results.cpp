#include "report/results.h"

#include <algorithm>
#include <cmath>

#include "report/statistics.h"

namespace strictbench {

double ProcessRecord::value() const {
  if (!samples.empty()) return median(samples);
  if (suspect > 0) return no_number;  // what sums up suspect rows is suspect
  return std::isnan(median_aggregate) ? mean_aggregate : median_aggregate;
}

Troubles& Evidence::trouble() {
  if (!troubles) troubles = std::make_unique<Troubles>();
  return *troubles;
}

std::size_t Evidence::suspect_rows() const {
  std::size_t rows = 0;
  for (const ProcessRecord& process : processes) rows += process.suspect;
  return rows;
}

bool Evidence::has_number() const {
  for (const ProcessRecord& process : processes) {
    if (!std::isnan(process.value())) return true;
  }
  return false;
}

std::string Evidence::no_times() const {
  if (units_differ) return "the units of its numbers differ in kind";
  if (unit != Unit::unknown) return {};
  return "its time_unit is \"" + unit_name + "\", and ns, us, ms and s are known";
}

bool Side::not_asked_for(const std::string& name) const {
  if (runs.empty() || single_files) return false;
  return std::all_of(runs.begin(), runs.end(),
                     [&](const RunRecord& run) { return run.not_selected.contains(name); });
}

const Evidence* Side::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : found->second;
}

Evidence& Side::find_or_add(std::string_view name) {
  const auto found = index_.find(name);
  if (found != index_.end()) return *found->second;
  Evidence& evidence = benchmarks.emplace_back();
  evidence.name = name;
  index_.emplace(evidence.name, &evidence);
  return evidence;
}

void Side::keep(const std::function<bool(const std::string&)>& wanted) {
  std::erase_if(benchmarks, [&](const Evidence& evidence) { return !wanted(evidence.name); });
  index_.clear();
  for (Evidence& evidence : benchmarks) index_.emplace(evidence.name, &evidence);
}

std::string_view timer_of(std::string_view name) {
  constexpr std::string_view key = "/timer:";
  const std::size_t at = name.rfind(key);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = name.substr(at + key.size());
  return rest.substr(0, rest.find('/'));
}

}  // namespace strictbench
