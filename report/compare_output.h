/// A comparison as text, Markdown, JSON or JUnit XML.
#pragma once
#include <ostream>
#include <string>
#include <string_view>

#include "report/compare.h"

namespace strictbench {

/// For a person: the verdict, then the rows that matter, then the rest. `colour` uses ANSI escapes.
void write_text(std::ostream& out, const Comparison& comparison, bool colour);

/// A table that survives GitHub's renderer.
void write_markdown(std::ostream& out, const Comparison& comparison);

/// The machine's form: one object, a line a row.
void write_json(std::ostream& out, const Comparison& comparison);

/// A test suite with a case a row: exit code 1 verdicts are failures, "cannot tell" ones are skipped. What no
/// row is red for, a process that failed, is a case of its own.
void write_junit(std::ostream& out, const Comparison& comparison);

/// What every form says of Comparison::failed_unseen(); the notes say which.
inline constexpr std::string_view process_failed_words = "a process failed behind its rows";

/// "regressed: 3 slower, 1 failed of 56 rows".
std::string headline(const Comparison& comparison);

/// A number of the row's unit for a person.
std::string readable(double value, const ComparedRow& row);

}  // namespace strictbench
