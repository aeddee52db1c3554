#include "bench/strictbench/runner.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <utility>

#include "bench/strictbench/adaptive.h"
#include "bench/strictbench/plan.h"
#include "report/text.h"

namespace strictbench::runner {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The entry of a planned process; null where it was taken out meanwhile.
ProcessRecord* entry_of(RunRecord& record, const Planned& planned) {
  const auto found = std::ranges::find_if(record.processes, [&](const ProcessRecord& process) {
    return process.operator_name == planned.operator_name && process.process == planned.round;
  });
  return found == record.processes.end() ? nullptr : &*found;
}

/// All cases that any of the builds measures.
std::set<std::string> cases_of(const std::vector<RunRecord*>& records) {
  std::set<std::string> cases;
  for (const RunRecord* record : records) {
    for (const auto& [name, executable] : record->executables) {
      cases.insert(executable.cases.begin(), executable.cases.end());
    }
  }
  return cases;
}

}  // namespace

std::vector<Planned> plan_round(const std::vector<RunRecord*>& records, int round,
                                const std::set<std::string>* open) {
  std::set<std::string> names;
  for (const RunRecord* record : records) {
    for (const auto& [name, executable] : record->executables) names.insert(name);
  }
  const std::vector<std::string> operators(names.begin(), names.end());
  std::vector<Planned> planned;
  for (const Start& start : starts_of_round(operators.size(), records.size(), records[0]->seed, round)) {
    RunRecord& record = *records[start.arm];
    const std::string& name = operators[start.operator_index];
    const auto executable = record.executables.find(name);
    if (executable == record.executables.end()) continue;  // an operator of the other build
    ProcessRecord process;
    process.operator_name = name;
    process.process = round;
    process.file = name + "." + std::to_string(round) + ".json";
    process.cases = executable->second.cases;
    if (open) std::erase_if(process.cases, [&](const std::string& one) { return !open->contains(one); });
    if (process.cases.empty()) continue;
    record.processes.push_back(std::move(process));
    planned.push_back({start.arm, name, round});
  }
  return planned;
}

Runner::Runner(std::vector<std::unique_ptr<Arm>> arms, AskForMore more, StopSignals& signals)
    : arms_(std::move(arms)), more_(std::move(more)), signals_(signals) {}

int Runner::measure(std::vector<Planned> planned) {
  for (const auto& arm : arms_) arm->begin();
  const int stop = measure_all(std::move(planned));
  progress_.clear();
  for (const auto& arm : arms_) arm->finish(/*complete=*/stop == 0);
  return stop;
}

std::optional<int> Runner::measure_or_say(std::vector<Planned> planned, const std::string& hint) {
  std::string said;
  try {
    return measure(std::move(planned));
  } catch (const std::exception& error) {
    said = error.what();
  }
  progress_.clear();
  // Where a folder is lost, an error that came of it says no more.
  const auto lost =
      std::ranges::find_if(arms_, [](const auto& arm) { return !arm->folder().what_is_lost().empty(); });
  if (lost != arms_.end()) {
    said = (*lost)->folder().what_is_lost();
  } else if (std::ranges::none_of(arms_, [](const auto& arm) { return arm->folder().holds_record(); })) {
    said += "; nothing was measured" + remove_empty_folders();
  } else {
    said += "; " + hint;
  }
  std::fprintf(stderr, "strictbench: %s\n", printable(said).c_str());
  for (const auto& arm : arms_) {
    arm->record().status = RunStatus::interrupted;
    try {
      arm->save();
    } catch (const std::exception&) {  // most likely the very error just told; the last record stays
    }
  }
  return std::nullopt;
}

/// Takes away the folders of a run that has not even a record, so that its name is free for another try. They
/// are this run's own: one that is resumed has a record. Returns how that went, as the end of a sentence.
std::string Runner::remove_empty_folders() {
  bool removed = false;
  for (const auto& arm : arms_) {
    arm->end();
    std::error_code error;
    removed = std::filesystem::remove(arm->folder().path(), error) || removed;  // only where it holds nothing
  }
  return removed ? ", and the empty folder is removed" : "";
}

int Runner::measure_all(std::vector<Planned> planned) {
  std::vector<RunRecord*> records;
  for (const auto& arm : arms_) records.push_back(&arm->record());
  bool progress = true;
  while (progress) {
    if (const int stop = measure_planned(planned)) return stop;
    planned.clear();
    for (const auto& arm : arms_) arm->save();
    int rounds = 0;
    for (const ProcessRecord& process : processes()) rounds = std::max(rounds, process.process + 1);
    // Asked even where the budget is spent: what it learns is told at the end.
    const More more = more_(rounds);
    if (out_of_budget_ || more.rounds == 0) return signals_.received();
    stopped_ = 0;
    for (const std::string& name : cases_of(records)) *stopped_ += more.open.contains(name) ? 0 : 1;
    for (int round = rounds; round < rounds + more.rounds; ++round) {
      std::ranges::move(plan_round(records, round, &more.open), std::back_inserter(planned));
    }
    // Nobody has these cases, or all are in trouble: asking again would get the same answer.
    std::erase_if(planned, [&](const Planned& next) { return drop_troubled(next); });
    progress = !planned.empty();
  }
  return signals_.received();
}

int Runner::measure_planned(const std::vector<Planned>& planned) {
  for (const Planned& next : planned) {
    if (drop_troubled(next)) continue;
    RunRecord& record = arms_[next.arm]->record();
    ProcessRecord* process = entry_of(record, next);
    const std::vector<ProcessRecord> all = processes();
    if (!round_begun(all, next.round) && !round_fits(all, next.round, record.options.budget_seconds)) {
      drop_rounds_from(next.round);
      out_of_budget_ = true;
      return 0;
    }
    if (const int stop = measure_one(next, *process)) return stop;
  }
  return 0;
}

/// Takes cases with trouble out of a process that was never started, and the process where none is left.
bool Runner::drop_troubled(const Planned& planned) {
  RunRecord& record = arms_[planned.arm]->record();
  ProcessRecord* process = entry_of(record, planned);
  if (!record.options.adaptive() || process->status != ProcessStatus::pending) return false;
  const std::set<std::string> troubled = troubled_cases(processes());
  std::erase_if(process->cases, [&](const std::string& name) { return troubled.contains(name); });
  if (!process->cases.empty()) return false;
  record.processes.erase(record.processes.begin() + (process - record.processes.data()));
  return true;
}

int Runner::measure_one(const Planned& planned, ProcessRecord& process) {
  const Clock::time_point start = Clock::now();
  Watch watch;
  watch.tick_seconds = progress_.on_terminal() ? 0.25 : 1;
  watch.on_tick = [&](const CaseProgress& at) { show(planned, at, seconds_since(start)); };
  return arms_[planned.arm]->measure(process, signals_, watch);
}

std::vector<ProcessRecord> Runner::processes() const {
  std::vector<ProcessRecord> all;
  for (const auto& arm : arms_) {
    const std::vector<ProcessRecord>& some = arm->record().processes;
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

void Runner::drop_rounds_from(int round) {
  for (const auto& arm : arms_) {
    RunRecord& record = arm->record();
    std::erase_if(record.processes, [&](const ProcessRecord& process) { return process.process >= round; });
    const std::string after = record.options.adaptive()
                                  ? counted(round, "round") + " of processes"
                                  : std::to_string(round) + " of " +
                                        counted(record.options.processes, "process") + " of each operator";
    record.notes.push_back("stopped after " + after + ": one more would pass the budget of " +
                           duration_text(record.options.budget_seconds));
  }
}

void Runner::show(const Planned& planned, const CaseProgress& at, double seconds) {
  if (!progress_.due()) return;
  const std::vector<ProcessRecord> all = processes();
  std::size_t index = 0;
  for (std::size_t arm = 0; arm < planned.arm; ++arm) index += arms_[arm]->record().processes.size();
  RunRecord& record = arms_[planned.arm]->record();
  index += static_cast<std::size_t>(entry_of(record, planned) - record.processes.data());
  const Forecast ahead = forecast(all, all[index], seconds, at.done);
  const double elapsed = seconds_since(start_);
  std::string line;
  if (stopped_) {
    line = "round " + std::to_string(planned.round + 1) + ", " + counted(*stopped_, "case") + " stopped, ";
  }
  line += counted(ahead.cases_left, "case") + " left, " + duration_text(elapsed);
  if (ahead.seconds_left >= 0) {
    // Rounds that the budget will not let begin are not worth waiting for.
    const double limit = std::max(0.0, record.options.budget_seconds - elapsed);
    line += " + about " +
            duration_text(planned.round > 0 ? std::min(ahead.seconds_left, limit) : ahead.seconds_left);
  }
  progress_.show(line + "  " + (at.name.empty() ? planned.operator_name : at.text()));
}

}  // namespace strictbench::runner
