#include "bench/strictbench/run_summary.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "bench/strictbench/adaptive.h"
#include "bench/strictbench/kernel_step.h"
#include "bench/strictbench/plan.h"
#include "report/text.h"

namespace strictbench::runner {
namespace {

/// Cases of one operator that share a fate are one line: a crash takes many along.
using Fate = std::tuple<std::string, CaseState, std::string>;  // operator, state, reason

struct Group {
  std::vector<std::string> cases;
  std::set<std::string_view> seen;  // of them
  std::set<int> processes;
};

std::string group_lines(const RunRecord& record) {
  std::vector<std::pair<Fate, Group>> groups;
  std::map<Fate, std::size_t> places;
  std::map<std::string, int> processes_of;
  for (const ProcessRecord& process : record.processes) {
    if (process.status != ProcessStatus::pending) ++processes_of[process.operator_name];
    for (const Problem& problem : process.problems) {
      const Fate fate{process.operator_name, problem.state, problem.reason};
      const auto [place, added] = places.try_emplace(fate, groups.size());
      if (added) groups.push_back({fate, {}});
      Group& group = groups[place->second].second;
      if (group.seen.insert(problem.name).second) group.cases.push_back(problem.name);
      group.processes.insert(process.process);
    }
    // Every row is there, and yet the process did not end as it should.
    if (process.problems.empty() && !process.reason.empty()) {
      groups.push_back(
          {{process.operator_name, CaseState::failed, process.reason}, {{}, {}, {process.process}}});
    }
  }
  std::string lines;
  for (const auto& [fate, group] : groups) {
    const auto& [operator_name, state, reason] = fate;
    std::string line = to_string(state);
    line.resize(9, ' ');
    line += group.cases.empty() ? operator_name : group.cases.front();
    if (group.cases.size() > 1) line += " and " + std::to_string(group.cases.size() - 1) + " more";
    const int all = processes_of[operator_name];
    if (all > 1) {
      line += " (in " + std::to_string(group.processes.size()) + " of " + counted(all, "process") + ")";
    }
    lines += printable(line + ": " + reason) + "\n";
  }
  return lines;
}

std::string count_line(const RunRecord& record) {
  std::map<std::string, CaseState> worst;
  std::set<int> rounds;
  double seconds = 0;
  std::size_t pending = 0;
  std::set<std::string> never_started;
  for (const ProcessRecord& process : record.processes) {
    seconds += process.seconds;
    if (process.status == ProcessStatus::pending) {
      never_started.insert(process.cases.begin(), process.cases.end());
    } else {
      for (const std::string& name : process.cases) worst.try_emplace(name, CaseState::measured);
    }
    for (const Problem& problem : process.problems) {
      CaseState& state = worst[problem.name];
      state = std::max(state, problem.state);
    }
    if (process.status == ProcessStatus::pending) {
      ++pending;
    } else {
      rounds.insert(process.process);
    }
  }
  // Cases have different numbers of processes where the evidence decided.
  int fewest = 0;
  int most = 0;
  for (const auto& [name, count] : processes_of_cases(record.processes)) {
    fewest = fewest == 0 ? count : std::min(fewest, count);
    most = std::max(most, count);
  }
  const std::string processes =
      fewest == most ? counted(rounds.size(), "process") + " of each operator"
                     : std::to_string(fewest) + " to " + counted(most, "process") + " of each case";
  std::map<CaseState, int> counts;
  for (const auto& [name, state] : worst) ++counts[state];
  std::erase_if(never_started, [&](const std::string& name) { return worst.contains(name); });
  const std::size_t cases = worst.size() + never_started.size();
  std::string line = counted(cases, "case") + ", " + processes + ", " + duration_text(seconds) + ":";
  std::string parts;
  for (const auto& [state, count] : counts) {
    parts += (parts.empty() ? " " : ", ") + std::to_string(count) + " " + to_string(state);
  }
  if (!never_started.empty())
    parts += (parts.empty() ? " " : ", ") + std::to_string(never_started.size()) + " not started";
  if (pending > 0) parts += (parts.empty() ? " " : ", ") + counted(pending, "process") + " not run";
  return line + parts + "\n";
}

/// How many cases stopped early, how many are still wide, and the widest of them.
std::string evidence_line(const RunRecord& record) {
  if (!record.evidence) return {};
  constexpr std::size_t most_named = 3;
  const EvidenceRecord& evidence = *record.evidence;
  std::string line = counted(evidence.stopped_early, "case") + " stopped early, " +
                     std::to_string(evidence.wide.size()) + " still wide";
  for (std::size_t i = 0; i < std::min(evidence.wide.size(), most_named); ++i) {
    const CaseWidth& wide = evidence.wide[i];
    char width[32] = "unknown";
    if (std::isfinite(wide.half_width)) {
      const double percent = 100 * std::expm1(wide.half_width);
      std::snprintf(width, sizeof width, percent < 10 ? "+-%.2g %%" : "+-%.0f %%", percent);
    }
    line += (i == 0 ? ": " : ", ") + printable(wide.name) + " (" + width + ")";
  }
  if (evidence.wide.size() > most_named) {
    line += " and " + std::to_string(evidence.wide.size() - most_named) + " more";
  }
  return line + "\n";
}

}  // namespace

bool all_ok(const RunRecord& record) {
  return std::ranges::all_of(
      record.processes, [](const ProcessRecord& process) { return process.status == ProcessStatus::ok; });
}

std::string summary(const RunRecord& record, const std::filesystem::path& folder,
                    const std::string& program) {
  std::string text = group_lines(record) + kernel_problems(record);
  for (const std::string& note : record.notes) text += printable(note) + "\n";
  text += count_line(record) + evidence_line(record);
  if (const std::string line = suspect_line(suspects_of(record)); !line.empty())
    text += printable(line) + "\n";
  text += printable(folder.string()) + "\n";
  const auto recorded = [](const ProcessRecord& process) { return process.status == ProcessStatus::ok; };
  const auto ended = [](const ProcessRecord& process) {
    return process.status != ProcessStatus::pending && process.status != ProcessStatus::running;
  };
  const std::string called = shell_word(program);
  const std::string word = shell_word(folder.string());
  std::vector<std::string> next;
  // Where no process has ended there is nothing to show.
  if (std::ranges::any_of(record.processes, ended)) next.push_back("table " + word);
  if (std::ranges::any_of(record.kernels, recorded))
    next.push_back("kernels --before " + word + " --before-case /legacy/ --after " + word +
                   " --after-case /new/");
  if (!all_ok(record) || !kernels_ok(record))
    next.push_back("run --resume " + word + "   # measures again what is not ok");
  for (std::size_t i = 0; i < next.size(); ++i)
    text += (i == 0 ? "next: " : "      ") + called + " " + next[i] + "\n";
  return text;
}

}  // namespace strictbench::runner
