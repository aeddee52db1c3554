/// What a benchmark process tells the process that started it.
#pragma once
#include <cstddef>
#include <string_view>

namespace strictbench {

/// Writes one JSON object a line to a file descriptor: {"case": ..., "index": 3, "total": 56, "phase": ...}.
class Progress {
 public:
  /// A negative descriptor: says nothing.
  Progress(int descriptor, std::size_t total) : descriptor_(descriptor), total_(total) {}
  void operator()(std::string_view row_name, std::size_t index, std::string_view phase) const;

 private:
  int descriptor_;
  std::size_t total_;
};

}  // namespace strictbench
