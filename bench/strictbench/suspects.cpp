#include "bench/strictbench/suspects.h"

#include <algorithm>

#include "bench/strictbench/run_record.h"

namespace strictbench::runner {
namespace {

constexpr std::string_view reason_prefix = "suspect_";

bool is_one(const nlohmann::json& row, const char* key) {
  const auto found = row.find(key);
  return found != row.end() && found->is_number() && found->get<double>() == 1;
}

}  // namespace

Suspects suspects_of(const nlohmann::json& document) {
  Suspects suspects;
  const auto rows = document.is_object() ? document.find("benchmarks") : document.end();
  if (!document.is_object() || rows == document.end() || !rows->is_array()) return suspects;
  for (const nlohmann::json& row : *rows) {
    if (!row.is_object() || row.value("run_type", nlohmann::json()) == "aggregate") continue;
    const bool suspect = is_one(row, "suspect");
    if (!suspect && !is_one(row, "watched")) continue;
    ++suspects.samples;
    if (!suspect) continue;
    ++suspects.suspect;
    for (const auto& [key, value] : row.items()) {
      if (!key.starts_with(reason_prefix)) continue;
      std::string reason = key.substr(reason_prefix.size());
      std::ranges::replace(reason, '_', ' ');
      ++suspects.why[reason];
    }
  }
  return suspects;
}

Suspects suspects_of(const RunRecord& record) {
  Suspects all;
  for (const ProcessRecord& process : record.processes) {
    all.samples += process.suspects.samples;
    all.suspect += process.suspects.suspect;
    for (const auto& [reason, samples] : process.suspects.why) all.why[reason] += samples;
  }
  return all;
}

std::string suspect_line(const Suspects& suspects) {
  if (suspects.suspect == 0) return {};
  std::string why;
  for (const auto& [reason, samples] : suspects.why) {
    why += (why.empty() ? " (" : ", ") + reason + " " + std::to_string(samples);
  }
  if (!why.empty()) why += ")";
  std::string line = "suspect: " + std::to_string(suspects.suspect) + " of " +
                     std::to_string(suspects.samples) + " samples" + why +
                     " were taken while the GPU was throttled or shared, and comparisons leave them out";
  if (suspects.most()) line += "; that is most of them: measure again when the GPU is cool and free";
  return line;
}

}  // namespace strictbench::runner
