#include <algorithm>
#include <cmath>

#include "report/compare_output.h"
#include "report/text.h"

namespace strictbench {
namespace {

// GitHub refuses a comment or summary that is too long.
constexpr std::size_t most_markdown_rows = 200;
constexpr std::size_t longest_markdown_name = 300;
constexpr std::size_t longest_markdown_text = 500;

std::string cell(const std::string& text) {
  return markdown_text(shortened(printable(text), longest_markdown_text));
}

std::string name_cell(const std::string& name) {
  return markdown_code(shortened(printable(name), longest_markdown_name));
}

std::string figure(double value, int digits) { return std::isnan(value) ? "" : fixed(value, digits); }

}  // namespace

void write_markdown(std::ostream& out, const Comparison& comparison) {
  out << "**" << markdown_text(headline(comparison)) << "**\n\n";
  out << "Threshold " << fixed(100 * comparison.threshold, 2) << " %, error of the whole table "
      << fixed(100 * comparison.alpha, 2) << " %, " << markdown_code(comparison.metric) << ".\n";
  for (const std::string& note : comparison.notes) out << "\n- " << cell(note);
  if (!comparison.notes.empty()) out << "\n";
  if (comparison.rows.empty()) return;
  out << "\n| verdict | row | baseline | contender | ratio | interval | why |\n";
  out << "|---|---|---:|---:|---:|---|---|\n";
  std::size_t shown = 0;
  for (const Verdict verdict : all_verdicts) {
    for (const ComparedRow& row : comparison.rows) {
      if (row.verdict != verdict || shown == most_markdown_rows) continue;
      ++shown;
      out << "| " << name_of(verdict) << " | " << name_cell(row.name) << " | "
          << markdown_text(readable(row.baseline.median, row)) << " | "
          << markdown_text(readable(row.contender.median, row)) << " | " << figure(row.ratio, 4) << " | ";
      if (!std::isnan(row.ratio)) out << fixed(row.ratio_low, 4) << " to " << fixed(row.ratio_high, 4);
      out << " | " << cell(row.reason) << " |\n";
    }
  }
  if (shown < comparison.rows.size())
    out << "\n" << counted(comparison.rows.size() - shown, "more row") << ".\n";
}

void write_junit(std::ostream& out, const Comparison& comparison) {
  std::size_t failures = 0;
  std::size_t skipped = 0;
  for (const Verdict verdict : all_verdicts) {
    if (exit_code_of(verdict) == 1) failures += comparison.count(verdict);
    if (exit_code_of(verdict) == 3 || verdict == Verdict::skipped) skipped += comparison.count(verdict);
  }
  const bool unseen = comparison.failed_unseen();
  out << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  out << "<testsuites><testsuite name=\"strictbench compare\" tests=\""
      << comparison.rows.size() + (unseen ? 1 : 0) << "\" failures=\"" << failures + (unseen ? 1 : 0)
      << "\" errors=\"0\" skipped=\"" << skipped << "\">\n";
  if (unseen) {
    out << "<testcase classname=\"strictbench\" name=\"the run\"><failure type=\"failed\" message=\""
        << process_failed_words << "\"/></testcase>\n";
  }
  for (const ComparedRow& row : comparison.rows) {
    std::string message(name_of(row.verdict));
    if (!std::isnan(row.ratio)) {
      message += ", ratio " + fixed(row.ratio, 4) + " in " + fixed(row.ratio_low, 4) + " to " +
                 fixed(row.ratio_high, 4);
    }
    if (!row.reason.empty()) message += ": " + row.reason;
    const std::string verdict(name_of(row.verdict));
    out << "<testcase classname=\"strictbench\" name=\"" << xml_text(row.name) << "\">";
    if (exit_code_of(row.verdict) == 1) {
      out << "<failure type=\"" << verdict << "\" message=\"" << xml_text(message) << "\"/>";
    } else if (exit_code_of(row.verdict) == 3 || row.verdict == Verdict::skipped) {
      out << "<skipped message=\"" << xml_text(message) << "\"/>";
    }
    out << "</testcase>\n";
  }
  out << "<system-out>";
  for (const std::string& note : comparison.notes) out << xml_text(note) << "\n";
  out << "</system-out>\n</testsuite></testsuites>\n";
}

}  // namespace strictbench
