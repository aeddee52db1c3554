#include "report/row_name.h"

namespace strictbench {

std::string_view without_suffix(std::string_view name) {
  const std::string_view timer = timer_of(name);
  if (timer.empty()) return name;
  return name.substr(0, static_cast<std::size_t>(timer.data() + timer.size() - name.data()));
}

const Evidence* counterpart(const Side& side, const std::string& name) {
  constexpr std::string_view suffix = "/manual_time";
  const Evidence* found = side.find(name);
  if (found != nullptr || timer_of(name).empty()) return found;
  if (name.size() > suffix.size() && name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0) {
    return side.find(std::string_view(name).substr(0, name.size() - suffix.size()));
  }
  return side.find(std::string(name).append(suffix));
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
