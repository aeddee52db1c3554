#include "report/table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "report/row_name.h"
#include "report/testing.h"

namespace strictbench {
namespace {

using testing::error_row;
using testing::file_of;
using testing::holds;
using testing::Json;
using testing::row;
using testing::side_of;
using testing::skipped_row;

const std::string legacy = "op/legacy/rows:8/dtype:fp32/timer:graph";
const std::string fresh = "op/new/rows:8/dtype:fp32/timer:graph";

/// Processes whose machine drifts by 10 %, which hits both variants alike.
std::vector<Json> drifting(int processes) {
  std::vector<Json> files;
  for (int i = 0; i < processes; ++i) {
    const double drift = 1 + 0.02 * i;
    const double wobble = 1 + 0.0002 * (i % 2);
    files.push_back(file_of(
        {row(legacy, 3000 * drift, {{"check", 1}}), row(fresh, 1000 * drift * wobble, {{"check", 1}})},
        {{"gpu_name", "NVIDIA H200"}, {"git_commit", "abc"}, {"git_dirty", "true"}}));
  }
  return files;
}

const Measured& cell(const SpeedupTable& table, const std::string& variant) {
  return table.operators.at(0).lines.at(0).variants.at(variant);
}

std::string text_of(const SpeedupTable& table) {
  std::ostringstream out;
  write_table_text(out, table);
  return out.str();
}

TEST(RowName, ComesApart) {
  const RowName name = parse_row_name("op/new/rows:8/dtype:fp32/timer:wall/manual_time");
  EXPECT_EQ(name.op, "op");
  EXPECT_EQ(name.variant, "new");
  EXPECT_EQ(name.shape, "rows:8/dtype:fp32");
  EXPECT_EQ(name.timer, "wall");
  EXPECT_TRUE(name.complete());
  EXPECT_TRUE(parse_row_name("op/new/timer:cpu").complete());
  for (const char* other : {"", "/", "BM_a", "BM_a/8", "timer:cpu", "/timer:", "op/timer:cpu"}) {
    EXPECT_FALSE(parse_row_name(other).complete()) << other;
  }
}

TEST(Table, SpeedupsAreOfPairs) {
  const SpeedupTable table = make_table(side_of(drifting(6)), {});
  const Measured& measured = cell(table, "new");
  EXPECT_NEAR(measured.speedup, 3, 0.001);
  // The drift of 10 % is in both times of a pair and so not in the interval; one row alone is still held to a
  // pseudo-observation of 1 %.
  EXPECT_GT(measured.speedup_low, 2.95);
  EXPECT_LT(measured.speedup_high, 3.05);
  EXPECT_LT(measured.speedup_low, measured.speedup);
  EXPECT_TRUE(measured.checked);
  EXPECT_EQ(table.operators.at(0).variants, (std::vector<std::string>{"legacy", "new"}));
  EXPECT_EQ(table.bad_rows, 0U);
}

TEST(Table, SuspectRowsAreLeftOutAndSoIsWhatTheyLeaveTooThin) {
  std::vector<Json> files = drifting(6);
  const auto suspect = [&](std::size_t process) -> Json& {
    return files[process]["benchmarks"][1]["suspect"];
  };
  suspect(5) = 1;
  EXPECT_EQ(cell(make_table(side_of(files), {}), "new").processes, 5U);
  const std::vector<std::string> notes = make_table(side_of(files), {}).notes;
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_TRUE(holds(notes[0], "1 of 12 rows left out"));
  for (std::size_t process = 1; process < 5; ++process) suspect(process) = 1;
  const SpeedupTable table = make_table(side_of(files), {});
  EXPECT_TRUE(std::isnan(cell(table, "new").time));
  EXPECT_EQ(cell(table, "new").trouble, "left out: the machine was throttled or shared");
  EXPECT_EQ(cell(table, "legacy").processes, 6U);
  EXPECT_TRUE(make_table(side_of(drifting(6)), {}).notes.empty());
}

TEST(Table, OneProcessHasNoInterval) {
  const SpeedupTable table = make_table(side_of(drifting(1)), {});
  EXPECT_NEAR(cell(table, "new").speedup, 3, 1e-9);
  EXPECT_TRUE(std::isnan(cell(table, "new").speedup_low));
  EXPECT_TRUE(holds(text_of(table), "one process gives no interval"));
}

TEST(Table, TimesOfBadRowsAreNotShown) {
  const Side side = side_of({file_of({row(legacy, 4242), error_row(fresh, "check failed: 3 of 9"),
                                      row("op/tuned/rows:8/dtype:fp32/timer:graph", 777, {{"check", 1}}),
                                      skipped_row("op/big/rows:8/dtype:fp32/timer:graph", "needs 3 GB")}),
                             file_of({row(fresh, 1717)})});
  const SpeedupTable table = make_table(side, {});
  EXPECT_TRUE(std::isnan(cell(table, "new").time));
  EXPECT_EQ(table.bad_rows, 1U);
  const std::string text = text_of(table);
  EXPECT_TRUE(holds(text, "FAILED")) << text;
  EXPECT_TRUE(holds(text, "new wrong: check failed: 3 of 9")) << text;
  EXPECT_TRUE(holds(text, "big skipped: needs 3 GB")) << text;
  EXPECT_FALSE(holds(text, "1.72 us")) << text;
  EXPECT_TRUE(holds(text, "777 ns")) << text;
}

TEST(Table, ARowInAnUnknownUnitHasFailed) {
  const SpeedupTable table =
      make_table(side_of({file_of({row(legacy, 4242), row(fresh, 61, {{"time_unit", "fortnight"}})})}), {});
  EXPECT_EQ(table.bad_rows, 1U);
  const std::string text = text_of(table);
  EXPECT_TRUE(holds(text, "new failed: its time_unit is \"fortnight\"")) << text;
  EXPECT_FALSE(holds(text, "61")) << text;
}

TEST(Table, WithoutLegacyThereIsNoSpeedup) {
  const SpeedupTable table = make_table(side_of({file_of({row(fresh, 5)})}), {});
  EXPECT_TRUE(std::isnan(cell(table, "new").speedup));
  EXPECT_EQ(cell(table, "new").time, 5);
  const SpeedupTable failed = make_table(side_of({file_of({row(fresh, 5), error_row(legacy, "boom")})}), {});
  EXPECT_TRUE(std::isnan(cell(failed, "new").speedup));
}

TEST(Table, TheHeaderSaysWhatWasMeasured) {
  const std::string text = text_of(make_table(side_of(drifting(3)), {}));
  EXPECT_TRUE(holds(text, "device: NVIDIA H200\n")) << text;
  EXPECT_TRUE(holds(text, "commit: abc with uncommitted changes\n")) << text;
  EXPECT_TRUE(holds(text, "processes: 3; intervals at 99 %\n")) << text;
  EXPECT_TRUE(holds(text, "timer graph: ")) << text;
  EXPECT_FALSE(holds(text, "timer cold: ")) << text;
}

TEST(Table, RowsOfOtherProjectsAreCountedNotShown) {
  const SpeedupTable table = make_table(side_of({file_of({row("BM_a", 5)})}), {});
  EXPECT_TRUE(table.operators.empty());
  ASSERT_EQ(table.notes.size(), 1U);
}

TEST(Table, PublishedFiguresStandBeside) {
  std::vector<Side> published;
  published.push_back(
      side_of({file_of({row(legacy, 6000, {{"provenance", "published"}}),
                        row("op/legacy/rows:9/dtype:fp32/timer:graph", 1, {{"provenance", "published"}}),
                        row(fresh, 500)},  // says not that it was published
                       {{"gpu_name", "G"}, {"op.gpu_name", "NVIDIA H100 80GB"}})}));
  const SpeedupTable table = make_table(side_of(drifting(1)), published);
  ASSERT_EQ(table.published.size(), 1U);
  EXPECT_EQ(table.published[0].published_on, "NVIDIA H100 80GB");
  EXPECT_EQ(table.published[0].measured_on, "NVIDIA H200");
  EXPECT_EQ(table.published[0].published, 6000);
  EXPECT_EQ(table.published[0].measured, 3000);
  const std::string text = text_of(table);
  EXPECT_TRUE(holds(text, "no gate")) << text;
  EXPECT_TRUE(holds(text, "0.500")) << text;
  std::ostringstream markdown;
  write_table_markdown(markdown, table);
  EXPECT_TRUE(holds(markdown.str(), "| `" + legacy + "` | 6.00 us | 3.00 us | 0.500 |")) << markdown.str();
}

}  // namespace
}  // namespace strictbench
