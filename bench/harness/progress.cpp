#include "bench/harness/progress.h"

#include <unistd.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <string>

namespace strictbench {

void Progress::operator()(std::string_view row_name, std::size_t index, std::string_view phase) const {
  if (descriptor_ < 0) return;
  const nlohmann::ordered_json line{
      {"case", row_name}, {"index", index}, {"total", total_}, {"phase", phase}};
  const std::string text = line.dump() + "\n";
  // Nobody reading any more is no reason to stop measuring.
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  [[maybe_unused]] const auto written = write(descriptor_, text.data(), text.size());
  std::signal(SIGPIPE, before);
}

}  // namespace strictbench
