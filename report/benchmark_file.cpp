#include "report/benchmark_file.h"

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "report/error.h"
#include "report/json_source.h"
#include "report/text.h"

namespace strictbench {

void BenchmarkRow::clear() {
  for (std::string* text : {&name, &run_name, &run_type, &aggregate_name, &time_unit, &error_message,
                            &skip_message, &provenance}) {
    text->clear();
  }
  error_occurred = skipped = complexity = has_metric = false;
  for (double* number : {&metric, &process, &session, &suspect, &check, &tolerance, &relative_error, &control,
                         &floor_us, &samples}) {
    *number = no_number;
  }
}

namespace {

// What a row states that names no unit is an unknown one. Only a row that states none means ns, the default
// of Google Benchmark, which writes one of ns, us, ms and s on every row that has a time.
constexpr std::string_view empty_unit = "(empty)";
constexpr std::string_view unit_without_text = "(no text)";

constexpr double unknown_tolerance = std::numeric_limits<double>::infinity();

/// The fields of a row that matter to a reader. Everything else is passed over.
enum class Field {
  other,
  name,
  run_name,
  run_type,
  aggregate_name,
  time_unit,
  error_message,
  error_occurred,
  skipped,
  skip_message,
  provenance,
  complexity,
  process,
  session,
  suspect,
  check,
  tolerance,
  relative_error,
  control,
  floor_us,
  samples
};

Field field_of(std::string_view key) {
  const auto either = [&](std::string_view word, Field field) { return key == word ? field : Field::other; };
  if (key.empty()) return Field::other;
  switch (key.front()) {
    case 'a':
      return either("aggregate_name", Field::aggregate_name);
    case 'b':
      return either("big_o", Field::complexity);
    case 'c':
      return key == "check" ? Field::check : either("control", Field::control);
    case 'e':
      return key == "error_message" ? Field::error_message : either("error_occurred", Field::error_occurred);
    case 'f':
      return either("floor_us", Field::floor_us);
    case 'n':
      return either("name", Field::name);
    case 'p':
      return key == "process" ? Field::process : either("provenance", Field::provenance);
    case 'r':
      if (key == "run_name") return Field::run_name;
      if (key == "run_type") return Field::run_type;
      return key == "relative_error" ? Field::relative_error : either("rms", Field::complexity);
    case 's':
      if (key == "skipped") return Field::skipped;
      if (key == "skip_message") return Field::skip_message;
      if (key == "session") return Field::session;
      return key == "suspect" ? Field::suspect : either("samples", Field::samples);
    case 't':
      return key == "time_unit" ? Field::time_unit : either("tolerance", Field::tolerance);
    default:
      return Field::other;
  }
}

/// Takes the events of a parser and hands out rows. Holds one row, whatever the size or depth of the file.
class Handler {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  Handler(std::string file, const JsonSource& source, std::string metric, const RowVisitor& visit)
      : file_(std::move(file)), source_(source), metric_(std::move(metric)), visit_(visit) {}

  bool null() { return number(no_number); }
  bool boolean(bool value) {
    if (in_row()) set_flag(value);
    if (in_context()) context_[key_] = value ? "true" : "false";
    return scalar();
  }
  bool number_integer(number_integer_t value) {
    return counted(static_cast<double>(value), std::to_string(value));
  }
  bool number_unsigned(number_unsigned_t value) { return counted(static_cast<double>(value), {}, value); }
  bool number_float(number_float_t value, const string_t& text) {
    if (in_context()) context_[key_] = text;
    return number(value);
  }
  bool string(string_t& value) {
    if (in_row()) set_text(value);
    if (in_context()) context_[key_] = value;
    return scalar();
  }
  bool binary(binary_t&) { return scalar(); }

  bool start_object(std::size_t) {
    if (depth_ == 2 && section_ == Section::benchmarks) {
      row_.clear();
    } else if (depth_ == 1 && section_ == Section::benchmarks) {
      fail("\"benchmarks\" is not an array");
    } else if (in_row()) {
      scalar();
    }
    return open();
  }
  bool end_object() {
    --depth_;
    if (depth_ == 2 && section_ == Section::benchmarks) finish_row();
    if (depth_ == 1) section_ = Section::other;
    return true;
  }
  bool start_array(std::size_t) {
    if (depth_ == 0) fail("the top level is an array, not an object that holds \"benchmarks\"");
    if (depth_ == 2 && section_ == Section::benchmarks) fail("an entry of \"benchmarks\" is not an object");
    if (in_row()) scalar();
    return open();
  }
  bool end_array() {
    --depth_;
    if (depth_ == 1) section_ = Section::other;
    return true;
  }
  bool key(string_t& key) {
    if (depth_ == 1) {
      section_ = key == "context"      ? Section::context
                 : key == "benchmarks" ? Section::benchmarks
                                       : Section::other;
      if (section_ == Section::benchmarks) {
        if (found_benchmarks_) fail("\"benchmarks\" stands there twice");
        found_benchmarks_ = true;
      }
    } else if (in_row()) {
      field_ = field_of(key);
      is_metric_ = key == metric_;
      if (field_ == Field::time_unit) row_.time_unit = unit_without_text;  // unless a text follows
    } else if (in_context()) {
      key_ = key;
    }
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception& error) {
    // The library's text: "[json.exception...] parse error at line 1, column 1: what is wrong".
    std::string_view reason = error.what();
    const std::size_t colon = reason.find(": ");
    if (colon != std::string_view::npos) reason.remove_prefix(colon + 2);
    throw UsageError(printable(file_) + ": not valid JSON at byte " + std::to_string(position) + ": " +
                     printable(reason.substr(0, 200)) + "; write the file again, or leave it out");
  }

  Context finish() {
    if (!found_benchmarks_) fail("there is no \"benchmarks\" array");
    return std::move(context_);
  }

 private:
  enum class Section { other, context, benchmarks };

  bool in_row() const { return depth_ == 3 && section_ == Section::benchmarks; }
  bool in_context() const { return depth_ == 2 && section_ == Section::context; }

  [[noreturn]] void fail(const std::string& what) const {
    throw UsageError(printable(file_) + ": not a Google Benchmark file: " + what + " (before byte " +
                     std::to_string(source_.offset()) + "); give a JSON file that --benchmark_out wrote");
  }

  bool open() {
    ++depth_;
    return true;
  }

  /// A value that is neither object nor array has been read.
  bool scalar() {
    if (depth_ == 0) fail("the top level is not an object");
    if (section_ == Section::benchmarks && depth_ == 1) fail("\"benchmarks\" is not an array");
    if (section_ == Section::benchmarks && depth_ == 2) fail("an entry of \"benchmarks\" is not an object");
    if (in_row()) {
      if (is_metric_) row_.has_metric = true;
      if (field_ == Field::complexity) row_.complexity = true;
    }
    return true;
  }

  bool counted(double value, std::string text, std::uint64_t exact = 0) {
    if (in_context()) context_[key_] = text.empty() ? std::to_string(exact) : std::move(text);
    return number(value);
  }

  bool number(double value) {
    if (in_row()) {
      if (is_metric_) row_.metric = value;
      if (double* const place = number_of(field_)) *place = value;
      // Whatever stands there, a row that has the key is not held to bits.
      if (field_ == Field::tolerance && !std::isfinite(value)) row_.tolerance = unknown_tolerance;
    }
    return scalar();
  }

  void set_flag(bool value) {
    if (field_ == Field::error_occurred) row_.error_occurred = value;
    if (field_ == Field::skipped) row_.skipped = value;
  }

  void set_text(std::string& value) {
    // A string where the metric should be is no number; a key that came twice keeps its last value.
    if (is_metric_) row_.metric = no_number;
    if (field_ == Field::tolerance) row_.tolerance = unknown_tolerance;
    if (std::string* const place = text_of(field_)) place->swap(value);
    if (field_ == Field::time_unit && row_.time_unit.empty()) row_.time_unit = empty_unit;
  }

  /// Where the row keeps the number of a field; null for fields that hold none.
  double* number_of(Field field) {
    switch (field) {
      case Field::process:
        return &row_.process;
      case Field::session:
        return &row_.session;
      case Field::suspect:
        return &row_.suspect;
      case Field::check:
        return &row_.check;
      case Field::tolerance:
        return &row_.tolerance;
      case Field::relative_error:
        return &row_.relative_error;
      case Field::control:
        return &row_.control;
      case Field::floor_us:
        return &row_.floor_us;
      case Field::samples:
        return &row_.samples;
      default:
        return nullptr;
    }
  }

  /// The same for texts.
  std::string* text_of(Field field) {
    switch (field) {
      case Field::name:
        return &row_.name;
      case Field::run_name:
        return &row_.run_name;
      case Field::run_type:
        return &row_.run_type;
      case Field::aggregate_name:
        return &row_.aggregate_name;
      case Field::time_unit:
        return &row_.time_unit;
      case Field::error_message:
        return &row_.error_message;
      case Field::skip_message:
        return &row_.skip_message;
      case Field::provenance:
        return &row_.provenance;
      default:
        return nullptr;
    }
  }

  void finish_row() {
    if (row_.name.empty()) fail("row " + std::to_string(rows_) + " of \"benchmarks\" has no name");
    ++rows_;
    visit_(row_);
  }

  std::string file_;
  const JsonSource& source_;
  std::string metric_;
  const RowVisitor& visit_;
  Context context_;
  BenchmarkRow row_;
  Section section_ = Section::other;
  Field field_ = Field::other;
  std::string key_;
  std::size_t depth_ = 0;
  std::size_t rows_ = 0;
  bool is_metric_ = false;
  bool found_benchmarks_ = false;
};

}  // namespace

FileFacts read_benchmark_file(const std::string& path, const std::string& metric, const RowVisitor& visit) {
  JsonSource source(path);
  Handler handler(path, source, metric, visit);
  nlohmann::json::sax_parse(source.begin(), source.end(), &handler);
  Context context = handler.finish();
  return {std::move(context), source.digest()};
}

}  // namespace strictbench
