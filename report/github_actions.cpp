#include "report/github_actions.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include "report/compare_output.h"
#include "report/text.h"

namespace strictbench {
namespace {

/// GitHub shows ten errors of a step; the first of them says how many there are.
constexpr std::size_t most_annotations = 10;
/// It refuses none, but nobody can read them; whole names are in the report.
constexpr std::size_t longest_title = 300;
constexpr std::size_t longest_message = 2000;

/// `text` for a workflow command, its middle left out where it is too long: a name ends with its timer. Of a
/// property, colons and commas have a meaning too.
std::string escaped(std::string_view text, bool property) {
  std::string result;
  for (const char c : shortened(printable(text), property ? longest_title : longest_message)) {
    if (c == '%') {
      result += "%25";
    } else if (c == ':' && property) {
      result += "%3A";
    } else if (c == ',' && property) {
      result += "%2C";
    } else {
      result += c;  // no line break: that is printable
    }
  }
  return result;
}

std::string message_of(const ComparedRow& row) {
  std::string text;
  if (row.verdict == Verdict::slower && !std::isnan(row.ratio)) {
    text = readable_change(row.ratio) + " [" + readable_change(row.ratio_low) + " .. " +
           readable_change(row.ratio_high) + "], " + readable(row.baseline.median, row) + " to " +
           readable(row.contender.median, row);
  }
  if (!row.reason.empty()) text += (text.empty() ? "" : "; ") + row.reason;
  return text.empty() ? std::string(name_of(row.verdict)) : text;
}

}  // namespace

bool in_github_action() {
  const char* value = std::getenv("GITHUB_ACTIONS");
  return value != nullptr && std::string_view(value) == "true";
}

void write_annotations(std::ostream& out, const Comparison& comparison) {
  if (comparison.failed_unseen()) out << "::error title=strictbench::" << process_failed_words << "\n";
  const auto red = static_cast<std::size_t>(
      std::count_if(comparison.rows.begin(), comparison.rows.end(),
                    [](const ComparedRow& row) { return exit_code_of(row.verdict) == 1; }));
  std::size_t left = std::min(red, most_annotations);
  if (red > most_annotations) {
    --left;
    out << "::error title=strictbench::" << red << " rows are slower, wrong, failed or missing; the first "
        << left << " follow\n";
  }
  for (const Verdict verdict : all_verdicts) {
    if (exit_code_of(verdict) != 1) continue;
    for (const ComparedRow& row : comparison.rows) {
      if (row.verdict != verdict || left == 0) continue;
      --left;
      const std::string title = std::string(name_of(verdict)) + ": " + row.name;
      out << "::error title=" << escaped(title, true) << "::" << escaped(message_of(row), false) << "\n";
    }
  }
}

void append_to_step_summary(const std::function<void(std::ostream&)>& write) {
  const char* path = std::getenv("GITHUB_STEP_SUMMARY");
  if (path == nullptr || *path == 0) return;
  std::ofstream out(path, std::ios::binary | std::ios::app);
  write(out);
  out << "\n";
  out.close();
  if (!out) {
    std::fprintf(stderr, "strictbench: the step's summary, %s, cannot be written: the report is not in it\n",
                 printable(path).c_str());
  }
}

}  // namespace strictbench
