#include "bench/strictbench/device_lock.h"

#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "bench/strictbench/files.h"
#include "bench/strictbench/fresh_run.h"
#include "bench/strictbench/machine.h"
#include "bench/strictbench/plan.h"
#include "report/error.h"
#include "report/text.h"

namespace fs = std::filesystem;

namespace strictbench::runner {
namespace {

constexpr int milliseconds_between_looks = 200;
/// Between taking the lock and writing who took it an owner has no name, or the name of the one before.
constexpr int milliseconds_for_a_name = 200;
constexpr int milliseconds_between_looks_for_a_name = 10;

[[noreturn]] void fail(const fs::path& path, int error) {
  throw UsageError(
      "cannot lock " + path.string() + ": " + std::strerror(error) +
      "; name a folder for locks that all users of this machine can write to in STRICTBENCH_LOCKS");
}

/// A file that any user may lock and write, and that none may put a link in place of.
int open_shared(const fs::path& path) {
  constexpr int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW;
  for (;;) {
    // Without O_CREAT first: in a sticky folder the kernel refuses it for a file of another user.
    int descriptor = open(path.c_str(), flags);
    if (descriptor >= 0) return descriptor;
    if (errno != ENOENT) fail(path, errno);
    descriptor = open(path.c_str(), flags | O_CREAT | O_EXCL, 0666);
    if (descriptor >= 0) {
      fchmod(descriptor, 0666);  // whatever the umask
      return descriptor;
    }
    if (errno != EEXIST) fail(path, errno);
  }
}

/// Whether `path` still is the file that is open: one that a cleaner of old files took away locks nobody out.
bool still_there(int descriptor, const fs::path& path) {
  struct stat open_file {};
  struct stat named {};
  return fstat(descriptor, &open_file) == 0 && stat(path.c_str(), &named) == 0 &&
         open_file.st_ino == named.st_ino && open_file.st_dev == named.st_dev;
}

/// A device in the name of a file.
std::string name_of(const std::string& device) {
  std::string name = device;
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-') c = '_';
  }
  return name;
}

std::string user_name() {
  const passwd* entry = getpwuid(geteuid());
  return entry != nullptr ? entry->pw_name : "user " + std::to_string(geteuid());
}

void write_owner(int descriptor) {
  std::string command;
  for (const std::string& word : own_command_line())
    command += (command.empty() ? "" : " ") + shell_word(word);
  const nlohmann::ordered_json owner{
      {"pid", getpid()}, {"user", user_name()}, {"since", utc_readable()}, {"command", command}};
  const std::string text = owner.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  // The lock holds without its owner's name too: on a full disk nobody need know who it is.
  if (ftruncate(descriptor, 0) != 0) return;
  [[maybe_unused]] const ssize_t written = pwrite(descriptor, text.data(), text.size(), 0);
}

struct Owner {
  std::string text = "another process";
  bool certain = false;  ///< it has a name, and that of a process that there is
};

/// "alice, process 123, since 2026-11-29T10:15:00Z: strictbench run --filter row_fold/".
Owner owner_of(int descriptor) {
  char text[4096];
  const ssize_t size = pread(descriptor, text, sizeof text, 0);
  const nlohmann::json owner = nlohmann::json::parse(text, text + std::max<ssize_t>(size, 0), nullptr, false);
  if (!owner.is_object()) return {};
  const auto word = [&](const char* key) {
    const auto found = owner.find(key);
    return found != owner.end() && found->is_string() ? printable(found->get<std::string>())
                                                      : std::string("?");
  };
  const auto pid = owner.find("pid");
  // In another container the numbers of processes are others: then it is named, after a while, all the same.
  const bool there = pid != owner.end() && pid->is_number_unsigned() && pid->get<std::uint64_t>() > 0 &&
                     pid->get<std::uint64_t>() <= std::numeric_limits<pid_t>::max() &&
                     (kill(pid->get<pid_t>(), 0) == 0 || errno != ESRCH);
  return {word("user") + ", process " + (pid != owner.end() ? printable(pid->dump()) : "?") + ", since " +
              word("since") + ": " + word("command"),
          there};
}

}  // namespace

fs::path lock_folder() {
  if (const char* named = std::getenv("STRICTBENCH_LOCKS"); named != nullptr && *named != '\0') return named;
  // Not where *we* may write, but where everybody may: all users must come to the same answer.
  struct stat folder {};
  const bool shared = stat("/run/lock", &folder) == 0 && S_ISDIR(folder.st_mode) &&
                      (folder.st_mode & (S_ISVTX | S_IRWXO)) == (S_ISVTX | S_IRWXO);
  return shared ? "/run/lock" : "/tmp";
}

DeviceLocks::~DeviceLocks() {
  for (const auto& [device, descriptor] : held_) close(descriptor);
}

bool DeviceLocks::holds(const std::string& device) const { return held_.contains(name_of(device)); }

void DeviceLocks::give_back(const std::string& device) {
  const auto found = held_.find(name_of(device));
  if (found == held_.end()) return;
  close(found->second);
  held_.erase(found);
}

void DeviceLocks::take(const std::string& device) {
  const std::string name = name_of(device);
  if (held_.contains(name)) return;
  std::error_code ignored;  // told by what follows
  fs::create_directories(lock_folder(), ignored);
  const fs::path path = lock_folder() / ("strictbench." + name + ".lock");
  const auto wait = [&](int milliseconds) {
    pollfd watched{signals_.descriptor(), POLLIN, 0};
    poll(&watched, 1, milliseconds);
    if (const int stop = signals_.received()) throw Stopped{stop};
  };
  const auto began = std::chrono::steady_clock::now();
  for (bool told = false;;) {
    const int descriptor = open_shared(path);
    const bool taken = flock(descriptor, LOCK_EX | LOCK_NB) == 0;
    const int error = errno;
    if (taken && still_there(descriptor, path)) {
      write_owner(descriptor);
      held_[name] = descriptor;
      return;
    }
    const Owner owner = taken ? Owner{} : owner_of(descriptor);
    close(descriptor);
    if (taken) continue;
    if (error != EWOULDBLOCK && error != EINTR) fail(path, error);
    if (!owner.certain && !told &&
        std::chrono::steady_clock::now() - began < std::chrono::milliseconds(milliseconds_for_a_name)) {
      wait(milliseconds_between_looks_for_a_name);
      continue;
    }
    const std::string busy = device + " is being measured by " + owner.text;
    if (!wait_) throw UsageError(busy + "; two at once would disturb each other: give --wait to queue");
    if (!told) std::fprintf(stderr, "strictbench: waiting: %s\n", busy.c_str());
    told = true;
    wait(milliseconds_between_looks);
  }
}

}  // namespace strictbench::runner
