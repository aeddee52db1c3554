/// What the result file of one process says about the cases that the process was to measure.
#pragma once
#include <exception>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace strictbench::runner {

enum class CaseState { measured, skipped, failed, wrong };

/// A case that was not measured, and why.
struct Problem {
  std::string name;
  CaseState state;
  std::string reason;
};

std::string to_string(CaseState state);

/// Reads Google Benchmark's JSON, in which NaN and infinity stand as bare words; they read as null. Throws
/// nlohmann::json::parse_error where the text is cut short or something else, UsageError where it is nested
/// too deep.
nlohmann::json parse_results(const std::string& text);

/// Whether `document` is an object with an array `key`: "benchmarks" in a result file, "cases" in a record of
/// kernels. One without is no such file, however well it parses.
bool holds_array(const nlohmann::json& document, const char* key);

/// What the JSON library says, without the number of the exception in front.
std::string plain_words(const std::exception& error);

/// The whole rows of a result file that its writer did not live to finish, closed so that it parses; nothing
/// where there is no whole row.
std::optional<std::string> salvage(const std::string& text);

/// One result file with the rows of several, each as whole as salvage() leaves it, and the first one's
/// context. A number that JSON has not becomes null.
std::string merged(const std::vector<std::string>& texts);

/// The cases that a result file, whole or empty, has any row of.
std::set<std::string> cases_with_rows(const std::string& text);

/// The cases without a usable measurement, in the order of `cases`. A case with several rows is as good as
/// its worst. One that is named in `why` failed for that reason, whatever its rows, unless they are wrong;
/// one without any row for the reason `lost`.
std::vector<Problem> find_problems(const nlohmann::json& document, const std::vector<std::string>& cases,
                                   const std::string& lost,
                                   const std::map<std::string, std::string>& why = {});

}  // namespace strictbench::runner
