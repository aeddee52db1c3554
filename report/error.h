/// Errors that end a command with exit code 2: the input or the command line is unusable.
#pragma once
#include <stdexcept>

namespace strictbench {

/// Unusable input or command line. `what()` is one line: which file or option, where, why, what to do.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace strictbench
