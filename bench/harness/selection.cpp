#include "bench/harness/selection.h"

#include <regex>
#include <sstream>
#include <stdexcept>

namespace strictbench {

std::string row_name(std::string_view operator_name, std::string_view variant, std::string_view keys,
                     Timer timer) {
  std::string name;
  for (const std::string_view part : {operator_name, std::string_view("/"), variant, std::string_view("/"),
                                      keys, std::string_view("/timer:"), name_of(timer)})
    name += part;
  return name;
}

std::vector<Case> select_cases(const OperatorBench& bench, const std::string& filter) {
  const bool negative = filter.starts_with('-');
  const std::string pattern = negative ? filter.substr(1) : filter;
  const bool names_timer = filter.find("timer:") != std::string::npos;
  constexpr std::size_t longest = 2000;  // the expression is compiled by recursion
  if (filter.size() > longest)
    throw std::invalid_argument("filter of " + std::to_string(filter.size()) + " characters; at most " +
                                std::to_string(longest) + " are taken");
  std::regex expression;
  try {
    expression =
        std::regex(pattern.empty() || pattern == "all" ? "." : pattern, std::regex_constants::extended);
  } catch (const std::regex_error& error) {
    throw std::invalid_argument("filter '" + filter + "' is no extended regular expression: " + error.what());
  }
  std::vector<Case> cases;
  for (std::size_t s = 0; s < bench.shapes.size(); ++s) {
    const ShapeEntry& shape = bench.shapes[s];
    std::vector<Timer> timers{shape.gating};
    timers.insert(timers.end(), shape.others.begin(), shape.others.end());
    for (const Timer timer : timers)
      for (const std::string& variant : shape.variants) {
        const bool gating = timer == shape.gating;
        std::string name = row_name(bench.name, variant, shape.keys, timer);
        const bool found = std::regex_search(name, expression) != negative;
        cases.push_back({.name = std::move(name),
                         .variant = variant,
                         .shape = s,
                         .timer = timer,
                         .gating = gating,
                         .selected = found && (gating || names_timer),
                         .delay = std::nullopt});
      }
  }
  return cases;
}

std::vector<Case> with_delays(const OperatorBench& bench, const std::vector<Case>& cases,
                              const std::vector<double>& delays) {
  std::vector<Case> arms;
  for (const Case& c : cases)
    for (const double delay : delays) {
      std::ostringstream variant;
      variant << c.variant << '+' << delay * 100 << '%';
      Case arm = c;
      arm.name = row_name(bench.name, variant.str(), bench.shapes[c.shape].keys, c.timer);
      arm.delay = delay;
      arms.push_back(std::move(arm));
    }
  return arms;
}

}  // namespace strictbench
