/// Where a report goes.
#pragma once
#include <functional>
#include <ostream>
#include <string>
#include <vector>

namespace strictbench {

/// Writes a file in full or not at all: to a temporary name beside it, then renamed. What is no regular file
/// (a pipe, /dev/null) is written directly. Throws UsageError; nothing of a failed attempt is left behind.
void write_file(const std::string& path, const std::function<void(std::ostream&)>& write);

/// Throws UsageError where writing `output` would replace what is read: one of `inputs`, or a file that a
/// result folder among them is made of.
void require_apart(const std::string& output, const std::vector<std::string>& inputs);

/// Writes to standard output. Throws UsageError where that fails, for example on a full disk, and ReaderGone
/// where nobody reads it.
void write_stdout(const std::function<void(std::ostream&)>& write);

/// Whether standard output takes colours: a terminal, and NO_COLOR not set.
bool stdout_takes_colour();

}  // namespace strictbench
