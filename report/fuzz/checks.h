/// What every output must be, whatever names the files hold. Each throws Violation.
#pragma once
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "report/compare.h"
#include "report/results.h"

namespace strictbench::fuzz {

/// UTF-8 on lines, without control characters, direction overrides and other escapes that a terminal obeys;
/// with `colour`, our own colours are allowed.
void check_terminal(std::string_view text, bool colour = false);

/// A Markdown document: as check_terminal, no tag but <code>, and every row of a table has its head's
/// columns.
void check_markdown(std::string_view text);

/// An XML document: one root, every element closed, attributes quoted, nothing raw that must be escaped.
void check_xml(std::string_view text);

/// JSON as the standard has it, so without bare NaN and infinity, and as check_terminal, since it goes there
/// too. Returns the document.
nlohmann::json check_json(const std::string& text);

/// The log lines of a GitHub action: each an annotation, none a command of a name's making.
void check_annotations(std::string_view text);

/// Numbers that a table shows are numbers: no cell but those of `names` (from 0) holds a bare nan or inf.
void check_numbers(std::string_view markdown, std::initializer_list<std::size_t> names);

/// An error is one line that a terminal shows and does not obey.
void check_error(const std::exception& error);

/// Every row that was read is in the side once.
void check_side(const Side& side);

/// A comparison accounts for both sides, its counts sum up, and its four forms are well made.
void check_comparison(const Side& baseline, const Side& contender, const Comparison& comparison);

}  // namespace strictbench::fuzz
