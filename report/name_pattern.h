/// Regular expressions that are searched in names.
#pragma once
#include <regex.h>

#include <memory>
#include <string>

namespace strictbench {

/// An extended regular expression (POSIX). The system's own matcher: names come from files, and on a long one
/// std::regex runs out of stack.
class NamePattern {
 public:
  /// Throws UsageError, naming `option`, where `expression` is none.
  NamePattern(const std::string& option, const std::string& expression);

  /// Whether it is found anywhere in `name`.
  bool found_in(const std::string& name) const;

 private:
  struct Free {
    void operator()(regex_t* compiled) const;
  };
  std::unique_ptr<regex_t, Free> compiled_;
};

}  // namespace strictbench
