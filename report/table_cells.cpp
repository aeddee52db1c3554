#include "report/table_cells.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>
#include <string_view>

#include "report/text.h"

namespace strictbench {
namespace {

struct Protocol {
  std::string_view timer;
  std::string_view words;
};
constexpr std::array<Protocol, 5> protocols{{
    {"graph", "mean of back-to-back launches replayed as a CUDA graph"},
    {"cold", "one launch, caches flushed before it, launch cost hidden"},
    {"wall", "host clock over back-to-back calls and one synchronize, divided by the calls"},
    {"event", "two events around one call of many launches"},
    {"cpu", "host clock over back-to-back calls on the CPU, divided by the calls"},
}};

/// What the benchmarks of an operator do outside of what they time.
struct Excluded {
  std::string_view op;
  std::string_view key;  // of the shapes that it holds for; empty: all
  std::string_view words;
};
constexpr std::array<Excluded, 2> excluded{{
    {"embedding_backward", "part:kernel", "sorting of the ids, allocation, zeroing of the gradient"},
    {"row_fold", "", "preparation of the inputs"},
}};

/// A speedup without its unit.
std::string factor(double speedup) {
  std::string text = speedup_text(speedup);
  return text.substr(0, text.size() - 2);
}

/// 0.02 is "2 %", 1e-6 is "0.0001 %".
std::string percent(double fraction) {
  std::array<char, 32> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%.3g %%", 100 * fraction);
  return buffer.data();
}

std::string within(double tolerance) {
  return std::isinf(tolerance) ? "within a tolerance not stated" : "within " + percent(tolerance);
}

std::string verdict_of(const Measured& measured) {
  const bool sized =
      measured.verdict == "slower" || measured.verdict == "faster" || measured.verdict == "inconclusive";
  if (!sized || std::isnan(measured.ratio)) return measured.verdict;
  return measured.verdict + " " + readable_change(measured.ratio);
}

}  // namespace

std::string ratio_cell(double ratio, double low, double high) {
  if (std::isnan(ratio)) return "";
  std::string text = speedup_text(ratio);
  if (std::isnan(low)) return text;
  return text + " (" + factor(low) + " to " + factor(high) + ")";
}

std::string floor_cell(const Measured& measured) {
  const double percents = 100 * measured.share_of_floor;
  // Ten floors and more come from a wrong one, however wrong.
  if (percents > 1000) return "over 1,000 %";
  return std::isnan(percents) ? "-" : fixed(percents, percents < 1 ? 3 : percents < 10 ? 2 : 1) + " %";
}

std::string floor_line(const SpeedupTable& table) {
  double most = 0;
  for (const OperatorTable& group : table.operators) {
    for (const TableLine& line : group.lines) {
      for (const auto& [variant, measured] : line.variants) {
        if (shows_floor(variant) && !std::isnan(measured.share_of_floor))
          most = std::max(most, measured.share_of_floor);
      }
    }
  }
  if (most == 0) return "";
  const std::string what =
      "floor / variant: the share of the floor that is reached; the floor is the least time that bytes, "
      "dependent additions and fp32 instructions leave to any implementation, by ceilings measured in the "
      "same process";
  return most > 1.05 ? what + "; more than 105 %: a ceiling was measured too low" : what;
}

std::string check_cell(const OperatorTable& group, const TableLine& line) {
  std::map<double, std::string> held_to;  // tolerance, and who was held to it
  for (const std::string& variant : group.variants) {
    const auto found = line.variants.find(variant);
    if (found == line.variants.end() || !found->second.trouble.empty()) continue;
    std::string& names = held_to[found->second.tolerance];
    names += (names.empty() ? "" : ", ") + variant;
  }
  bool all_checked = true;
  for (const auto& [variant, measured] : line.variants) {
    if (measured.trouble.rfind("wrong", 0) == 0) return "FAILED";
    all_checked = all_checked && (measured.checked || !measured.trouble.empty());
  }
  if (!all_checked) return "not stated";
  std::string cell;
  for (const auto& [tolerance, names] : held_to) {
    if (!cell.empty()) cell += "; ";
    cell += tolerance > 0 ? names + " " + within(tolerance) : "bits";
  }
  return cell;
}

std::string control_word(const TableLine& line) {
  if (!line.control) return "";
  switch (*line.control) {
    case Steadiness::steady:
      return "steady";
    case Steadiness::moved:
      return "MOVED";
    case Steadiness::unclear:
      break;
  }
  return "unclear";
}

std::string verdict_cell(const OperatorTable& group, const TableLine& line) {
  std::string each;
  std::set<std::string> distinct;
  for (const std::string& variant : group.variants) {
    const auto found = line.variants.find(variant);
    if (found == line.variants.end() || found->second.verdict.empty()) continue;
    const std::string verdict = verdict_of(found->second);
    distinct.insert(verdict);
    each += (each.empty() ? "" : ", ") + variant + " " + verdict;
  }
  return distinct.size() == 1 ? *distinct.begin() : each;
}

std::string control_note(const OperatorTable& group) {
  std::map<Steadiness, int> counts;
  int all = 0;
  for (const TableLine& line : group.lines) {
    if (!line.control) continue;
    ++counts[*line.control];
    ++all;
  }
  if (all == 0) return "";
  std::string note = counted(all, "control line") + ", where legacy and new run the same code: " +
                     std::to_string(counts[Steadiness::steady]) + " steady (all of the interval within " +
                     percent(control_threshold) + " of 1), " + std::to_string(counts[Steadiness::moved]) +
                     " MOVED, " + std::to_string(counts[Steadiness::unclear]) + " unclear";
  if (counts[Steadiness::moved] > 0) {
    note +=
        ". What moves a control is the machine or the measurement, unless the code is not the same after "
        "all: until it holds still, a gain or loss of that size on the operator's other lines proves "
        "nothing";
  }
  return note;
}

std::vector<std::string> timer_lines(const SpeedupTable& table) {
  std::set<std::string> timers;
  for (const OperatorTable& group : table.operators) {
    for (const TableLine& line : group.lines) timers.insert(line.timer);
  }
  std::vector<std::string> lines;
  for (const Protocol& protocol : protocols) {
    if (timers.count(std::string(protocol.timer)) == 0) continue;
    lines.push_back("timer " + std::string(protocol.timer) + ": " + std::string(protocol.words));
  }
  return lines;
}

std::string protocol_line(const SpeedupTable& table) {
  std::string line =
      "protocol: a time is the median of the processes' medians, a speedup the median of legacy / variant, "
      "both "
      "measured in turn in one process";
  for (const std::string& timer : timer_lines(table)) line += "; " + timer;
  return line;
}

std::string excluded_line(const SpeedupTable& table) {
  std::string line;
  for (const Excluded& one : excluded) {
    const auto concerned = [&](const TableLine& at) { return at.shape.find(one.key) != std::string::npos; };
    const auto shown = [&](const OperatorTable& group) {
      return group.op == one.op && std::ranges::any_of(group.lines, concerned);
    };
    if (std::ranges::none_of(table.operators, shown)) continue;
    line += line.empty() ? "not in the figures: " : "; ";
    line.append(one.op).append(one.key.empty() ? "" : " ").append(one.key).append(": ").append(one.words);
  }
  return line;
}

std::string tolerance_note(const SpeedupTable& table) {
  std::string held;
  for (const OperatorTable& group : table.operators) {
    for (const std::string& variant : group.variants) {
      double tolerance = 0;
      double error = no_number;
      for (const TableLine& line : group.lines) {
        const auto found = line.variants.find(variant);
        if (found == line.variants.end()) continue;
        tolerance = std::max(tolerance, found->second.tolerance);
        error = std::fmax(error, found->second.relative_error);
      }
      if (tolerance == 0) continue;
      held += (held.empty() ? "" : ", ") + group.op + " " + variant;
      held += " (" + (std::isnan(error) ? "not stated" : percent(error)) + ")";
    }
  }
  if (held.empty()) return "";
  return "check: bits, where every bit is the oracle's; within, where a relative L2 error is all that is "
         "held to, and no equality. The largest error of each: " +
         held;
}

}  // namespace strictbench
