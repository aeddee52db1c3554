#include "bench/strictbench/rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "report/error.h"
#include "report/json_source.h"

namespace strictbench::runner {
namespace {

/// Replaces the bare words that Google Benchmark writes for numbers that JSON has not, outside strings.
std::string without_bare_words(const std::string& text) {
  constexpr std::array<std::string_view, 8> words{"-Infinity", "Infinity", "-NaN", "NaN",
                                                  "-nan",      "nan",      "-inf", "inf"};
  std::string result;
  result.reserve(text.size());
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\' && i + 1 < text.size()) result += text[i++];
      if (text[i] == '"' && c != '\\') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '-' || c == 'N' || c == 'I' || c == 'n' || c == 'i') {
      const std::string_view rest = std::string_view(text).substr(i);
      const auto word = std::ranges::find_if(words, [&](std::string_view w) { return rest.starts_with(w); });
      if (word != words.end()) {
        result += "null";
        i += word->size() - 1;
        continue;
      }
    }
    result += text[i];
  }
  return result;
}

bool is_shallow(const std::string& text) {
  try {
    require_shallow(text);
    return true;
  } catch (const UsageError&) {
    return false;
  }
}

bool is_true(const nlohmann::json& row, const char* key) {
  const auto found = row.find(key);
  return found != row.end() && found->is_boolean() && found->get<bool>();
}

std::string text_of(const nlohmann::json& row, const char* key) {
  const auto found = row.find(key);
  return found != row.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Problem judge(const nlohmann::json& row) {
  Problem result{{}, CaseState::measured, {}};
  if (is_true(row, "error_occurred")) {
    result.reason = text_of(row, "error_message");
    if (result.reason.empty()) result.reason = "an error without a message";
    // Google Benchmark before 1.8 cannot skip a row without calling it an error.
    result.state = result.reason.starts_with("check failed:") ? CaseState::wrong
                   : result.reason.starts_with("skipped:")    ? CaseState::skipped
                                                              : CaseState::failed;
  } else if (is_true(row, "skipped")) {
    result.state = CaseState::skipped;
    result.reason = text_of(row, "skip_message");
  } else {
    const auto time = row.find("real_time");
    const bool usable = time != row.end() && time->is_number() && std::isfinite(time->get<double>()) &&
                        time->get<double>() > 0;
    if (!usable) {
      result.state = CaseState::failed;
      result.reason = "the row holds no usable time (" +
                      (time == row.end() ? std::string("none")
                       : time->is_null() ? "not a number"
                                         : time->dump()) +
                      ")";
    }
  }
  return result;
}

/// The case that a row belongs to: Google Benchmark may append its own suffix, "/manual_time".
std::string case_of(const nlohmann::json& row) {
  std::string name = text_of(row, "run_name");
  if (name.empty()) name = text_of(row, "name");
  const std::size_t timer = name.rfind("/timer:");
  const std::size_t suffix = timer == std::string::npos ? timer : name.find('/', timer + 1);
  return name.substr(0, suffix);
}

}  // namespace

std::string to_string(CaseState state) {
  switch (state) {
    case CaseState::measured:
      return "measured";
    case CaseState::skipped:
      return "skipped";
    case CaseState::failed:
      return "failed";
    case CaseState::wrong:
      return "wrong";
  }
  return {};
}

nlohmann::json parse_results(const std::string& text) {
  require_shallow(text);  // rows are copied and written as they are
  nlohmann::json document = nlohmann::json::parse(text, nullptr, false);
  if (document.is_discarded()) return nlohmann::json::parse(without_bare_words(text));
  return document;
}

bool holds_array(const nlohmann::json& document, const char* key) {
  const auto found = document.is_object() ? document.find(key) : document.end();
  return document.is_object() && found != document.end() && found->is_array();
}

std::string plain_words(const std::exception& error) {
  const std::string_view text = error.what();
  const std::size_t end = text.starts_with("[json.exception") ? text.find("] ") : std::string_view::npos;
  return std::string(end == std::string_view::npos ? text : text.substr(end + 2));
}

std::optional<std::string> salvage(const std::string& text) {
  constexpr int tries = 64;  // a brace inside the unfinished row is not the end of a row: go back further
  std::size_t end = text.rfind('}');
  for (int i = 0; i < tries && end != std::string::npos && end > 0; ++i, end = text.rfind('}', end - 1)) {
    const std::string closed = text.substr(0, end + 1) + "\n  ]\n}\n";
    if (!is_shallow(closed)) continue;
    const nlohmann::json document = nlohmann::json::parse(without_bare_words(closed), nullptr, false);
    if (!document.is_discarded() && holds_array(document, "benchmarks")) return closed;
  }
  return std::nullopt;
}

std::string merged(const std::vector<std::string>& texts) {
  nlohmann::ordered_json all;
  for (const std::string& text : texts) {
    nlohmann::ordered_json one = nlohmann::ordered_json::parse(without_bare_words(text));
    if (all.is_null()) {
      all = std::move(one);
      continue;
    }
    for (nlohmann::ordered_json& row : one.at("benchmarks")) all.at("benchmarks").push_back(std::move(row));
  }
  return all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::set<std::string> cases_with_rows(const std::string& text) {
  std::set<std::string> cases;
  if (text.empty()) return cases;
  const nlohmann::json document = parse_results(text);
  const auto rows = document.find("benchmarks");
  if (rows == document.end() || !rows->is_array()) return cases;
  for (const nlohmann::json& row : *rows) {
    if (row.is_object() && text_of(row, "run_type") != "aggregate") cases.insert(case_of(row));
  }
  return cases;
}

std::vector<Problem> find_problems(const nlohmann::json& document, const std::vector<std::string>& cases,
                                   const std::string& lost, const std::map<std::string, std::string>& why) {
  std::map<std::string, Problem> worst;
  const auto rows = document.find("benchmarks");
  if (rows != document.end() && rows->is_array()) {
    for (const nlohmann::json& row : *rows) {
      if (!row.is_object() || text_of(row, "run_type") == "aggregate") continue;
      Problem problem = judge(row);
      const auto [place, first] = worst.try_emplace(case_of(row), problem);
      if (!first && problem.state > place->second.state) place->second = std::move(problem);
    }
  }
  std::vector<Problem> problems;
  for (const std::string& name : cases) {
    const auto found = worst.find(name);
    const auto reason = why.find(name);
    const bool told = reason != why.end() && !reason->second.empty();
    Problem problem{name, CaseState::failed, told ? reason->second : lost};
    if (found != worst.end() && (!told || found->second.state > CaseState::failed)) problem = found->second;
    problem.name = name;
    if (problem.state != CaseState::measured) problems.push_back(std::move(problem));
  }
  return problems;
}

}  // namespace strictbench::runner
