#include "report/input_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "report/error.h"
#include "report/text.h"

namespace strictbench {
namespace {

constexpr int milliseconds_for_a_writer = 5000;
constexpr std::size_t most_bytes = std::size_t{1} << 30U;  // of a file that is held whole

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw UsageError(printable(path) + ": " + why);
}

/// Whether a pipe has bytes or a writer, or comes to have one soon.
bool is_written_to(int descriptor) {
  pollfd watched{descriptor, POLLIN, 0};
  if (::poll(&watched, 1, milliseconds_for_a_writer) != 0) return true;
  // No byte in all that time. Where a writer has it open, as in `<(slow command)`, a read would wait for it;
  // where none has, it is at its end.
  char byte = 0;
  return ::read(descriptor, &byte, 1) != 0;
}

}  // namespace

InputFile open_input(const std::string& path) {
  // An ordinary open() of a pipe waits for a writer, for good.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) refuse(path, std::string("cannot be opened: ") + std::strerror(errno));
  InputFile file(::fdopen(descriptor, "rb"));
  if (!file) {
    ::close(descriptor);
    refuse(path, "cannot be opened: no memory");
  }
  struct stat status {};
  if (::fstat(descriptor, &status) != 0)
    refuse(path, std::string("cannot be opened: ") + std::strerror(errno));
  if (S_ISDIR(status.st_mode)) refuse(path, "is a folder, not a file");
  if (S_ISFIFO(status.st_mode) && !is_written_to(descriptor))
    refuse(path, "is a pipe that nobody writes to; give a file, or start its writer first");
  const int flags = ::fcntl(descriptor, F_GETFL);
  ::fcntl(descriptor, F_SETFL, flags & ~O_NONBLOCK);
  return file;
}

std::string read_input(const std::string& path) {
  const InputFile file = open_input(path);
  struct stat status {};
  if (::fstat(::fileno(file.get()), &status) != 0)
    refuse(path, std::string("cannot be read: ") + std::strerror(errno));
  if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode)) refuse(path, "is neither a file nor a pipe");
  const std::string too_large = "is larger than 1 GiB, and nothing that belongs here is";
  if (S_ISREG(status.st_mode) && static_cast<std::uintmax_t>(status.st_size) > most_bytes)
    refuse(path, too_large);
  std::string text;
  std::array<char, 1U << 16U> piece{};
  while (const std::size_t got = std::fread(piece.data(), 1, piece.size(), file.get())) {
    if (got > most_bytes - text.size()) refuse(path, too_large);
    text.append(piece.data(), got);
  }
  if (std::ferror(file.get()) != 0)
    refuse(path, "cannot be read to its end: " + std::string(std::strerror(errno)));
  return text;
}

bool names_file_in_folder(const std::string& name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\0", 2)) == std::string::npos;
}

}  // namespace strictbench
