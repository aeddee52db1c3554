#include "report/json_source.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <string_view>

#include "report/error.h"
#include "report/text.h"

namespace strictbench {
namespace {

constexpr std::size_t piece = std::size_t{1} << 18U;
// A longer token is no number that Google Benchmark writes; the parser is left to say what it is.
constexpr std::size_t longest_token = 4096;

enum class Kind : unsigned char { other, quote, token };

/// What a byte outside a string is: a quote, a part of a number or bare word, or anything else.
constexpr std::array<Kind, 256> make_kinds() {
  std::array<Kind, 256> kinds{};
  for (std::size_t c = 0; c < kinds.size(); ++c) {
    const bool word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (word || c == '+' || c == '-' || c == '.') kinds[c] = Kind::token;
  }
  kinds['"'] = Kind::quote;
  return kinds;
}
constexpr std::array<Kind, 256> kinds = make_kinds();

Kind kind_of(char c) { return kinds[static_cast<unsigned char>(c)]; }

/// Whether `token` is NaN or infinity, in the spellings that C and Google Benchmark have.
bool is_not_finite_word(std::string_view token) {
  if (!token.empty() && (token.front() == '-' || token.front() == '+')) token.remove_prefix(1);
  const auto is = [&](std::string_view word) {
    return token.size() == word.size() &&
           std::equal(token.begin(), token.end(), word.begin(), [](char a, char b) {
             return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
           });
  };
  return is("nan") || is("inf") || is("infinity");
}

/// Whether `token` is a number that a double cannot hold.
bool overflows(std::string_view token) {
  const std::size_t exponent = token.find_first_of("eE");
  const bool long_exponent = exponent != std::string_view::npos && token.size() - exponent > 3;
  if (!long_exponent && token.size() < 300) return false;
  const std::string text(token);
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return end == text.c_str() + text.size() && std::isinf(value);
}

void mend_token(char* token, std::size_t size) {
  constexpr std::size_t shortest = 3;  // "nan"; every number that overflows is longer
  if (size < shortest) return;
  const char second = token[token[0] == '-' || token[0] == '+' ? 1 : 0];
  const bool number = second >= '0' && second <= '9';
  const std::string_view text(token, size);
  if (number ? overflows(text) : is_not_finite_word(text)) {
    std::fill(token, token + size, ' ');
    token[0] = token[1] = '"';
  }
}

/// Mends `text` from `at` on and returns where it stopped: at `size`, or, unless `last`, at the start of a
/// token that may go on beyond it.
std::size_t mend(char* text, std::size_t at, std::size_t size, bool last, bool& in_string,
                 bool& after_backslash) {
  while (at < size) {
    if (in_string) {
      for (; at < size; ++at) {
        if (after_backslash) {
          after_backslash = false;
        } else if (text[at] == '\\') {
          after_backslash = true;
        } else if (text[at] == '"') {
          in_string = false;
          ++at;
          break;
        }
      }
      continue;
    }
    while (at < size && kind_of(text[at]) == Kind::other) ++at;
    if (at == size) break;
    if (kind_of(text[at]) == Kind::quote) {
      in_string = true;
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < size && kind_of(text[end]) == Kind::token) ++end;
    if (end - at <= longest_token) {
      if (end == size && !last) return at;
      mend_token(text + at, end - at);
    }
    at = end;
  }
  return at;
}

}  // namespace

JsonSource::JsonSource(const std::string& path) : path_(path), file_(open_input(path)), buffer_(piece) {
  refill();
}

void JsonSource::refill() {
  // What was not handed out yet, the start of a token, moves to the front.
  std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(mended_),
            buffer_.begin() + static_cast<std::ptrdiff_t>(filled_), buffer_.begin());
  passed_ += mended_;
  filled_ -= mended_;
  mended_ = 0;
  const std::size_t wanted = buffer_.size() - filled_;
  const std::size_t got = std::fread(buffer_.data() + filled_, 1, wanted, file_.get());
  if (got < wanted && std::ferror(file_.get()) != 0) {
    throw UsageError(printable(path_) + ": cannot be read past byte " +
                     std::to_string(passed_ + filled_ + got));
  }
  digest_ = digest_ * 0x9E3779B97F4A7C15U + std::hash<std::string_view>{}({buffer_.data() + filled_, got});
  filled_ += got;
  mended_ = mend(buffer_.data(), 0, filled_, got < wanted, in_string_, after_backslash_);
  position_ = mended_ == 0 ? nullptr : buffer_.data();
  limit_ = buffer_.data() + mended_;
}

void mend_json(std::string& text) {
  bool in_string = false;
  bool after_backslash = false;
  mend(text.data(), 0, text.size(), true, in_string, after_backslash);
}

void require_shallow(std::string_view text) {
  constexpr std::size_t deepest = 200;
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string) {
      if (c == '\\') ++at;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > deepest)
        throw UsageError("nested more than " + std::to_string(deepest) + " deep at byte " +
                         std::to_string(at));
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
}

}  // namespace strictbench
