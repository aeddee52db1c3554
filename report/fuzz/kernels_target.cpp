/// Fuzz target: kernels before and after (the same ones where the input has one part), as Nsight Systems' CSV
/// or our own record, through the readers and every form of the table.
#include <cmath>
#include <sstream>

#include "report/error.h"
#include "report/fuzz/checks.h"
#include "report/fuzz/fuzzing.h"
#include "report/kernel_table.h"

namespace strictbench::fuzz {
namespace {

void check_side_of_kernels(const KernelSide& side) {
  for (const RecordedCase& one : side.cases) {
    for (const KernelUse& kernel : one.kernels) {
      require(std::isfinite(kernel.launches) && kernel.launches >= 0,
              "no number of launches: " + kernel.name);
      require(std::isfinite(kernel.total_ns) && kernel.total_ns >= 0, "no time: " + kernel.name);
    }
  }
}

double total_of(const KernelSide& side) {
  double total = 0;
  for (const RecordedCase& one : side.cases) {
    for (const KernelUse& kernel : one.kernels) total += kernel.total_ns;
  }
  return total;
}

void check_total(const KernelSide& side, const std::optional<KernelFigures>& shown) {
  const double read = total_of(side);
  const double total = shown ? shown->total_ns : 0;
  require(std::abs(total - read) <= 1e-6 * read, "the total is not the sum of the kernels");
}

}  // namespace

void fuzz_one(std::string_view input) {
  static const Folder folder;
  static const NamePattern controls("--control", std::string(default_controls));
  const std::vector<std::string_view> parts = parts_of(input);
  const std::string file_before = folder.write("before.kernels.json", parts.front());
  const std::string file_after = folder.write("after.kernels.json", parts.back());
  std::vector<NamePattern> of_before;
  std::vector<NamePattern> of_after;
  if (choice_of(input, 2) == 1 && parts.size() == 1) {
    of_before.emplace_back("--before-case", "/legacy/");
    of_after.emplace_back("--after-case", "/new/");
  }
  try {
    KernelSide before = read_kernel_side(file_before, of_before);
    KernelSide after = read_kernel_side(file_after, of_after);
    check_side_of_kernels(before);
    check_side_of_kernels(after);
    std::vector<std::string> notes;
    pair_cases(before, after, notes);
    KernelTable table = make_kernel_table(before, after, controls);
    table.notes.insert(table.notes.end(), notes.begin(), notes.end());
    check_total(before, table.total.before);
    check_total(after, table.total.after);
    std::ostringstream text;
    write_kernels_text(text, table);
    check_terminal(text.str());
    std::ostringstream markdown;
    write_kernels_markdown(markdown, table);
    check_markdown(markdown.str());
    check_numbers(markdown.str(), {0});
    std::ostringstream json;
    write_kernels_json(json, table);
    require(check_json(json.str()).at("rows").size() == table.rows.size(), "JSON: rows are lost");
  } catch (const UsageError& error) {
    check_error(error);
  }
}

}  // namespace strictbench::fuzz
