#include "bench/strictbench/run_summary.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "bench/strictbench/plan.h"

namespace strictbench::runner {
namespace {

/// Cases of one operator that share a fate are one line: a crash takes many along.
using Fate = std::tuple<std::string, CaseState, std::string>;  // operator, state, reason

struct Group {
  std::vector<std::string> cases;
  std::set<int> processes;
};

std::string group_lines(const RunRecord& record) {
  std::vector<std::pair<Fate, Group>> groups;
  std::map<std::string, int> processes_of;
  for (const ProcessRecord& process : record.processes) {
    if (process.status != ProcessStatus::pending) ++processes_of[process.operator_name];
    for (const Problem& problem : process.problems) {
      const Fate fate{process.operator_name, problem.state, problem.reason};
      auto place = std::ranges::find(groups, fate, &std::pair<Fate, Group>::first);
      if (place == groups.end()) place = groups.insert(groups.end(), {fate, {}});
      Group& group = place->second;
      if (!std::ranges::count(group.cases, problem.name)) group.cases.push_back(problem.name);
      group.processes.insert(process.process);
    }
    // Every row is there, and yet the process did not end as it should.
    if (process.problems.empty() && !process.reason.empty()) {
      groups.push_back({{process.operator_name, CaseState::failed, process.reason}, {{}, {process.process}}});
    }
  }
  std::string lines;
  for (const auto& [fate, group] : groups) {
    const auto& [operator_name, state, reason] = fate;
    std::string word = to_string(state);
    word.resize(9, ' ');
    lines += word + (group.cases.empty() ? operator_name : group.cases.front());
    if (group.cases.size() > 1) lines += " and " + std::to_string(group.cases.size() - 1) + " more";
    const int all = processes_of[operator_name];
    if (all > 1) {
      lines +=
          " (in " + std::to_string(group.processes.size()) + " of " + std::to_string(all) + " processes)";
    }
    lines += ": " + reason + "\n";
  }
  return lines;
}

std::string count_line(const RunRecord& record) {
  std::map<std::string, CaseState> worst;
  std::set<int> rounds;
  double seconds = 0;
  std::size_t pending = 0;
  for (const ProcessRecord& process : record.processes) {
    seconds += process.seconds;
    for (const std::string& name : process.cases) worst.try_emplace(name, CaseState::measured);
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
  std::map<CaseState, int> counts;
  for (const auto& [name, state] : worst) ++counts[state];
  std::string line = std::to_string(worst.size()) + (worst.size() == 1 ? " case, " : " cases, ") +
                     std::to_string(rounds.size()) + (rounds.size() == 1 ? " process" : " processes") +
                     " of each operator, " + duration_text(seconds) + ":";
  std::string parts;
  for (const auto& [state, count] : counts) {
    parts += (parts.empty() ? " " : ", ") + std::to_string(count) + " " + to_string(state);
  }
  if (pending > 0) parts += (parts.empty() ? " " : ", ") + std::to_string(pending) + " processes not run";
  return line + parts + "\n";
}

}  // namespace

bool all_ok(const RunRecord& record) {
  return std::ranges::all_of(
      record.processes, [](const ProcessRecord& process) { return process.status == ProcessStatus::ok; });
}

std::string summary(const RunRecord& record, const std::filesystem::path& folder,
                    const std::string& program) {
  std::string text = group_lines(record);
  for (const std::string& note : record.notes) text += note + "\n";
  text += count_line(record);
  text += folder.string() + "\n";
  const std::string called = shell_word(program);
  const std::string word = shell_word(folder.string());
  text += "next: " + called + " table " + word + "\n";
  if (!all_ok(record)) {
    text += "      " + called + " run --resume " + word + "   # measures again what is not ok\n";
  }
  return text;
}

}  // namespace strictbench::runner
