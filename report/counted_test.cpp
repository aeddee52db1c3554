/// One of a thing is not "1 things", in any form that counts what it does not show.
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "report/compare.h"
#include "report/compare_output.h"
#include "report/kernel_table.h"
#include "report/table.h"
#include "report/testing.h"
#include "report/text.h"

namespace strictbench {
namespace {

using testing::compare_rows;
using testing::error_row;
using testing::file_of;
using testing::holds;
using testing::Json;
using testing::row;
using testing::side_of;

template <typename Write>
std::string written(const Write& write) {
  std::ostringstream out;
  write(out);
  return out.str();
}

std::vector<Json> named(std::size_t count, double time) {
  std::vector<Json> rows;
  for (std::size_t i = 0; i < count; ++i)
    rows.push_back(row(std::string("op/new/rows:").append(std::to_string(i)).append("/timer:graph"), time));
  return rows;
}

/// How `count` rows are told that went from 1 to `time`.
std::string text_of(std::size_t count, double time) {
  CompareOptions options;
  options.threshold = 0.2;
  const Comparison comparison = compare_rows(named(count, 1), named(count, time), options);
  return written([&](std::ostream& out) { write_text(out, comparison, false); });
}

TEST(Counted, OneHasNoPlural) {
  EXPECT_EQ(counted(0, "row"), "0 rows");
  EXPECT_EQ(counted(1, "row"), "1 row");
  EXPECT_EQ(counted(2, "row"), "2 rows");
  EXPECT_EQ(counted(1, "process"), "1 process");
  EXPECT_EQ(counted(2, "process"), "2 processes");
  EXPECT_EQ(counted(1, "row was", "rows were"), "1 row was");
  EXPECT_EQ(counted(0, "row was", "rows were"), "0 rows were");
}

TEST(Counted, RowsThatAComparisonLeavesOut) {
  EXPECT_TRUE(holds(text_of(1001, 3), "\n1 more row; ")) << text_of(1001, 3);
  EXPECT_TRUE(holds(text_of(1002, 3), "\n2 more rows; "));
  std::vector<Json> after = named(101, 3);
  after[0] = named(1, 1)[0];
  CompareOptions options;
  options.threshold = 0.2;
  const Comparison comparison = compare_rows(named(101, 1), after, options);
  EXPECT_TRUE(holds(written([&](std::ostream& out) { write_text(out, comparison, false); }),
                    "\n1 row the same or skipped; "));
  const Comparison long_one = compare_rows(named(201, 1), named(201, 3), options);
  EXPECT_TRUE(holds(written([&](std::ostream& out) { write_markdown(out, long_one); }), "\n1 more row.\n"));
}

TEST(Counted, LinesAndRowsOfATable) {
  std::vector<Json> rows = named(201, 5);
  rows.push_back(row("BM_other", 5));
  rows.push_back(error_row("op/bad/rows:0/timer:graph", "boom"));
  const SpeedupTable table = make_table(side_of({file_of(rows)}), {});
  const std::string markdown = written([&](std::ostream& out) { write_table_markdown(out, table); });
  EXPECT_TRUE(holds(markdown, "\n1 more line.\n"));
  EXPECT_TRUE(holds(markdown, "**1 wrong or failed row**, ")) << markdown.substr(0, 1000);
  const std::string text = written([&](std::ostream& out) { write_table_text(out, table); });
  EXPECT_TRUE(holds(text, "\n1 wrong or failed row, ")) << text.substr(0, 1000);
  EXPECT_TRUE(holds(text, "1 row is not named operator/variant/")) << text.substr(0, 1000);
  EXPECT_TRUE(holds(text, " and stands in no table")) << text.substr(0, 1000);
}

TEST(Counted, RowsThatATableMisses) {
  const std::vector<Json> one = named(1, 5);
  SpeedupTable table = make_table(side_of({file_of(one)}), {});
  add_verdicts(table, compare_rows(named(22, 5), one), "b.json");
  EXPECT_EQ(table.notes.back(), "missing: 1 more row");
}

TEST(Counted, KernelsThatATableLeavesOut) {
  const auto side = [](int kernels, double ns) {
    std::vector<KernelUse> used;
    for (int i = 0; i < kernels; ++i) used.push_back({std::string("k").append(std::to_string(i)), 1, ns});
    for (int i = 0; i < 11; ++i) {
      for (const char* type : {"<int>", "<long>"})
        used.push_back({std::string("several").append(std::to_string(i)).append(type), 1, ns});
    }
    return KernelSide{"A", false, {{"", std::move(used)}}, {}, {}};
  };
  const KernelTable table =
      make_kernel_table(side(40, 1000), side(40, 2000), NamePattern("--control", "several"));
  const std::string text = written([&](std::ostream& out) { write_kernels_text(out, table); });
  EXPECT_TRUE(holds(text, "\n1 smaller kernel is not shown ")) << text;
  EXPECT_TRUE(holds(text, "\nnote: 1 more kernel sums up several full names\n")) << text;
  EXPECT_TRUE(holds(text, "\nnote: 1 more control like these\n")) << text;
}

}  // namespace
}  // namespace strictbench
