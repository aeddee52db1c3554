#include "bench/strictbench/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <system_error>

namespace fs = std::filesystem;

namespace strictbench::runner {
namespace {

[[noreturn]] void fail(const char* what, const fs::path& path, int error) {
  throw std::system_error(error, std::generic_category(), std::string(what) + " " + path.string());
}

void make_durable(const fs::path& path, int flags) {
  const int descriptor = open(path.c_str(), flags | O_CLOEXEC);
  if (descriptor < 0) fail("cannot open", path, errno);
  const int result = fsync(descriptor);
  const int error = errno;
  close(descriptor);
  if (result != 0 && error != EINVAL) fail("cannot write", path, error);  // EINVAL: has no fsync
}

}  // namespace

std::string read_file(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) fail("cannot read", path, errno);
  std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  if (stream.bad()) fail("cannot read", path, errno);
  return text;
}

void write_whole(const fs::path& path, const std::string& text) {
  fs::path temporary = path;
  temporary += ".tmp";
  // What has the name is of a run that was killed, or a link of somebody else's, through which nothing is
  // written.
  unlink(temporary.c_str());
  const int descriptor = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (descriptor < 0) fail("cannot write", path, errno);
  for (std::size_t written = 0; written < text.size();) {
    const ssize_t count = write(descriptor, text.data() + written, text.size() - written);
    if (count > 0) {
      written += static_cast<std::size_t>(count);
    } else if (errno != EINTR) {
      const int error = errno;
      close(descriptor);
      unlink(temporary.c_str());
      fail("cannot write", path, error);
    }
  }
  close(descriptor);
  try {
    publish(temporary, path);
  } catch (...) {
    unlink(temporary.c_str());  // gone already where it was published
    throw;
  }
}

void publish(const fs::path& temporary, const fs::path& path) {
  make_durable(temporary, O_RDONLY);
  if (rename(temporary.c_str(), path.c_str()) != 0) fail("cannot write", path, errno);
  make_durable(path.parent_path(), O_RDONLY | O_DIRECTORY);
}

FolderLock::FolderLock(const fs::path& folder)
    : descriptor_(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (descriptor_ < 0) fail("cannot open", folder, errno);
  held_ = flock(descriptor_, LOCK_EX | LOCK_NB) == 0;
}

FolderLock::~FolderLock() { close(descriptor_); }

}  // namespace strictbench::runner
