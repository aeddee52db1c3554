#include "report/kernel_name.h"

namespace strictbench {
namespace {

/// Where the bracket that `name` ends with was opened; npos if it is never.
std::size_t opening_of_last(std::string_view name, char open, char close) {
  int depth = 0;
  for (std::size_t i = name.size(); i-- > 0;) {
    if (name[i] == close) ++depth;
    if (name[i] == open && --depth == 0) return i;
  }
  return std::string_view::npos;
}

}  // namespace

std::string short_kernel_name(std::string_view demangled) {
  // "void strictbench::(anonymous namespace)::naive<true>(Shape, float const*)": parameters go, then template
  // arguments, then everything up to the last colon or space.
  std::string_view name = demangled;
  if (name.ends_with(')')) name = name.substr(0, opening_of_last(name, '(', ')'));
  if (name.ends_with('>')) name = name.substr(0, opening_of_last(name, '<', '>'));
  if (const std::size_t last = name.find_last_of(": "); last != std::string_view::npos)
    name = name.substr(last + 1);
  return std::string(name.empty() ? demangled : name);
}

}  // namespace strictbench
