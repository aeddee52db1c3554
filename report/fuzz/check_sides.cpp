/// The checks of sides and comparisons.
#include <algorithm>
#include <cmath>
#include <sstream>
#include <unordered_set>

#include "report/compare_output.h"
#include "report/fuzz/checks.h"
#include "report/fuzz/fuzzing.h"
#include "report/github_actions.h"
#include "report/row_name.h"

namespace strictbench::fuzz {
namespace {

template <typename Write>
std::string written(const Write& write) {
  std::ostringstream out;
  write(out);
  return out.str();
}

/// Of each side every row is compared, or said to be absent, published or not asked for.
void check_all_accounted(const Side& baseline, const Side& contender, const Comparison& comparison) {
  std::unordered_set<std::string> shown;
  for (const ComparedRow& row : comparison.rows) {
    require(shown.insert(row.name).second, "a row is compared twice: " + row.name);
  }
  for (const Evidence& evidence : baseline.benchmarks) {
    const bool counts = evidence.has_number() && !evidence.published &&
                        !(evidence.troubles && evidence.troubles->wrong > 0) &&
                        !contender.not_asked_for(evidence.name);
    require(!counts || shown.contains(evidence.name), "a row of the baseline is lost: " + evidence.name);
  }
  for (const Evidence& evidence : contender.benchmarks) {
    const Evidence* const before = counterpart(baseline, evidence.name);
    const bool paired = before != nullptr && counterpart(contender, before->name) == &evidence;
    require(shown.contains(paired ? before->name : evidence.name),
            "a row of the contender is lost: " + evidence.name);
  }
}

void check_numbers_of(const ComparedRow& row) {
  const bool judged = row.verdict == Verdict::slower || row.verdict == Verdict::faster ||
                      row.verdict == Verdict::same || row.verdict == Verdict::inconclusive;
  require(judged || std::isnan(row.ratio), "a row without a judgement has a ratio: " + row.name);
  if (row.verdict == Verdict::wrong || row.verdict == Verdict::failed)
    require(std::isnan(row.contender.median),
            "a time is shown of a row that is wrong or failed: " + row.name);
  if (!judged) return;
  require(row.ratio_low <= row.ratio && row.ratio <= row.ratio_high,
          "a ratio outside its interval: " + row.name);
  require(row.baseline.median > 0 && row.contender.median > 0, "a judged row without times: " + row.name);
}

void check_as_json(const Comparison& comparison) {
  const nlohmann::json json = check_json(written([&](std::ostream& out) { write_json(out, comparison); }));
  require(json.at("exit_code") == comparison.exit_code(), "JSON: another exit code");
  require(json.at("rows").size() == comparison.rows.size(), "JSON: rows are lost");
  std::size_t sum = 0;
  for (const auto& [name, count] : json.at("counts").items()) sum += count.get<std::size_t>();
  require(sum == comparison.rows.size(), "JSON: the counts do not sum up");
  for (std::size_t i = 0; i < comparison.rows.size(); ++i) {
    require(json["rows"][i].at("name") == comparison.rows[i].name, "JSON: another name");
  }
}

}  // namespace

void check_side(const Side& side) {
  std::size_t rows = side.summaries;
  for (const Evidence& evidence : side.benchmarks) {
    require(!evidence.name.empty(), "a row without a name");
    for (const ProcessRecord& process : evidence.processes) {
      rows += process.samples.size() + process.suspect;
      require(process.source < side.sources.size(), "a process of no file");
      require(process.session < side.sessions.size(), "a process of no session");
      for (const double sample : process.samples)
        require(std::isfinite(sample) && sample > 0, "a sample that is no time: " + evidence.name);
    }
    if (evidence.troubles)
      rows += evidence.troubles->failed + evidence.troubles->wrong + evidence.troubles->skipped;
  }
  // A run's record may add failures for rows that no file has.
  const bool added = !side.runs.empty();
  require(added ? rows >= side.rows_read : rows == side.rows_read,
          std::to_string(side.rows_read) + " rows were read and " + std::to_string(rows) + " are kept");
}

void check_comparison(const Side& baseline, const Side& contender, const Comparison& comparison) {
  check_all_accounted(baseline, contender, comparison);
  for (const ComparedRow& row : comparison.rows) check_numbers_of(row);
  std::size_t sum = 0;
  int worst = 0;
  for (const Verdict verdict : all_verdicts) {
    const auto rows =
        static_cast<std::size_t>(std::ranges::count(comparison.rows, verdict, &ComparedRow::verdict));
    require(rows == comparison.count(verdict), "a count is not its rows");
    sum += rows;
    if (rows > 0 && worst != 1)
      worst = exit_code_of(verdict) == 1 ? 1 : std::max(worst, exit_code_of(verdict));
  }
  require(sum == comparison.rows.size(), "the counts do not sum up");
  require(comparison.exit_code() == (comparison.process_failed ? 1 : worst),
          "the exit code is neither that of the gravest row nor of a process that failed");
  check_as_json(comparison);
  check_terminal(written([&](std::ostream& out) { write_text(out, comparison, false); }));
  check_terminal(written([&](std::ostream& out) { write_text(out, comparison, true); }), true);
  const std::string markdown = written([&](std::ostream& out) { write_markdown(out, comparison); });
  check_markdown(markdown);
  // Columns 1 and 6 hold names and messages; a unit that is not known is the file's own word.
  const auto odd = [](const ComparedRow& row) { return row.unit == Unit::unknown; };
  if (std::ranges::none_of(comparison.rows, odd)) check_numbers(markdown, {1, 6});
  check_xml(written([&](std::ostream& out) { write_junit(out, comparison); }));
  check_annotations(written([&](std::ostream& out) { write_annotations(out, comparison); }));
}

}  // namespace strictbench::fuzz
