/// The loop of a run, over one build or two: starts what is planned, then asks whether more is needed.
#pragma once
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bench/strictbench/arm.h"
#include "bench/strictbench/process.h"

namespace strictbench::runner {

/// One process to start: an entry of an arm's record.
struct Planned {
  std::size_t arm = 0;
  std::string operator_name;
  int round = 0;
};

/// The rounds to add, and the cases that they measure.
struct More {
  int rounds = 0;  ///< 0: enough
  std::set<std::string> open;
};

/// Adds the processes of round `round` to the records, one record for each arm, and returns them in the order
/// in which they are to be started. `open`: measure these cases alone; null: all that are selected.
std::vector<Planned> plan_round(const std::vector<RunRecord*>& records, int round,
                                const std::set<std::string>* open);

/// Runs of one or several builds at once, their processes in turn, on one budget.
class Runner {
 public:
  /// `more` is asked each time when everything planned is measured, with the number of rounds so far.
  using AskForMore = std::function<More(int rounds)>;

  Runner(std::vector<std::unique_ptr<Arm>> arms, AskForMore more, StopSignals& signals);

  /// Measures `planned` and whatever `more` adds, round by round within the budget, and finishes every arm.
  /// Returns the stop signal that ended it, else 0. Throws what Arm::begin and Arm::measure throw.
  int measure(std::vector<Planned> planned);

  /// The same for a command: where it throws, marks every record as interrupted, says why in one line on
  /// standard error, followed by `hint` where the folder holds a record, and returns nothing. A folder in
  /// which not even a record could be written is removed.
  std::optional<int> measure_or_say(std::vector<Planned> planned, const std::string& hint);

 private:
  std::string remove_empty_folders();
  int measure_all(std::vector<Planned> planned);
  int measure_planned(const std::vector<Planned>& planned);
  int measure_one(const Planned& planned, ProcessRecord& process);
  bool drop_troubled(const Planned& planned);
  std::vector<ProcessRecord> processes() const;
  void drop_rounds_from(int round);
  void show(const Planned& planned, const CaseProgress& at, double seconds);

  std::vector<std::unique_ptr<Arm>> arms_;
  AskForMore more_;
  StopSignals& signals_;
  Progress progress_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  bool out_of_budget_ = false;
  std::optional<std::size_t> stopped_;  // cases that the rounds added last leave out
};

}  // namespace strictbench::runner
