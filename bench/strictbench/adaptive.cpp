#include "bench/strictbench/adaptive.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "bench/strictbench/plan.h"

namespace strictbench::runner {

double narrow_half_width() { return std::log1p(evidence_threshold) / 2; }

std::map<std::string, int> processes_of_cases(const std::vector<ProcessRecord>& processes) {
  std::map<std::string, int> counts;
  for (const ProcessRecord& process : processes) {
    if (process.status == ProcessStatus::pending || process.status == ProcessStatus::running) continue;
    for (const std::string& name : process.cases) ++counts[name];
  }
  return counts;
}

std::set<std::string> troubled_cases(const std::vector<ProcessRecord>& processes) {
  std::set<std::string> names;
  for (const ProcessRecord& process : processes) {
    for (const Problem& problem : process.problems) names.insert(problem.name);
  }
  return names;
}

EvidenceRecord evidence_of(const std::vector<ProcessRecord>& processes,
                           const std::map<std::string, double>& half_widths, const RunOptions& options) {
  const std::set<std::string> troubled = troubled_cases(processes);
  EvidenceRecord evidence;
  for (const auto& [name, count] : processes_of_cases(processes)) {
    if (troubled.contains(name)) continue;
    const auto known = half_widths.find(name);
    const bool enough = known != half_widths.end() && count >= options.processes;
    const double width = enough ? known->second : std::numeric_limits<double>::infinity();
    if (!(width <= narrow_half_width())) {
      evidence.wide.push_back({name, width});
    } else if (count < options.most_processes) {
      ++evidence.stopped_early;
    }
  }
  std::ranges::stable_sort(evidence.wide, std::ranges::greater(), &CaseWidth::half_width);
  return evidence;
}

std::string without_variant(const std::string& name) {
  const std::size_t first = name.find('/');
  const std::size_t second = first == std::string::npos ? first : name.find('/', first + 1);
  return second == std::string::npos ? name : name.substr(0, first) + name.substr(second);
}

std::set<std::string> open_cases(const EvidenceRecord& evidence, const std::vector<ProcessRecord>& processes,
                                 const RunOptions& options) {
  std::map<std::string, int> counts = processes_of_cases(processes);
  std::set<std::string> wide_shapes;
  for (const CaseWidth& wide : evidence.wide) {
    if (counts[wide.name] < options.most_processes) wide_shapes.insert(without_variant(wide.name));
  }
  const std::set<std::string> troubled = troubled_cases(processes);
  std::set<std::string> open;
  for (const auto& [name, count] : counts) {
    if (wide_shapes.contains(without_variant(name)) && !troubled.contains(name)) open.insert(name);
  }
  return open;
}

std::vector<Start> starts_of_round(std::size_t operators, std::size_t arms, std::uint64_t seed, int round) {
  std::vector<Start> starts;
  for (const std::size_t index : shuffled(operators, seed, round)) {
    // One draw for two rounds; the third number keeps it apart from that of the order of operators.
    std::seed_seq sequence{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32), 0xABu,
                           static_cast<std::uint32_t>(round / 2), static_cast<std::uint32_t>(index)};
    std::mt19937_64 random(sequence);
    const std::size_t turn = (random() + static_cast<std::uint64_t>(round)) % 2;
    for (std::size_t i = 0; i < arms; ++i) starts.push_back({index, arms == 2 ? (i + turn) % 2 : i});
  }
  return starts;
}

std::vector<int> looks_between(int least, int most) {
  std::vector<int> looks;
  // Each look has about 1.4 times the processes of the one before: an interval narrower by a sixth.
  for (int at = least; at < most; at += std::max(1, at * 2 / 5)) looks.push_back(at);
  looks.push_back(most);
  return looks;
}

}  // namespace strictbench::runner
