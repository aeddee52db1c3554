#include "report/output_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <regex>
#include <string_view>

#include "report/error.h"
#include "report/text.h"

namespace strictbench {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw UsageError(printable(path) + ": cannot be written: " + why);
}

/// Writes all of it; whether it went through. A stream keeps no reason, errno does.
bool complete(std::ostream& out, const std::function<void(std::ostream&)>& write) {
  errno = 0;
  write(out);
  out.flush();
  return static_cast<bool>(out);
}

std::string reason() { return errno != 0 ? std::strerror(errno) : "writing failed"; }

/// A temporary file that goes away unless it is renamed.
class Temporary {
 public:
  explicit Temporary(fs::path path) : path_(std::move(path)) {}
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove(path_, ignored);
  }
  const fs::path& path() const { return path_; }
  void release() { path_.clear(); }

 private:
  fs::path path_;
};

}  // namespace

void write_file(const std::string& path, const std::function<void(std::ostream&)>& write) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) refuse(path, "it is a folder");
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    std::ofstream out(path, std::ios::binary);
    if (!complete(out, write)) refuse(path, reason());
    return;
  }
  // A link stays a link; the file it names is replaced.
  fs::path target = fs::weakly_canonical(path, error);
  if (error || target.empty()) target = path;
  Temporary temporary(target.string() + ".tmp" + std::to_string(::getpid()));
  std::ofstream out(temporary.path(), std::ios::binary | std::ios::trunc);
  if (!out) refuse(path, std::strerror(errno));
  if (!complete(out, write)) refuse(path, reason());
  out.close();
  fs::rename(temporary.path(), target, error);
  if (error) refuse(path, error.message());
  temporary.release();
}

namespace {

/// What commands read of a result folder.
bool is_of_a_result(const std::string& name) {
  static const std::regex pattern(R"(run\.json|.+\.[0-9]+\.json|.+\.kernels\.json)");
  return std::regex_match(name, pattern);
}

}  // namespace

void require_apart(const std::string& output, const std::vector<std::string>& inputs) {
  std::error_code error;
  if (output.empty() || fs::is_directory(output, error)) return;  // which write_file() refuses
  if (fs::exists(output, error) && !fs::is_regular_file(output, error)) return;
  fs::path target = fs::weakly_canonical(output, error);
  if (error || target.empty()) target = output;
  for (const std::string& input : inputs) {
    const bool in_it = fs::is_directory(input, error) && fs::equivalent(input, target.parent_path(), error) &&
                       is_of_a_result(target.filename().string());
    if (in_it || fs::equivalent(input, target, error))
      throw UsageError(printable(output) + ": is read here, and would be overwritten: name another --output");
  }
}

void write_stdout(const std::function<void(std::ostream&)>& write) {
  if (complete(std::cout, write)) return;
  if (errno == EPIPE) throw ReaderGone();  // a command that measures has SIGPIPE ignored
  throw UsageError("standard output: " + reason());
}

bool stdout_takes_colour() {
  const char* no_colour = std::getenv("NO_COLOR");
  if (no_colour != nullptr && *no_colour != 0) return false;
  const char* terminal = std::getenv("TERM");
  if (terminal != nullptr && std::string_view(terminal) == "dumb") return false;
  return ::isatty(STDOUT_FILENO) == 1;
}

}  // namespace strictbench
