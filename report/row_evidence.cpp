#include "report/row_evidence.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>

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

double resolution_of(const Evidence& evidence) {
  if (evidence.unit != Unit::time) return 0;
  std::vector<double> samples;
  for (const ProcessRecord& process : evidence.processes) {
    samples.insert(samples.end(), process.samples.begin(), process.samples.end());
  }
  return resolution_of(std::span<const double>(samples));
}

SideSample sample_of(const Evidence& evidence, double sign, std::vector<std::uint32_t>& session_ids) {
  std::vector<std::pair<std::uint32_t, double>> logs;  // session and log of the process's number
  for (const ProcessRecord& process : evidence.processes) {
    const double value = process.value();
    if (!std::isnan(value)) logs.emplace_back(process.session, sign * std::log(value));
  }
  std::stable_sort(logs.begin(), logs.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  SideSample sample;
  for (const auto& [session, log] : logs) {
    if (session_ids.empty() || session_ids.back() != session) {
      session_ids.push_back(session);
      sample.sessions.emplace_back();
    }
    sample.sessions.back().push_back(log);
  }
  if (sample.processes() == 1) {
    for (const ProcessRecord& process : evidence.processes) {
      std::vector<double> samples;
      for (const double value : process.samples) samples.push_back(std::log(value));
      sample.squared_error_within = std::max(sample.squared_error_within, squared_error_of_median(samples));
    }
  }
  return sample;
}

}  // namespace strictbench
