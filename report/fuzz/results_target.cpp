/// Fuzz target: two result files (the same one twice where the input has one part) through the reader, the
/// comparison and every form of it, the speedup table and the summary of a run.
#include <cmath>
#include <sstream>

#include "report/accept.h"
#include "report/compare.h"
#include "report/error.h"
#include "report/fuzz/checks.h"
#include "report/fuzz/fuzzing.h"
#include "report/table.h"

namespace strictbench::fuzz {
namespace {

void check_table(const Side& result, const Side& baseline, const Comparison* comparison) {
  std::vector<Side> published;
  SpeedupTable table = make_table(result, published);
  if (comparison != nullptr) add_verdicts(table, *comparison, baseline.sources.front().path);
  std::ostringstream text;
  write_table_text(text, table);
  check_terminal(text.str());
  std::ostringstream markdown;
  write_table_markdown(markdown, table);
  check_markdown(markdown.str());
  std::ostringstream json;
  write_table_json(json, table);
  check_json(json.str());
  check_terminal(headline(table));
}

/// What is written of a side reads as the same times.
void check_summary(const Side& real, const Side& cpu, const Folder& folder) {
  std::ostringstream text;
  write_summary(text, real, cpu);
  check_json(text.str());
  const Side again = read_side({folder.write("summary.json", text.str())}, "real_time");
  check_side(again);
  for (const Evidence& evidence : real.benchmarks) {
    if (!evidence.has_number() && !evidence.troubles) continue;
    const Evidence* const kept = again.find(evidence.name);
    require(kept != nullptr, "the summary lacks a row: " + evidence.name);
    require(kept->has_number() == evidence.has_number(), "the summary has other times of " + evidence.name);
    require(bool(kept->troubles) == bool(evidence.troubles),
            "the summary hides a trouble of " + evidence.name);
  }
}

}  // namespace

void fuzz_one(std::string_view input) {
  static const Folder folder;
  const std::vector<std::string_view> parts = parts_of(input);
  const std::string before = folder.write("baseline.json", parts.front());
  const std::string after = folder.write("contender.json", parts.back());
  CompareOptions options;
  constexpr const char* metrics[] = {"real_time", "cpu_time", "items_per_second", "real_time"};
  const unsigned choice = choice_of(input, 16);
  options.metric = metrics[choice % 4];
  options.cross_machine = choice / 4 % 2 == 1;
  options.paired = choice / 8 == 1;
  try {
    const Side baseline = read_side({before}, options.metric);
    check_side(baseline);
    const Side contender = read_side({after}, options.metric);
    check_side(contender);
    const Comparison comparison = compare(baseline, contender, options);
    check_comparison(baseline, contender, comparison);
    if (options.metric != std::string("real_time")) return;
    if (!contender.benchmarks.empty())
      check_table(contender, baseline, options.paired ? nullptr : &comparison);
    check_summary(contender, read_side({after}, "cpu_time"), folder);
  } catch (const UsageError& error) {
    check_error(error);
  }
}

}  // namespace strictbench::fuzz
