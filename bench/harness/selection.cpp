#include "bench/harness/selection.h"

#include <regex.h>

#include <array>
#include <sstream>
#include <stdexcept>

namespace strictbench {
namespace {

/// The system's matcher takes a time that grows with the name, where std::regex tries every way to match: of
/// `((r|o|w)*)*x` there are more than anybody waits for.
class Expression {
 public:
  explicit Expression(const std::string& text) {
    const int error = ::regcomp(&compiled_, text.c_str(), REG_EXTENDED | REG_NOSUB);
    if (error == 0) return;
    std::array<char, 128> why{};
    ::regerror(error, &compiled_, why.data(), why.size());
    throw std::invalid_argument("filter '" + text + "' is no extended regular expression: " + why.data());
  }
  ~Expression() { ::regfree(&compiled_); }
  Expression(const Expression&) = delete;
  Expression& operator=(const Expression&) = delete;

  bool found_in(const std::string& name) const {
    return ::regexec(&compiled_, name.c_str(), 0, nullptr, 0) == 0;
  }

 private:
  regex_t compiled_{};
};

}  // namespace

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
  const Expression expression(pattern.empty() || pattern == "all" ? "." : pattern);
  std::vector<Case> cases;
  for (std::size_t s = 0; s < bench.shapes.size(); ++s) {
    const ShapeEntry& shape = bench.shapes[s];
    std::vector<Timer> timers{shape.gating};
    timers.insert(timers.end(), shape.others.begin(), shape.others.end());
    for (const Timer timer : timers)
      for (const std::string& variant : shape.variants) {
        const bool gating = timer == shape.gating;
        std::string name = row_name(bench.name, variant, shape.keys, timer);
        const bool found = expression.found_in(name) != negative;
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
