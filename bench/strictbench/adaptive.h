/// How much evidence a case gets: decisions without input or output.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "bench/strictbench/run_record.h"

namespace strictbench::runner {

/// A threshold for which a run collects evidence, and the error of a whole table: compare's own defaults.
inline constexpr double evidence_threshold = 0.01;
inline constexpr double evidence_alpha = 0.01;

/// The widest half interval that counts as narrow: half of the threshold. Two sides measured alike differ by
/// chance by a third of their half width (its quantile is about three), so they come out `same` unless chance
/// throws them three times as far.
double narrow_half_width();

/// How many processes have measured each case, or tried to.
std::map<std::string, int> processes_of_cases(const std::vector<ProcessRecord>& processes);

/// Cases with a row that failed, is wrong or was skipped: more processes would tell nothing new of them.
std::set<std::string> troubled_cases(const std::vector<ProcessRecord>& processes);

/// Sorts the cases of `processes` by what is known of them. `half_widths` holds those with usable numbers;
/// one that is missing there and not troubled is as wide as can be.
EvidenceRecord evidence_of(const std::vector<ProcessRecord>& processes,
                           const std::map<std::string, double>& half_widths, const RunOptions& options);

/// "row_fold/new/rows:64/..." gives "row_fold/rows:64/...": what the variants of one shape and timer share.
std::string without_variant(const std::string& name);

/// The wide cases that may have another process, and with each the other variants of its shape: legacy and new
/// are sampled alternately, and a speedup is a pair of one process.
std::set<std::string> open_cases(const EvidenceRecord& evidence, const std::vector<ProcessRecord>& processes,
                                 const RunOptions& options);

/// One start in a round: which operator, and of which build.
struct Start {
  std::size_t operator_index = 0;
  std::size_t arm = 0;
  bool operator==(const Start&) const = default;
};

/// The starts of round `round`: operators in shuffled order, and where there are two arms, both of an
/// operator behind each other. Which arm comes first is drawn from the seed and turned over in the next
/// round, so that after every two rounds each was first as often as the other.
std::vector<Start> starts_of_round(std::size_t operators, std::size_t arms, std::uint64_t seed, int round);

/// How many processes of a case are there when two builds' rows are looked at. Each look may call a change
/// where there is none, so that the looks share the error: few looks, far apart.
std::vector<int> looks_between(int least, int most);

}  // namespace strictbench::runner
