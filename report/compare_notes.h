/// What a comparison has to say beside its rows.
#pragma once
#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "report/compare.h"
#include "report/results.h"
#include "report/statistics.h"

namespace strictbench {

/// What came up while rows were sorted out and judged.
struct NoteFacts {
  std::size_t assumed = 0;          // rows whose spread between processes was assumed
  std::size_t few = 0;              // rows of so few processes that it counts as at least the assumed one
  std::size_t from_baseline = 0;    // rows of one contender process, judged by the baseline's record
  std::size_t baseline_absent = 0;  // baseline rows without a usable number
  std::string first_absent;
  std::string first_absent_reason;
  std::size_t published = 0;
  std::size_t not_asked = 0;    // baseline rows that the contender's run was not asked for
  std::set<std::size_t> pairs;  // numbers of pairs that rows have, where they are compared pair by pair
  int looks = 1;
  bool across_sessions = false;
  bool threshold_given = false;
  std::vector<std::pair<std::string, SessionSpread>> session_spread;  // by timer
};

std::vector<std::string> notes_of(const Comparison& comparison, const NoteFacts& facts, const Side& baseline,
                                  const Side& contender);

}  // namespace strictbench
