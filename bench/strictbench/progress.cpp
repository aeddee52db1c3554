#include "bench/strictbench/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace strictbench::runner {

void CaseProgress::read(std::string_view line) {
  const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object()) return;
  const auto word = json.find("case");
  if (word == json.end() || !word->is_string()) return;
  name = word->get<std::string>();
  const auto step = json.find("phase");
  phase = step != json.end() && step->is_string() ? step->get<std::string>() : std::string();
  const auto number = json.find("index");
  done = number != json.end() && number->is_number_unsigned() ? number->get<std::size_t>() : 0;
}

std::string CaseProgress::text() const { return phase.empty() ? name : name + " (" + phase + ")"; }

Progress::Progress() {
  const char* term = std::getenv("TERM");
  // A dumb terminal cannot take a line back.
  terminal_ = isatty(STDERR_FILENO) && !(term && std::string_view(term) == "dumb");
}

bool Progress::due() const {
  constexpr std::chrono::milliseconds between{100};
  return terminal_ && (!shown_ || std::chrono::steady_clock::now() - last_ >= between);
}

void Progress::show(const std::string& line) {
  if (!terminal_) return;
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  std::string text = line.substr(0, known ? size.ws_col - 1u : 79u);
  for (char& c : text) {
    if (!std::isprint(static_cast<unsigned char>(c))) c = '?';  // names are data, not terminal commands
  }
  std::fprintf(stderr, "\r\x1b[K%s", text.c_str());
  std::fflush(stderr);
  shown_ = true;
  last_ = std::chrono::steady_clock::now();
}

void Progress::clear() {
  if (!shown_) return;
  std::fprintf(stderr, "\r\x1b[K");
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace strictbench::runner
