#include "report/row_evidence.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "report/statistics.h"

namespace strictbench {

bool too_thin(const Evidence& evidence) {
  if (evidence.suspect_rows() == 0) return false;
  std::size_t left = 0;
  std::size_t lost = 0;
  for (const ProcessRecord& process : evidence.processes) {
    const bool has_number = !std::isnan(process.value());
    left += has_number ? 1 : 0;
    lost += !has_number && process.suspect > 0 ? 1 : 0;
  }
  return left == 0 || (left == 1 && lost > 0);
}

SideFigures figures_of(const Evidence& evidence) {
  SideFigures figures;
  std::vector<double> values;
  for (const ProcessRecord& process : evidence.processes) {
    const double value = process.value();
    if (std::isnan(value)) continue;
    values.push_back(value);
    figures.samples += std::max(process.samples.size(), process.recorded_samples);
  }
  figures.processes = values.size();
  if (!values.empty()) figures.median = median(values);
  return figures;
}

SideSample sample_of(const Evidence& evidence, double sign, std::vector<std::uint32_t>& session_ids) {
  SideSample sample;
  for (const ProcessRecord& process : evidence.processes) {
    const double value = process.value();
    if (std::isnan(value)) continue;
    const auto found = std::find(session_ids.begin(), session_ids.end(), process.session);
    const auto at = static_cast<std::size_t>(found - session_ids.begin());
    if (found == session_ids.end()) {
      session_ids.push_back(process.session);
      sample.sessions.emplace_back();
    }
    sample.sessions[at].push_back(sign * std::log(value));
  }
  if (sample.processes() == 1) {
    for (const ProcessRecord& process : evidence.processes) {
      std::vector<double> logs;
      for (const double value : process.samples) logs.push_back(std::log(value));
      sample.squared_error_within = std::max(sample.squared_error_within, squared_error_of_median(logs));
    }
  }
  return sample;
}

}  // namespace strictbench
