#include "report/grid.h"

#include <algorithm>
#include <cstddef>

#include "report/text.h"

namespace strictbench {

void Grid::add(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

void Grid::write_text(std::ostream& out) const {
  std::vector<std::vector<std::string>> lines(1);
  for (const Column& column : columns_) lines[0].push_back(printable(column.heading));
  for (const std::vector<std::string>& row : rows_) {
    std::vector<std::string>& line = lines.emplace_back();
    for (const std::string& cell : row) line.push_back(printable(cell));
  }
  std::vector<std::size_t> widths(columns_.size());
  for (const std::vector<std::string>& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], columns_of(line[i]));
  }
  for (const std::vector<std::string>& line : lines) {
    std::string text;
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (i > 0) text += "  ";
      text += columns_[i].align == Align::left ? pad_right(line[i], widths[i]) : pad_left(line[i], widths[i]);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    // In the log of a GitHub action, such a line would be a command.
    if (text.compare(0, 2, "::") == 0) text.replace(0, 1, "\\x3a");
    out << text << "\n";
  }
}

void Grid::write_markdown(std::ostream& out) const {
  out << "|";
  for (const Column& column : columns_) out << " " << markdown_text(column.heading) << " |";
  out << "\n|";
  for (const Column& column : columns_) out << (column.align == Align::left ? "---|" : "---:|");
  out << "\n";
  for (const std::vector<std::string>& row : rows_) {
    out << "|";
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool code = columns_[i].code && !row[i].empty();
      out << " " << (code ? markdown_code(row[i]) : markdown_text(row[i])) << " |";
    }
    out << "\n";
  }
}

}  // namespace strictbench
