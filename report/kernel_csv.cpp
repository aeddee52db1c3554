/// Reads Nsight Systems' kernel summary.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <optional>

#include "report/error.h"
#include "report/kernel_side.h"
#include "report/text.h"

namespace strictbench {
namespace {

constexpr std::string_view how_to =
    "give what nsys stats --report cuda_gpu_kern_sum --format csv writes (columns Name, Instances, Total "
    "Time)";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

/// Takes CSV apart, record by record: fields may be quoted, with quotes doubled and line breaks inside.
class CsvReader {
 public:
  explicit CsvReader(std::string_view text) : text_(text) {}

  bool at_end() const { return at_ == text_.size(); }
  /// The line, from 1, that comes next.
  std::size_t line() const { return line_; }

  /// The next line as it stands.
  std::string_view take_line() {
    const std::size_t end = text_.find('\n', at_);
    const std::string_view found = text_.substr(at_, end == std::string_view::npos ? end : end - at_);
    at_ = end == std::string_view::npos ? text_.size() : end + 1;
    ++line_;
    return found;
  }

  /// Takes one record into `fields`; returns what is wrong with its quotes, nothing where they are right.
  std::string take(std::vector<std::string>& fields) {
    std::size_t count = 0;
    bool more = true;
    while (more) {
      if (count == fields.size()) fields.emplace_back();
      const Quotes quotes = take_field(fields[count++]);
      if (quotes == Quotes::never_closed)
        return "has a quote that is never closed in column " + std::to_string(count) +
               "; is the file cut off?";
      if (quotes == Quotes::text_behind) {
        return "has text behind a closing quote in column " + std::to_string(count) +
               "; a quote within a field is written twice";
      }
      more = !at_end() && text_[at_] == ',';
      if (more) ++at_;
    }
    if (!at_end()) ++at_;
    ++line_;
    fields.resize(count);
    return {};
  }

 private:
  enum class Quotes { right, never_closed, text_behind };

  /// Stops at the comma or line break behind the field, or at the end.
  Quotes take_field(std::string& field) {
    if (at_end() || text_[at_] != '"') {
      const std::size_t end = std::min(text_.find_first_of(",\n", at_), text_.size());
      field = trimmed(text_.substr(at_, end - at_));
      at_ = end;
      return Quotes::right;
    }
    field.clear();
    for (++at_;; at_ += 2) {
      const std::size_t quote = text_.find('"', at_);
      if (quote == std::string_view::npos) return Quotes::never_closed;
      const std::string_view part = text_.substr(at_, quote - at_);
      for (const char c : part) line_ += c == '\n' ? 1 : 0;
      field += part;
      at_ = quote;
      if (quote + 1 == text_.size() || text_[quote + 1] != '"') break;
      field += '"';
    }
    const std::size_t behind = at_ + 1;
    at_ = std::min(text_.find_first_of(",\n", behind), text_.size());
    // A carriage return at most.
    return trimmed(text_.substr(behind, at_ - behind)).empty() ? Quotes::right : Quotes::text_behind;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
};

/// Where the columns stand that are wanted.
struct Columns {
  std::size_t name = 0;
  std::size_t launches = 0;
  std::size_t total = 0;
  double nanoseconds = 1;  // in the unit of the total
  std::size_t count = 0;
  const char* twice = nullptr;  // one that stands there twice, so that nobody can say which is meant
};

/// The unit of a heading such as `Total Time (ns)`; 0 where it is none of the times.
double unit_of_total(std::string_view heading) {
  constexpr std::string_view title = "Total Time";
  if (heading.substr(0, title.size()) != title) return 0;
  const std::string_view unit = trimmed(heading.substr(title.size()));
  struct Unit {
    std::string_view name;
    double nanoseconds;
  };
  constexpr std::array<Unit, 6> units{
      {{"", 1}, {"(ns)", 1}, {"(us)", 1e3}, {"(\xce\xbcs)", 1e3}, {"(ms)", 1e6}, {"(s)", 1e9}}};
  for (const Unit& known : units) {
    if (known.name == unit) return known.nanoseconds;
  }
  return 0;
}

/// The columns of a header of a kernel summary; nothing where the line is none.
std::optional<Columns> header_of(std::string_view line) {
  if (line.find("Total Time") == std::string_view::npos) return std::nullopt;
  std::vector<std::string> fields;
  if (!CsvReader(line).take(fields).empty()) return std::nullopt;
  Columns columns;
  columns.count = fields.size();
  bool name = false;
  bool launches = false;
  bool total = false;
  const auto found = [&](bool& before, std::size_t& place, std::size_t i, const char* title) {
    if (before) columns.twice = title;
    before = true;
    place = i;
  };
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::string_view heading = trimmed(fields[i]);
    if (heading == "Name") {
      found(name, columns.name, i, "Name");
    } else if (heading == "Instances") {
      found(launches, columns.launches, i, "Instances");
    } else if (const double unit = unit_of_total(heading); unit > 0) {
      found(total, columns.total, i, "Total Time");
      columns.nanoseconds = unit;
    }
  }
  if (!name || !launches || !total) return std::nullopt;
  return columns;
}

class KernelCsv {
 public:
  KernelCsv(std::string_view text, const std::string& path) : reader_(text), path_(path) {}

  std::vector<KernelUse> read(std::vector<std::string>& notes, bool ends_with_line_break) {
    find_header();
    std::vector<KernelUse> kernels;
    std::vector<std::string> fields;
    while (!reader_.at_end()) {
      const std::size_t line = reader_.line();
      if (const std::string fault = reader_.take(fields); !fault.empty()) refuse(line, fault);
      const bool blank = fields.size() == 1 && fields[0].empty();
      if (blank) break;
      if (fields.size() != columns_.count) {
        refuse(line, "has " + counted(fields.size(), "field") + " where the header has " +
                         std::to_string(columns_.count) + "; is the file cut off?");
      }
      if (trimmed(fields[columns_.name]).empty()) refuse(line, "has nothing as its Name");
      const double launches = number(fields[columns_.launches], line, "Instances", 1, most_launches);
      if (std::floor(launches) != launches) {
        refuse(line, "has \"" + printable(fields[columns_.launches]) +
                         "\" as its Instances, which is no whole number; " + std::string(how_to));
      }
      kernels.push_back(
          {std::move(fields[columns_.name]), launches,
           number(fields[columns_.total], line, "Total Time", columns_.nanoseconds, most_kernel_ns)});
    }
    bool headless = true;  // nothing but blank lines since the summary's end
    while (!reader_.at_end()) {
      const std::size_t line = reader_.line();
      const auto text = reader_.take_line();
      if (header_of(text)) refuse(line, "begins a second kernel summary; give one of them");
      // A figure where the first figure of a kernel would stand, and no head in between.
      if (!headless || trimmed(text).empty()) continue;
      headless = false;
      const bool figure = text.front() >= '0' && text.front() <= '9';
      const auto commas = static_cast<std::size_t>(std::count(text.begin(), text.end(), ','));
      if (figure && commas + 1 >= columns_.count)
        refuse(line, "looks like a kernel, but stands behind a blank line, which ends a summary");
    }
    if (kernels.empty()) refuse(reader_.line(), "is the end, and there is no kernel below the header");
    if (!ends_with_line_break) notes.push_back(path_ + ": its last line has no end; the file may be cut off");
    return kernels;
  }

 private:
  [[noreturn]] void refuse(std::size_t line, const std::string& what) const {
    throw UsageError(printable(path_) + ": line " + std::to_string(line) + " " + what);
  }

  /// nsys writes what it is doing, and other reports, above the table.
  void find_header() {
    std::size_t skipped_line = 0;
    std::string skipped;
    while (!reader_.at_end()) {
      const std::size_t number = reader_.line();
      const std::string_view line = reader_.take_line();
      if (const auto columns = header_of(line)) {
        if (columns->twice != nullptr) {
          refuse(number, "has two columns " + std::string(columns->twice) + "; " + std::string(how_to));
        }
        columns_ = *columns;
        return;
      }
      const std::size_t at = line.find("SKIPPED:");
      if (at == std::string_view::npos || !skipped.empty()) continue;
      constexpr std::size_t most_shown = 200;
      skipped_line = number;
      skipped = trimmed(line.substr(at, most_shown));
    }
    if (!skipped.empty()) {
      refuse(skipped_line, "says \"" + printable(skipped) +
                               "\": the report holds no kernels; profile with nsys profile --trace=cuda");
    }
    throw UsageError(printable(path_) + ": no header of a kernel summary in it; " + std::string(how_to));
  }

  double number(const std::string& field, std::size_t line, const char* column, double unit,
                double most) const {
    const std::string_view text = trimmed(field);
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = error == std::errc() && end == text.data() + text.size();
    // NaN is no number of either.
    if (!whole || !(value >= 0) || !(value * unit <= most)) {
      constexpr std::size_t most_shown = 40;
      refuse(line, "has \"" + printable(text.substr(0, most_shown)) + "\" as its " + column +
                       ", which is no such number; " + std::string(how_to));
    }
    return value * unit;
  }

  CsvReader reader_;
  const std::string& path_;
  Columns columns_;
};

}  // namespace

std::vector<KernelUse> parse_kernel_csv(std::string_view text, const std::string& path,
                                        std::vector<std::string>& notes) {
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  if (text.substr(0, byte_order_mark.size()) == byte_order_mark) text.remove_prefix(byte_order_mark.size());
  return KernelCsv(text, path).read(notes, !text.empty() && text.back() == '\n');
}

}  // namespace strictbench
