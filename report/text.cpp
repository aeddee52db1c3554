#include "report/text.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace strictbench {
namespace {

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t bytes = 1;
  bool valid = false;
};

/// The code point that starts at `at`; invalid ones are one byte long.
CodePoint decode(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  if (first < 0x80) return {first, 1, true};
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || at + length > text.size()) return {first, 1, false};
  std::uint32_t value = first & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0U) != 0x80) return {first, 1, false};
    value = value << 6U | (byte(at + i) & 0x3FU);
  }
  const bool overlong = (length == 3 && value < 0x800) || (length == 4 && value < 0x10000);
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (overlong || surrogate || value > 0x10FFFF) return {first, 1, false};
  return {value, length, true};
}

/// Characters that change how the text around them is shown.
bool disturbs(std::uint32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x061C || c == 0x200E || c == 0x200F ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) || c == 0xFEFF || c == 0xFFFE ||
         c == 0xFFFF;
}

std::string escaped(const CodePoint& c) {
  std::array<char, 16> buffer{};
  std::snprintf(buffer.data(), buffer.size(), c.valid && c.value > 0xFF ? "\\u{%x}" : "\\x%02x", c.value);
  return buffer.data();
}

bool is_word(char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = decode(text, at);
    if (!c.valid || disturbs(c.value)) {
      result += escaped(c);
    } else {
      result += text.substr(at, c.bytes);
    }
    at += c.bytes;
  }
  return result;
}

std::string markdown_text(std::string_view text) {
  const std::string safe = printable(text);
  const auto word_at = [&](std::size_t i) { return i < safe.size() && is_word(safe[i]); };
  std::string result;
  for (std::size_t i = 0; i < safe.size(); ++i) {
    const char c = safe[i];
    const bool harmless = is_word(c) || static_cast<unsigned char>(c) >= 0x80 ||
                          std::string_view(" .,;/%=-()'?").find(c) != std::string_view::npos ||
                          (c == '+' && i > 0) || (c == '_' && i > 0 && word_at(i - 1) && word_at(i + 1)) ||
                          // `:name:` would turn into an emoji.
                          (c == ':' && (i + 1 == safe.size() || safe[i + 1] == ' '));
    // An entity is never markup, wherever it stands.
    if (harmless) {
      result += c;
    } else {
      result += "&#";
      result += std::to_string(static_cast<int>(c));
      result += ';';
    }
  }
  return result;
}

std::string markdown_code(std::string_view name) {
  bool harmless = !name.empty();
  for (const char c : name) {
    harmless = harmless && (is_word(c) || std::string_view("_/:.,+=-").find(c) != std::string_view::npos);
  }
  std::string result = harmless ? "`" : "<code>";
  result += harmless ? std::string(name) : markdown_text(name);
  return result += harmless ? "`" : "</code>";
}

std::string xml_text(std::string_view text) {
  std::string result;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&apos;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  for (std::size_t at = 0; at < text.size(); at += decode(text, at).bytes) ++columns;
  return columns;
}

std::string pad_right(std::string text, std::size_t width) {
  const std::size_t columns = columns_of(text);
  if (columns < width) text.append(width - columns, ' ');
  return text;
}

std::string pad_left(std::string text, std::size_t width) {
  const std::size_t columns = columns_of(text);
  return columns < width ? std::string(width - columns, ' ').append(text) : text;
}

std::string shortened(std::string_view text, std::size_t columns) {
  constexpr std::string_view dots = "...";
  if (text.size() <= columns || columns_of(text) <= columns) return std::string(text);
  // Both ends tell kernels apart: what they do, and for which type and size.
  const std::size_t tail = (columns - dots.size()) / 2;
  std::vector<std::size_t> starts;
  for (std::size_t at = 0; at < text.size(); at += decode(text, at).bytes) starts.push_back(at);
  const std::size_t head = columns - dots.size() - tail;
  std::string result(text.substr(0, starts[head]));
  result += dots;
  return result += text.substr(starts[starts.size() - tail]);
}

namespace {

/// An interval that reaches beyond what a double holds has an end all the same, in words: inf is no number.
std::string word_for(double value) {
  if (std::isnan(value)) return "unknown";
  return value < 0 ? "-unlimited" : "unlimited";
}

}  // namespace

std::string fixed(double value, int digits) {
  if (!std::isfinite(value)) return word_for(value);
  // The largest double takes 309 digits before the point.
  std::array<char, 352> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%.*f", digits, value);
  return buffer.data();
}

namespace {

/// Three or four digits that count: 3.70, 11.6, 1234.
std::string three_digits(double value) {
  if (!std::isfinite(value)) return word_for(value);
  const double size = std::abs(value);
  if (size >= 1e6 || (size < 1e-3 && size > 0)) {
    std::array<char, 32> buffer{};
    std::snprintf(buffer.data(), buffer.size(), "%.3g", value);
    return buffer.data();
  }
  return fixed(value, size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
}

}  // namespace

std::string readable_time(double nanoseconds) {
  struct Unit {
    double nanoseconds;
    const char* name;
  };
  constexpr std::array<Unit, 4> units{{{1, "ns"}, {1e3, "us"}, {1e6, "ms"}, {1e9, "s"}}};
  Unit unit = units[0];
  for (const Unit& candidate : units) {
    if (std::abs(nanoseconds) >= 0.9995 * candidate.nanoseconds) unit = candidate;
  }
  return three_digits(nanoseconds / unit.nanoseconds) + " " + unit.name;
}

std::string readable_change(double ratio) {
  if (ratio >= 2) return std::string("x ").append(three_digits(ratio));
  const double percent = (ratio - 1) * 100;
  const double size = std::abs(percent);
  std::string text = percent < 0 ? "-" : "+";
  return text.append(size < 9.995 ? fixed(size, 2) : three_digits(size)).append(" %");
}

std::string speedup_text(double speedup) {
  // Three digits of what is over 0.1; four places show a ratio of a thousandth.
  return fixed(speedup, speedup < 0.0995 ? 4 : speedup < 9.995 ? 2 : speedup < 99.95 ? 1 : 0) + " x";
}

std::string counted(std::size_t count, std::string_view one, std::string_view many) {
  if (count == 1 || !many.empty()) return std::to_string(count) + " " + std::string(count == 1 ? one : many);
  return std::to_string(count) + " " + std::string(one) + (one.ends_with('s') ? "es" : "s");
}

std::string readable_number(double value) {
  constexpr std::array<const char*, 5> prefixes{"", " k", " M", " G", " T"};
  std::size_t step = 0;
  while (std::abs(value) >= 999.5 && step + 1 < prefixes.size()) {
    value /= 1000;
    ++step;
  }
  return three_digits(value) + prefixes[step];
}

}  // namespace strictbench
