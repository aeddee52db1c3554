#include "report/fuzz/checks.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <sstream>
#include <unordered_set>
#include <vector>

#include "report/fuzz/fuzzing.h"

namespace strictbench::fuzz {
namespace {

std::string excerpt(std::string_view text, std::size_t at) {
  const std::size_t from = at < 40 ? 0 : at - 40;
  return "'" + std::string(text.substr(from, 100)) + "'";
}

/// Length of the UTF-8 sequence at `at`, and its code point; a length of 0 where there is none.
std::size_t sequence(std::string_view text, std::size_t at, unsigned& point) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned>(static_cast<unsigned char>(text[i])); };
  const unsigned first = byte(at);
  const std::size_t length = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (length == 0 || first > 0xF4 || at + length > text.size()) return 0;
  point = length == 1 ? first : first & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0U) != 0x80) return 0;
    point = point << 6U | (byte(at + i) & 0x3FU);
  }
  return length;
}

bool obeyed(unsigned point) {
  return point < 0x20 || (point >= 0x7F && point < 0xA0) || point == 0x61C || point == 0x200E ||
         point == 0x200F || (point >= 0x2028 && point <= 0x202E) || (point >= 0x2066 && point <= 0x2069);
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  line.remove_prefix(1);
  for (std::size_t end = line.find('|'); end != std::string_view::npos; end = line.find('|')) {
    cells.push_back(line.substr(0, end));
    line.remove_prefix(end + 1);
  }
  require(line.empty(), "a row of a table goes on behind its last pipe: " + excerpt(line, 0));
  return cells;
}

/// Takes elements apart just far enough to see that they fit.
class Xml {
 public:
  explicit Xml(std::string_view text) : text_(text) {}

  void check() {
    constexpr std::string_view head = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
    hold(text_.starts_with(head), "no XML declaration");
    at_ = head.size();
    std::size_t roots = 0;
    while (at_ < text_.size()) {
      if (text_[at_] == '<') {
        roots += open_.empty() ? 1 : 0;
        tag();
      } else {
        hold(!open_.empty() || text_[at_] == '\n', "text outside the root");
        character('<');
      }
    }
    hold(roots == 1 && open_.empty(), "not one root element that is closed");
  }

 private:
  void hold(bool holds, const char* what) const {
    if (!holds) throw Violation(std::string("XML: ") + what + " at " + excerpt(text_, at_));
  }
  char peek() const {
    hold(at_ < text_.size(), "ends inside a tag");
    return text_[at_];
  }
  /// One character of text or of an attribute, neither `end` nor markup.
  void character(char end) {
    const char c = text_[at_];
    hold(c != '<' && c != '>' && c != end, "a character that must be escaped");
    if (c != '&') {
      ++at_;
      return;
    }
    for (const std::string_view entity : {"&amp;", "&lt;", "&gt;", "&quot;", "&apos;"}) {
      if (!text_.substr(at_).starts_with(entity)) continue;
      at_ += entity.size();
      return;
    }
    hold(false, "an ampersand that is no entity");
  }
  std::string_view name() {
    const std::size_t from = at_;
    while (peek() == '-' || (peek() >= 'a' && peek() <= 'z')) ++at_;
    hold(at_ > from, "no name");
    return text_.substr(from, at_ - from);
  }
  void tag() {
    ++at_;
    if (peek() == '/') {
      ++at_;
      const std::string_view closed = name();
      hold(!open_.empty() && open_.back() == closed, "an element is closed that is not open");
      open_.pop_back();
      hold(peek() == '>', "an unfinished tag");
      ++at_;
      return;
    }
    open_.push_back(name());
    while (peek() == ' ') {
      ++at_;
      name();
      hold(text_.substr(at_, 2) == "=\"", "an attribute without a quoted value");
      at_ += 2;
      while (peek() != '"') character('"');
      ++at_;
    }
    if (peek() == '/') {
      ++at_;
      open_.pop_back();
    }
    hold(peek() == '>', "an unfinished tag");
    ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<std::string_view> open_;
};

bool is_bare_word(std::string_view cell) {
  for (const std::string_view word : {"nan", "inf", "infinity"}) {
    for (std::size_t at = cell.find(word); at != std::string_view::npos; at = cell.find(word, at + 1)) {
      const auto letter = [&](std::size_t i) {
        return i < cell.size() && std::isalnum(static_cast<unsigned char>(cell[i])) != 0;
      };
      if (!(at > 0 && letter(at - 1)) && !letter(at + word.size())) return true;
    }
  }
  return false;
}

}  // namespace

void check_terminal(std::string_view text, bool colour) {
  constexpr std::array<std::string_view, 8> colours{"\x1b[0m",    "\x1b[31m",   "\x1b[32m",   "\x1b[33m",
                                                    "\x1b[1;31m", "\x1b[1;32m", "\x1b[1;33m", "\x1b[1m"};
  for (std::size_t at = 0; at < text.size();) {
    if (colour && text[at] == '\x1b') {
      const auto own = std::ranges::find_if(
          colours, [&](std::string_view one) { return text.substr(at).starts_with(one); });
      require(own != colours.end(), "an escape of a name's making at " + excerpt(text, at));
      at += own->size();
      continue;
    }
    unsigned point = 0;
    const std::size_t length = sequence(text, at, point);
    require(length > 0, "not UTF-8 at " + excerpt(text, at));
    require(point == '\n' || !obeyed(point), "a character that a terminal obeys at " + excerpt(text, at));
    at += length;
  }
}

void check_markdown(std::string_view text) {
  check_terminal(text);
  std::size_t columns = 0;
  for (const std::string_view line : lines_of(text)) {
    for (std::size_t at = line.find('<'); at != std::string_view::npos; at = line.find('<', at + 1)) {
      const std::string_view rest = line.substr(at);
      require(rest.starts_with("<code>") || rest.starts_with("</code>"), "a raw tag at " + excerpt(line, at));
    }
    if (line.empty() || line.front() != '|') {
      require(line.find('|') == std::string_view::npos, "a raw pipe at " + excerpt(line, 0));
      columns = 0;
      continue;
    }
    const std::size_t here = cells_of(line).size();
    require(columns == 0 || here == columns, "a row with other columns than its head: " + std::string(line));
    columns = here;
  }
}

void check_numbers(std::string_view markdown, std::initializer_list<std::size_t> names) {
  for (const std::string_view line : lines_of(markdown)) {
    if (line.empty() || line.front() != '|') continue;
    const std::vector<std::string_view> cells = cells_of(line);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const bool named = std::ranges::find(names, i) != names.end();
      require(named || !is_bare_word(cells[i]), "a bare nan or inf in " + std::string(line));
    }
  }
}

void check_xml(std::string_view text) {
  check_terminal(text);
  Xml(text).check();
}

nlohmann::json check_json(const std::string& text) {
  check_terminal(text);
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    throw Violation(std::string("output is no JSON: ") + error.what());
  }
}

void check_error(const std::exception& error) {
  const std::string_view text = error.what();
  require(!text.empty(), "an error without a message");
  require(text.find('\n') == std::string_view::npos, "an error of several lines: " + std::string(text));
  check_terminal(text);
}

void check_annotations(std::string_view text) {
  check_terminal(text);
  for (const std::string_view line : lines_of(text)) {
    const bool own =
        line.starts_with("::error ") || line.starts_with("::warning ") || line.starts_with("::notice ");
    require(own, "a line that is no annotation: " + excerpt(line, 0));
    const std::size_t message = line.find("::", 2);
    require(message != std::string_view::npos, "an annotation without a message: " + excerpt(line, 0));
  }
}

}  // namespace strictbench::fuzz
