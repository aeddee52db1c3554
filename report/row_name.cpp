#include "report/row_name.h"

#include "report/results.h"

namespace strictbench {

std::string_view without_suffix(std::string_view name) {
  const std::string_view timer = timer_of(name);
  if (timer.empty()) return name;
  return name.substr(0, static_cast<std::size_t>(timer.data() + timer.size() - name.data()));
}

RowName parse_row_name(std::string_view name) {
  constexpr std::string_view timer_key = "/timer:";
  RowName parts;
  parts.timer = timer_of(name);
  std::string_view rest = without_suffix(name);
  if (!parts.timer.empty()) rest.remove_suffix(parts.timer.size() + timer_key.size());
  const std::size_t first = rest.find('/');
  parts.op = rest.substr(0, first);
  if (first == std::string_view::npos) return parts;
  rest.remove_prefix(first + 1);
  const std::size_t second = rest.find('/');
  parts.variant = rest.substr(0, second);
  if (second != std::string_view::npos) parts.shape = rest.substr(second + 1);
  return parts;
}

}  // namespace strictbench
