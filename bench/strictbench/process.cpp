#include "bench/strictbench/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include "bench/strictbench/keeper.h"

namespace strictbench::runner {
namespace {

using Clock = std::chrono::steady_clock;  // a clock set back must not lengthen a time limit

constexpr std::array stop_signals{SIGINT, SIGTERM, SIGHUP};
constexpr std::size_t error_lines_kept = 20;
constexpr std::size_t error_bytes_kept = 16 << 10;
constexpr std::size_t output_bytes_kept = 64 << 20;
constexpr double seconds_to_die = 30;  // a driver may take a while to tear a GPU context down

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// A pipe whose two ends close themselves. The reading end never blocks.
struct Pipe {
  int read = -1;
  int write = -1;

  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) fail("cannot open a pipe");
    read = ends[0];
    write = ends[1];
    fcntl(read, F_SETFL, O_NONBLOCK);
  }
  ~Pipe() {
    close_end(read);
    close_end(write);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  static void close_end(int& end) {
    if (end >= 0) close(end);
    end = -1;
  }

  /// Hands what is there to `sink`, but never stays with a writer that does not stop. Closes the reading end
  /// when the last writer is gone.
  template <class Sink>
  void drain(Sink sink) {
    std::array<char, 1 << 16> buffer;
    for (int turn = 0; turn < 32 && read >= 0; ++turn) {
      const ssize_t count = ::read(read, buffer.data(), buffer.size());
      if (count > 0) {
        sink(std::string_view(buffer.data(), static_cast<std::size_t>(count)));
      } else if (count == 0) {
        close_end(read);
      } else if (errno != EINTR) {
        if (errno != EAGAIN) close_end(read);
        return;
      }
    }
  }
};

/// Puts `from` at number `to`, to be inherited by the program started next.
void inherit_as(int from, int to) {
  if (from == to) {
    fcntl(from, F_SETFD, 0);  // dup2 would leave it marked close-on-exec
  } else if (dup2(from, to) < 0) {
    _exit(127);
  }
}

/// The child's side of the fork. Errors go to its standard error, which the parent reads.
[[noreturn]] void become(const ChildCommand& command, pid_t parent, const sigset_t& mask, Pipe& output,
                         Pipe& error, Pipe& progress) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // the parent died before the line above: no signal would come
  // The pipes may stand on the numbers we are about to fill: move them out of the way first.
  const int output_copy = fcntl(output.write, F_DUPFD_CLOEXEC, 10);
  const int error_copy = fcntl(error.write, F_DUPFD_CLOEXEC, 10);
  const int progress_copy = fcntl(progress.write, F_DUPFD_CLOEXEC, 10);
  const int input = open(command.standard_input.c_str(), O_RDONLY | O_CLOEXEC);
  inherit_as(error_copy, STDERR_FILENO);
  if (input < 0) {
    dprintf(STDERR_FILENO, "cannot read %s: %s\n", command.standard_input.c_str(), std::strerror(errno));
    _exit(127);
  }
  inherit_as(input, STDIN_FILENO);
  inherit_as(output_copy, STDOUT_FILENO);
  inherit_as(progress_copy, progress_descriptor);
  signal(SIGPIPE, SIG_DFL);
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  std::vector<char*> arguments;
  for (const std::string& argument : command.arguments) {
    arguments.push_back(const_cast<char*>(argument.c_str()));  // execvp takes char* and changes nothing
  }
  arguments.push_back(nullptr);
  execvp(arguments.front(), arguments.data());
  dprintf(STDERR_FILENO, "cannot start %s: %s\n", arguments.front(), std::strerror(errno));
  _exit(127);
}

/// Cuts a stream of bytes into lines.
class Lines {
 public:
  template <class Sink>
  void add(std::string_view bytes, Sink sink) {
    for (const char byte : bytes) {
      if (byte == '\n') {
        sink(std::string_view(line_));
        line_.clear();
      } else if (line_.size() < longest) {
        line_ += byte;
      }
    }
  }

 private:
  static constexpr std::size_t longest = 1 << 16;
  std::string line_;
};

std::vector<std::string> last_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (!line.empty()) lines.push_back(line);
  }
  if (lines.size() > error_lines_kept) {
    lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(error_lines_kept));
  }
  return lines;
}

bool has_ended(pid_t child) {
  siginfo_t info{};
  // WNOWAIT: the number stays taken until the rest of the group, which is named by it, is killed too.
  if (waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) != 0) fail("waitid");
  return info.si_pid == child;
}

}  // namespace

StopSignals::StopSignals() {
  sigset_t watched;
  sigemptyset(&watched);
  sigaddset(&watched, SIGCHLD);
  for (const int number : stop_signals) {
    struct sigaction action {};
    sigaction(number, nullptr, &action);
    if (action.sa_handler != SIG_IGN) sigaddset(&watched, number);
  }
  signal(SIGCHLD, SIG_DFL);  // inherited as ignored, children would vanish unseen
  signal(SIGPIPE, SIG_IGN);  // a reader of our output that goes away must not cost the run
  if (sigprocmask(SIG_BLOCK, &watched, &mask_before_) != 0) fail("sigprocmask");
  descriptor_ = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
  if (descriptor_ < 0) fail("signalfd");
}

StopSignals::~StopSignals() {
  received();  // what is still waiting would be delivered, and end us, when the mask is lifted
  close(descriptor_);
  sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
}

int StopSignals::received() {
  signalfd_siginfo info;
  while (read(descriptor_, &info, sizeof info) == sizeof info) {
    if (first_ == 0 && info.ssi_signo != SIGCHLD) first_ = static_cast<int>(info.ssi_signo);
  }
  return first_;
}

Ending run_child(const ChildCommand& command, StopSignals& signals) {
  Ending ending;
  ending.stopped_by = signals.received();
  if (ending.stopped_by != 0) return ending;

  Pipe output, error, progress;
  const Keeper keeper;
  const Clock::time_point start = Clock::now();
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) fail("cannot start a process");
  if (child == 0) become(command, parent, signals.mask_before(), output, error, progress);
  setpgid(child, child);  // in the child too: whoever comes first
  keeper.keep(child);
  Pipe::close_end(output.write);
  Pipe::close_end(error.write);
  Pipe::close_end(progress.write);

  std::string error_text;
  Lines progress_lines;
  const auto drain = [&] {
    output.drain([&](std::string_view bytes) {
      if (command.keep_output && ending.output.size() < output_bytes_kept) ending.output += bytes;
    });
    error.drain([&](std::string_view bytes) {
      error_text += bytes;
      if (error_text.size() > 2 * error_bytes_kept) error_text.erase(0, error_text.size() - error_bytes_kept);
    });
    progress.drain([&](std::string_view bytes) {
      progress_lines.add(bytes, [&](std::string_view line) {
        if (command.on_progress) command.on_progress(line);
      });
    });
  };

  double killed_at = -1;
  // A signal or an end that comes after the next line leaves the descriptor readable: poll does not sleep.
  for (int stop = signals.received(); !has_ended(child); stop = signals.received()) {
    const double elapsed = seconds_since(start);
    if (killed_at < 0 && (stop != 0 || elapsed >= command.timeout_seconds)) {
      kill(-child, SIGKILL);  // SIGTERM is nothing to a process that waits for a GPU
      killed_at = elapsed;
      ending.stopped_by = stop;
      ending.timed_out = stop == 0;
    } else if (killed_at >= 0 && elapsed - killed_at > seconds_to_die) {
      throw std::runtime_error("process " + std::to_string(child) + " (" + command.arguments.front() +
                               ") was killed and does not end");
    }
    const double until_limit = killed_at < 0 ? command.timeout_seconds - elapsed : 1.0;
    const int wait_ms = static_cast<int>(1000 * std::clamp(until_limit, 0.0, command.tick_seconds)) + 1;
    std::array<pollfd, 4> watched{pollfd{signals.descriptor(), POLLIN, 0}, pollfd{output.read, POLLIN, 0},
                                  pollfd{error.read, POLLIN, 0}, pollfd{progress.read, POLLIN, 0}};
    if (poll(watched.data(), watched.size(), wait_ms) < 0 && errno != EINTR) fail("poll");
    drain();
    if (command.on_tick) command.on_tick();
  }
  kill(-child, SIGKILL);  // whatever the child started and left behind
  drain();
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  ending.seconds = seconds_since(start);
  if (WIFSIGNALED(status)) {
    ending.signal = WTERMSIG(status);
  } else {
    ending.exit_code = WEXITSTATUS(status);
    ending.timed_out = false;  // it made it just before the kill
  }
  ending.error_lines = last_lines(error_text);
  return ending;
}

std::string signal_name(int number) {
  const char* name = sigabbrev_np(number);
  return name ? std::string("SIG") + name : "signal " + std::to_string(number);
}

void open_missing_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) < 0 && open("/dev/null", O_RDWR) != stream) _exit(2);
  }
}

}  // namespace strictbench::runner
