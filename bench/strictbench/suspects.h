/// Samples that benchmark processes took while the machine was throttled or shared: how many, and why.
#pragma once
#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace strictbench::runner {

struct RunRecord;

/// Of the samples of one process, or of several. Only samples of a GPU that was watched count.
struct Suspects {
  std::size_t samples = 0;
  std::size_t suspect = 0;
  std::map<std::string, std::size_t>
      why;  ///< samples by reason: "thermal slowdown"; a sample may have several

  bool most() const { return suspect * 2 > samples; }
  bool operator==(const Suspects&) const = default;
};

/// What the rows of a result file say of themselves: their counters `watched`, `suspect` and
/// `suspect_<reason>`.
Suspects suspects_of(const nlohmann::json& document);

/// Those of all processes of a run.
Suspects suspects_of(const RunRecord& record);

/// One line for people, without its end: how many, why, and what to do where it is most of them. Empty where
/// nothing is suspect.
std::string suspect_line(const Suspects& suspects);

}  // namespace strictbench::runner
