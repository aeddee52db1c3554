/// A small table of text for a terminal or for GitHub.
#pragma once
#include <ostream>
#include <string>
#include <vector>

namespace strictbench {

enum class Align { left, right };

struct Column {
  std::string heading;
  Align align = Align::left;
  bool code = false;  // in Markdown, the cells are names
};

/// Cells hold raw text; each writer makes it safe for where it goes.
class Grid {
 public:
  explicit Grid(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// Adds a row; missing cells at its end are empty.
  void add(std::vector<std::string> cells);

  bool empty() const { return rows_.empty(); }
  void write_text(std::ostream& out) const;
  void write_markdown(std::ostream& out) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace strictbench
