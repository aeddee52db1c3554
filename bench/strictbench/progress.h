/// One line on a terminal that says where a run is. Into a pipe or a file it writes nothing.
#pragma once
#include <chrono>
#include <string>
#include <string_view>

namespace strictbench::runner {

/// What a benchmark executable wrote to its progress descriptor last.
struct CaseProgress {
  std::string name;
  std::string phase;
  std::size_t done = 0;  ///< cases that the process is through with

  /// Takes one line; a line that is none of the protocol's changes nothing.
  void read(std::string_view line);
  /// "row_fold/new/... (check)"; empty before the first line.
  std::string text() const;
};

class Progress {
 public:
  Progress();
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  bool on_terminal() const { return terminal_; }
  /// Whether `show` would draw now: there is a terminal and the last line is a moment old.
  bool due() const;
  /// Replaces the line, cut to the width of the terminal.
  void show(const std::string& line);
  /// Takes the line away, so that something lasting can be printed.
  void clear();

 private:
  bool terminal_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point last_{};
};

}  // namespace strictbench::runner
