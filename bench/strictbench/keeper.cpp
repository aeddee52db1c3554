#include "bench/strictbench/keeper.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace strictbench::runner {
namespace {

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

/// The keeper's own life: it learns the group, then waits for the pipe to be closed, by us or by our death.
[[noreturn]] void keep_watch(int pipe) {
  setsid();  // what is sent to our group or terminal is not meant for it
  // Whatever we hold open, a lock or a pipe that somebody reads to its end, must not stay open for its sake.
  dup2(pipe, STDIN_FILENO);
  if (close_range(STDIN_FILENO + 1, ~0u, 0) != 0) {
    for (int other = STDIN_FILENO + 1; other < 1024; ++other) close(other);
  }
  pid_t group = 0;
  for (pid_t next = 0;;) {
    const ssize_t count = read(STDIN_FILENO, &next, sizeof next);
    if (count == sizeof next) group = next;
    if (count == 0 || (count < 0 && errno != EINTR)) break;
  }
  if (group > 1) kill(-group, SIGKILL);
  _exit(0);
}

}  // namespace

Keeper::Keeper() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail("cannot open a pipe");
  pid_ = fork();
  if (pid_ == 0) keep_watch(ends[0]);
  const int error = errno;
  close(ends[0]);
  pipe_ = ends[1];
  if (pid_ > 0) return;
  close(pipe_);
  errno = error;
  fail("cannot start a process");
}

Keeper::~Keeper() {
  kill(pid_, SIGKILL);  // before the pipe is closed: the group is ended by now, its number may be another's
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  close(pipe_);
}

void Keeper::keep(pid_t group) const {
  if (write(pipe_, &group, sizeof group) != sizeof group) fail("cannot keep watch over a process");
}

}  // namespace strictbench::runner
