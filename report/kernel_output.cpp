/// A comparison of kernels as text, Markdown or JSON.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "report/grid.h"
#include "report/kernel_table.h"
#include "report/text.h"

namespace strictbench {
namespace {

using Json = nlohmann::ordered_json;

// A profile may hold thousands of kernels; a person reads the first.
constexpr std::size_t most_rows = 50;
constexpr std::size_t most_name_columns = 80;

std::string launches_text(double launches) {
  return fixed(launches, launches == std::floor(launches) ? 0 : 2);
}

std::string percent(double fraction) { return std::isnan(fraction) ? "" : fixed(100 * fraction, 1) + " %"; }

std::string remark(const KernelRow& row) {
  std::string text = row.control ? (row.moved ? "control MOVED" : "control") : "";
  if (!row.before || !row.after)
    text += std::string(text.empty() ? "" : ", ") + (row.before ? "before" : "after") + " only";
  return text;
}

void add_row(Grid& grid, const KernelRow& row, const std::string& remark_text) {
  const auto cell = [](const std::optional<KernelFigures>& figures, auto&& text) {
    return figures ? text(*figures) : std::string();
  };
  const auto launches = [](const KernelFigures& f) { return launches_text(f.launches); };
  const auto total = [](const KernelFigures& f) { return readable_time(f.total_ns); };
  const auto average = [](const KernelFigures& f) {
    return std::isnan(f.average_ns) ? std::string() : readable_time(f.average_ns);
  };
  const auto share = [](const KernelFigures& f) { return percent(f.share); };
  grid.add({shortened(row.name, most_name_columns), cell(row.before, launches), cell(row.after, launches),
            cell(row.before, total), cell(row.after, total), cell(row.before, average),
            cell(row.after, average), cell(row.before, share), cell(row.after, share),
            std::isnan(row.speedup) ? "" : speedup_text(row.speedup), percent(row.reduction), remark_text});
}

Grid grid_of(const KernelTable& table) {
  std::vector<Column> columns{{"kernel", Align::left, true}};
  for (const char* heading : {"launches before", "after", "total before", "after", "average before", "after",
                              "share before", "after", "speedup", "reduction"}) {
    columns.push_back({heading, Align::right, false});
  }
  columns.push_back({"", Align::left, false});
  Grid grid(std::move(columns));
  for (std::size_t i = 0; i < std::min(table.rows.size(), most_rows); ++i) {
    add_row(grid, table.rows[i], remark(table.rows[i]));
  }
  add_row(grid, table.total, counted(table.rows.size(), "kernel"));
  return grid;
}

/// What the rows that are not shown come to; empty where all are.
std::string rest(const KernelTable& table) {
  if (table.rows.size() <= most_rows) return {};
  double before = 0;
  double after = 0;
  for (std::size_t i = most_rows; i < table.rows.size(); ++i) {
    if (table.rows[i].before) before += table.rows[i].before->total_ns;
    if (table.rows[i].after) after += table.rows[i].after->total_ns;
  }
  return counted(table.rows.size() - most_rows, "smaller kernel is", "smaller kernels are") +
         " not shown (together " + readable_time(before) + " before, " + readable_time(after) +
         " after); --format json has all";
}

/// In ASCII, so that a terminal obeys no name.
std::string quoted(const std::string& text) {
  return Json(text).dump(-1, ' ', true, Json::error_handler_t::replace);
}

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json figures_object(const std::optional<KernelFigures>& figures) {
  if (!figures) return nullptr;
  const double launches = figures->launches;
  const bool whole = launches <= most_launches &&
                     launches == std::floor(launches);  // as it is, where a file counts launches
  return {{"launches", whole ? Json(static_cast<std::uint64_t>(launches)) : Json(launches)},
          {"total_ns", number(figures->total_ns)},
          {"average_ns", number(figures->average_ns)},
          {"share", number(figures->share)}};
}

Json row_object(const KernelRow& row) {
  return {{"before", figures_object(row.before)},
          {"after", figures_object(row.after)},
          {"speedup", number(row.speedup)},
          {"reduction", number(row.reduction)}};
}

}  // namespace

std::string headline(const KernelTable& table) {
  const auto time = [](const std::optional<KernelFigures>& figures) {
    return readable_time(figures ? figures->total_ns : 0);
  };
  std::string text = "GPU time before " + time(table.total.before) + ", after " + time(table.total.after);
  if (!std::isnan(table.total.speedup)) text += ": " + speedup_text(table.total.speedup);
  return text;
}

void write_kernels_text(std::ostream& out, const KernelTable& table) {
  out << headline(table) << "\n";
  out << "before: " << printable(table.before) << "\nafter:  " << printable(table.after) << "\n";
  for (const std::string& note : table.notes) out << "note: " << printable(note) << "\n";
  out << "\n";
  grid_of(table).write_text(out);
  if (const std::string text = rest(table); !text.empty()) out << text << "\n";
}

void write_kernels_markdown(std::ostream& out, const KernelTable& table) {
  out << "**" << markdown_text(headline(table)) << "**\n\n";
  out << "- before: " << markdown_code(table.before) << "\n- after: " << markdown_code(table.after) << "\n";
  for (const std::string& note : table.notes) out << "- note: " << markdown_text(note) << "\n";
  out << "\n";
  grid_of(table).write_markdown(out);
  if (const std::string text = rest(table); !text.empty()) out << "\n" << markdown_text(text) << "\n";
}

void write_kernels_json(std::ostream& out, const KernelTable& table) {
  out << "{\"before\": " << quoted(table.before) << ",\n \"after\": " << quoted(table.after)
      << ",\n \"rows\": [";
  const char* separator = "\n  ";
  for (const KernelRow& row : table.rows) {
    // Row by row, and the name apart: it need not be UTF-8.
    std::string figures = row_object(row).dump();
    out << separator << "{\"name\":" << quoted(row.name) << "," << figures.substr(1, figures.size() - 2)
        << ",\"control\":" << (row.control ? "true" : "false")
        << ",\"moved\":" << (row.moved ? "true" : "false") << "}";
    separator = ",\n  ";
  }
  Json total = row_object(table.total);
  out << "\n ],\n \"total\": " << total.dump() << ",\n \"notes\": [";
  separator = "";
  for (const std::string& note : table.notes) {
    out << separator << quoted(note);
    separator = ", ";
  }
  out << "]}\n";
}

}  // namespace strictbench
