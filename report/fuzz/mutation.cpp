#include "report/fuzz/mutation.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace strictbench::fuzz {
namespace {

using namespace std::string_view_literals;

// What has a meaning to a reader or to what shows a name: numbers at the edges, markup, escapes, the formats'
// words.
constexpr std::array words{"0"sv,
                           "-1"sv,
                           "1e308"sv,
                           "-1e-308"sv,
                           "4.9e-324"sv,
                           "1e999"sv,
                           "18446744073709551615"sv,
                           "-9223372036854775808"sv,
                           "0.1"sv,
                           "NaN"sv,
                           "-Infinity"sv,
                           "inf"sv,
                           "null"sv,
                           "true"sv,
                           "\"\""sv,
                           "[]"sv,
                           "{}"sv,
                           "[["sv,
                           "\x00"sv,
                           "\\u0000"sv,
                           "\\u001b[31m"sv,
                           "\\u202e"sv,
                           "\\ud800"sv,
                           "\\n"sv,
                           "\x1b[2J"sv,
                           "\xff"sv,
                           "\xe2\x80\xae"sv,
                           "<script>"sv,
                           "|"sv,
                           "`"sv,
                           "&"sv,
                           "::error::"sv,
                           "../../x"sv,
                           "$(touch x)"sv,
                           "/manual_time"sv,
                           "_mean"sv,
                           "_stddev"sv,
                           "/timer:"sv,
                           "/legacy/"sv,
                           "/new/"sv,
                           "check failed:"sv,
                           "skipped:"sv,
                           "\"error_occurred\": true,"sv,
                           "\"skipped\": true,"sv,
                           "\"suspect\": 1,"sv,
                           "\"process\": 1,"sv,
                           "\"session\": 2,"sv,
                           "\"run_type\": \"aggregate\","sv,
                           "\"aggregate_name\": \"median\","sv,
                           "\"provenance\": \"published\","sv,
                           "\"time_unit\": \"fortnights\","sv,
                           "\"tolerance\": 1,"sv,
                           "\"floor_us\": 0.1,"sv,
                           "\n=====\n"sv,
                           ","sv,
                           "\""sv,
                           "\n"sv};

bool is_number(char c) { return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+' || c == 'e'; }

}  // namespace

std::string Mutator::next() {
  std::string text = seeds_[below(seeds_.size())];
  for (std::size_t changes = 1 + below(8); changes > 0; --changes) change(text);
  return text;
}

void Mutator::change(std::string& text) {
  const std::size_t at = below(text.size() + 1);
  const std::size_t length = std::min(below(below(64) + 1), text.size() - at);
  const std::string_view word = words[below(words.size())];
  switch (below(8)) {
    case 0:  // one bit
      if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
      break;
    case 1:
      text.erase(at, length);
      break;
    case 2:
      text.insert(at, word);
      break;
    case 3:
      text.replace(at, length, word);
      break;
    case 4:  // a piece again, elsewhere
      text.insert(below(text.size() + 1), text.substr(at, length));
      break;
    case 5: {  // a number by a word
      std::size_t begin = at;
      while (begin < text.size() && !is_number(text[begin])) ++begin;
      std::size_t end = begin;
      while (end < text.size() && is_number(text[end])) ++end;
      text.replace(begin, end - begin, word);
      break;
    }
    case 6: {  // the rest from another seed
      const std::string& other = seeds_[below(seeds_.size())];
      text = text.substr(0, at) + other.substr(below(other.size() + 1));
      break;
    }
    default: {  // a line that stands elsewhere
      const std::size_t begin = text.rfind('\n', at == 0 ? 0 : at - 1);
      const std::size_t end = text.find('\n', at);
      if (begin == std::string::npos || end == std::string::npos || end <= begin) break;
      const std::string line = text.substr(begin, end - begin);
      const std::size_t place = text.find('\n', below(text.size()));
      if (place != std::string::npos) text.insert(place, line);
    }
  }
}

}  // namespace strictbench::fuzz
