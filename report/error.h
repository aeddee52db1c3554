/// What ends a command before its time.
#pragma once
#include <stdexcept>

namespace strictbench {

/// Unusable input or command line: exit code 2. `what()` is one line: which file or option, where, why, what
/// to do.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Nobody reads standard output any more (`| head`). No std::exception, since there is nothing to tell: the
/// command ends as SIGPIPE would end it.
struct ReaderGone {};

}  // namespace strictbench
