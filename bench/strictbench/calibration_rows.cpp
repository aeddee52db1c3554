#include "bench/strictbench/calibration_rows.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>

#include "report/error.h"
#include "report/row_name.h"
#include "report/text.h"

namespace strictbench::calibration {

std::optional<ArmName> arm_of(std::string_view row_name) {
  const RowName parts = parse_row_name(row_name);
  const std::size_t plus = parts.variant.rfind('+');
  if (!parts.complete() || plus == std::string::npos || parts.variant.back() != '%') return std::nullopt;
  double hundredths = -1;
  const char* const end = parts.variant.data() + parts.variant.size() - 1;
  const auto read = std::from_chars(parts.variant.data() + plus + 1, end, hundredths);
  if (read.ec != std::errc{} || read.ptr != end || !(hundredths >= 0)) return std::nullopt;
  // To the nearest millionth, so that "3" is the 0.03 that was asked for.
  const double asked = std::round(hundredths * 1e4) / 1e6;
  return ArmName{parts.op + "/" + parts.variant.substr(0, plus) + "/" + parts.shape + "/timer:" + parts.timer,
                 asked};
}

std::string plain_percent(double share) {
  std::ostringstream text;
  text << share * 100 << " %";
  return text.str();
}

void Counts::add(Verdict verdict) {
  ++rows;
  switch (verdict) {
    case Verdict::slower:
      ++slower;
      break;
    case Verdict::inconclusive:
      ++inconclusive;
      break;
    case Verdict::same:
      ++same;
      break;
    case Verdict::faster:
      ++faster;
      break;
    default:
      ++other;
  }
}

void Counts::add(const Counts& counts) {
  rows += counts.rows;
  slower += counts.slower;
  inconclusive += counts.inconclusive;
  same += counts.same;
  faster += counts.faster;
  other += counts.other;
}

SubjectsByTimer subjects_of(const Side& times, Calibration& all) {
  std::vector<std::string> names;
  std::map<std::string, std::map<double, const Evidence*>> arms;
  for (const Evidence& evidence : times.benchmarks) {
    const std::optional<ArmName> arm = arm_of(evidence.name);
    if (!arm) continue;
    if (arms.find(arm->case_name) == arms.end()) names.push_back(arm->case_name);
    // A process that left no row is told under the case's own name, which Google Benchmark's suffix sets
    // apart from the rows of the others.
    const Evidence*& slot = arms[arm->case_name][arm->asked];
    if (slot == nullptr || !slot->has_number()) slot = &evidence;
  }
  if (names.empty())
    throw UsageError("no row is an arm of a calibration; give a folder that strictbench calibrate wrote");
  SubjectsByTimer timers;
  for (const std::string& name : names) {
    std::string trouble;
    Subject subject{{.name = name, .timer = std::string(timer_of(name)), .arms = {}}, {}};
    for (const auto& [asked, evidence] : arms[name]) {
      subject.result.arms.push_back({.asked = asked, .size = {}, .left_out = {}, .counts = {}});
      subject.rows.push_back(evidence);
      if (!evidence->troubles || !trouble.empty()) continue;
      const Troubles& troubles = *evidence->troubles;
      all.bad_rows += troubles.wrong + troubles.failed > 0 ? 1 : 0;
      trouble = troubles.wrong > 0    ? troubles.wrong_message
                : troubles.failed > 0 ? "failed: " + troubles.failed_message
                                      : "skipped: " + troubles.skipped_message;
    }
    if (trouble.empty() && subject.result.arms.front().asked != 0) trouble = "it has no arm without a wait";
    if (!trouble.empty()) {
      all.notes.push_back(name + " is left out: " + trouble);
      continue;
    }
    const auto place = std::find_if(timers.begin(), timers.end(),
                                    [&](const auto& timer) { return timer.first == subject.result.timer; });
    std::vector<Subject>& list =
        place != timers.end() ? place->second
                              : timers.emplace_back(subject.result.timer, std::vector<Subject>{}).second;
    list.push_back(std::move(subject));
  }
  return timers;
}

Rounds rounds_of(const Side& side) {
  Rounds rounds;
  for (std::uint32_t i = 0; i < side.sources.size(); ++i) {
    const auto stated = side.sources[i].context.find("process_index");
    int number = -1;
    if (stated != side.sources[i].context.end())
      std::from_chars(stated->second.data(), stated->second.data() + stated->second.size(), number);
    if (number < 0)
      throw UsageError(printable(side.sources[i].path) +
                       ": its context has no process_index; give a folder that strictbench calibrate wrote");
    rounds[number].push_back(i);
  }
  return rounds;
}

}  // namespace strictbench::calibration
