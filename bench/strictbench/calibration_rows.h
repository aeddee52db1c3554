/// Sorts the rows of a calibration run: which are arms of which case, and which files are one draw.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bench/strictbench/calibration.h"
#include "report/results.h"

namespace strictbench::calibration {

/// One case while it is worked on: what is reported of it, and the row behind each of its arms.
struct Subject {
  CaseResult result;
  std::vector<const Evidence*> rows;  // as result.arms
};

/// The cases of each timer, in order of appearance.
using SubjectsByTimer = std::vector<std::pair<std::string, std::vector<Subject>>>;

/// Sorts the rows into cases. Those that cannot be judged are left out: `all` gets a note, and counts what is
/// wrong or failed. Throws UsageError where no row is an arm.
SubjectsByTimer subjects_of(const Side& times, Calibration& all);

/// The files of each round, one process of every operator: what is drawn.
using Rounds = std::map<int, std::vector<std::uint32_t>>;

/// Sorts the files into rounds by the number that every process was given. Throws UsageError where one has
/// none.
Rounds rounds_of(const Side& side);

}  // namespace strictbench::calibration
