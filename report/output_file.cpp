#include "report/output_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string_view>

#include "report/error.h"
#include "report/text.h"

namespace strictbench {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw UsageError(printable(path) + ": cannot be written: " + why);
}

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
    write(out);
    out.flush();
    if (!out) refuse(path, "writing failed");
    return;
  }
  // A link stays a link; the file it names is replaced.
  fs::path target = fs::weakly_canonical(path, error);
  if (error || target.empty()) target = path;
  Temporary temporary(target.string() + ".tmp" + std::to_string(::getpid()));
  std::ofstream out(temporary.path(), std::ios::binary | std::ios::trunc);
  if (!out) refuse(path, std::strerror(errno));
  write(out);
  out.close();
  if (!out) refuse(path, "writing failed; is the disk full?");
  fs::rename(temporary.path(), target, error);
  if (error) refuse(path, error.message());
  temporary.release();
}

void write_stdout(const std::function<void(std::ostream&)>& write) {
  write(std::cout);
  std::cout.flush();
  if (!std::cout) throw UsageError("standard output: writing failed");
}

bool stdout_takes_colour() {
  const char* no_colour = std::getenv("NO_COLOR");
  if (no_colour != nullptr && *no_colour != 0) return false;
  const char* terminal = std::getenv("TERM");
  if (terminal != nullptr && std::string_view(terminal) == "dumb") return false;
  return ::isatty(STDOUT_FILENO) == 1;
}

}  // namespace strictbench
