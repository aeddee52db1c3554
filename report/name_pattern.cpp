#include "report/name_pattern.h"

#include "report/error.h"
#include "report/text.h"

namespace strictbench {

void NamePattern::Free::operator()(regex_t* compiled) const {
  ::regfree(compiled);
  delete compiled;
}

NamePattern::NamePattern(const std::string& option, const std::string& expression) {
  constexpr std::size_t longest = 2000;  // as for a benchmark executable: it is compiled by recursion
  if (expression.size() > longest) {
    throw UsageError(option + " is an expression of " + std::to_string(expression.size()) +
                     " characters; at most " + std::to_string(longest) + " are taken");
  }
  auto compiled = std::make_unique<regex_t>();
  if (::regcomp(compiled.get(), expression.c_str(), REG_EXTENDED | REG_NOSUB) != 0) {
    throw UsageError(option + " " + printable(expression) + ": no extended regular expression");
  }
  compiled_.reset(compiled.release());
}

bool NamePattern::found_in(const std::string& name) const {
  return ::regexec(compiled_.get(), name.c_str(), 0, nullptr, 0) == 0;
}

}  // namespace strictbench
