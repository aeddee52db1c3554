/// Starts one child program, watches it, and ends it: with its time limit, with a stop signal, with us.
#pragma once
#include <signal.h>
#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace strictbench::runner {

/// SIGINT, SIGTERM and SIGHUP received as data while this object lives, so that none of them ever cuts a
/// write in two. A signal that was ignored when we started (SIGHUP under nohup) stays ignored.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// The first stop signal received so far, else 0. Never blocks.
  int received();
  /// Becomes readable when a signal arrives or a child ends.
  int descriptor() const { return descriptor_; }
  /// The signal mask to give a child.
  const sigset_t& mask_before() const { return mask_before_; }

 private:
  sigset_t mask_before_{};
  int descriptor_ = -1;
  int first_ = 0;
};

/// Thrown where a stop signal ends a command early; the command exits with `exit_code()`.
struct Stopped {
  int signal;
  int exit_code() const { return 128 + signal; }
};

struct ChildCommand {
  std::vector<std::string> arguments;  ///< the first one is the path of the executable
  std::string standard_input = "/dev/null";
  double timeout_seconds = 60;
  bool keep_output = false;                                ///< keep standard output; else it is thrown away
  std::function<void(std::string_view line)> on_progress;  ///< each line written to `progress_descriptor`
  double tick_seconds = 1;
  std::function<void()> on_tick;  ///< called at least every `tick_seconds`
};

/// The file descriptor on which a child finds the pipe for its progress.
inline constexpr int progress_descriptor = 3;

/// How a child ended. Exactly one of `exit_code` (>= 0) and `signal` (> 0) is set.
struct Ending {
  int exit_code = -1;
  int signal = 0;
  bool timed_out = false;
  int stopped_by = 0;  ///< the stop signal for which we ended it, else 0
  double seconds = 0;
  std::string output;
  std::vector<std::string> error_lines;  ///< the last lines of standard error
};

/// Runs `command` in a process group of its own and returns when it has ended and nothing of its group is
/// left. The child and its group are killed when its time is up, when a stop signal arrives, and when this
/// process dies.
Ending run_child(const ChildCommand& command, StopSignals& signals);

/// "SIGSEGV" for 11: what a person searches for.
std::string signal_name(int signal);

/// Opens /dev/null on standard streams that the caller closed, lest a result file become standard error.
void open_missing_standard_streams();

}  // namespace strictbench::runner
