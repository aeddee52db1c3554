/// Turning names, messages and numbers into text that is safe where it is shown.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace strictbench {

/// `text` on one line for a terminal or a log: control characters, line breaks, direction overrides and bytes
/// that are no UTF-8 become `\xNN` or `\u{NNNN}`, so that no name can move the cursor or recolour the screen.
std::string printable(std::string_view text);

/// `text` for a cell of a GitHub table: every character that Markdown or HTML could take for markup becomes a
/// numeric entity. The result has no line break.
std::string markdown_text(std::string_view text);

/// A name as code in a GitHub table: a code span where the name is harmless, else <code> with entities.
std::string markdown_code(std::string_view name);

/// `text` for an attribute or the body of an XML 1.0 document.
std::string xml_text(std::string_view text);

/// Columns that printable UTF-8 takes on a terminal, counting one per code point.
std::size_t columns_of(std::string_view text);

/// `text` padded with spaces to `width` columns, to the left or to the right.
std::string pad_right(std::string text, std::size_t width);
std::string pad_left(std::string text, std::size_t width);

/// `text` cut to `columns` columns, with dots in its middle where something is left out. Bytes that are no
/// UTF-8 count as one each.
std::string shortened(std::string_view text, std::size_t columns);

/// `value` with `digits` decimals; "unlimited" for what a double does not hold.
std::string fixed(double value, int digits);

/// A time given in nanoseconds in the unit that reads best: "11.6 us", "3.70 s".
std::string readable_time(double nanoseconds);

/// A change given as a ratio: 1.0213 is "+2.13 %", 0.5 is "-50.0 %", 3 is "x 3.00".
std::string readable_change(double ratio);

/// A factor: "5.21 x", "374 x".
std::string speedup_text(double speedup);

/// How many: "1 row", "2 rows", "2 processes"; `many` where that does not do, as in "1 row was", "2 rows
/// were".
std::string counted(std::size_t count, std::string_view one, std::string_view many = {});

/// A number of no known unit in at most four digits and an SI prefix: "2.00 G".
std::string readable_number(double value);

}  // namespace strictbench
