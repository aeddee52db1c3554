#include "report/kernel_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "report/kernel_name.h"
#include "report/testing.h"

namespace strictbench {
namespace {

using testing::holds;
using testing::Json;

TEST(KernelName, IsShortAndDemangled) {
  const auto expect = [](const char* demangled, const char* name) {
    EXPECT_EQ(short_kernel_name(demangled), name);
  };
  expect("strictbench::row_fold::(anonymous namespace)::fold_columns(float const*, long)", "fold_columns");
  expect("void strictbench::dw_gemm::(anonymous namespace)::naive<true>(strictbench::dw_gemm::Shape, int)",
         "naive");
  expect("void cub::detail::radix::Kernel<cub::Policy<int, (int)4>, bool>(int*, cub::Op<int>)", "Kernel");
  expect("void a::b<int>::c<float>(a::d (*)(int))", "c");
  expect("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64",
         "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64");
  expect("", "");
  expect(")", ")");
  expect("broken>", "broken>");
}

KernelSide side(const std::string& title, std::vector<KernelUse> kernels) {
  return {title, false, {{"", std::move(kernels)}}, {}, {}};
}

KernelTable table_of(std::vector<KernelUse> before, std::vector<KernelUse> after,
                     const std::string& controls = std::string(default_controls)) {
  return make_kernel_table(side("A", std::move(before)), side("B", std::move(after)),
                           NamePattern("--control", controls));
}

std::string text_of(const KernelTable& table) {
  std::ostringstream out;
  write_kernels_text(out, table);
  return out.str();
}

std::string markdown_of(const KernelTable& table) {
  std::ostringstream out;
  write_kernels_markdown(out, table);
  return out.str();
}

Json json_of(const KernelTable& table) {
  std::ostringstream out;
  write_kernels_json(out, table);
  return Json::parse(out.str());
}

TEST(KernelTable, SumsSharesAndRatios) {
  const KernelTable table = table_of({{"ns::slow(int)", 10, 3000}, {"tile_tree", 3, 1000}},
                                     {{"quick", 2, 600}, {"ns::slow(int)", 5, 1500}, {"tile_tree", 3, 1020}});
  ASSERT_EQ(table.rows.size(), 3U);
  const KernelRow& slow = table.rows[0];
  EXPECT_EQ(slow.name, "slow");
  EXPECT_EQ(slow.before->average_ns, 300);
  EXPECT_EQ(slow.before->share, 0.75);
  EXPECT_EQ(slow.speedup, 2);
  EXPECT_EQ(slow.reduction, 0.5);
  EXPECT_EQ(table.rows[1].name, "tile_tree");  // sorted by the larger total of either side
  EXPECT_TRUE(table.rows[1].control);
  EXPECT_FALSE(table.rows[1].moved);
  EXPECT_FALSE(table.rows[2].before);
  EXPECT_TRUE(std::isnan(table.rows[2].speedup));
  EXPECT_EQ(table.total.before->total_ns, 4000);
  EXPECT_EQ(table.total.after->launches, 10);
  EXPECT_NEAR(table.total.speedup, 4000.0 / 3120, 1e-12);
  const std::string text = text_of(table);
  EXPECT_EQ(text.find("GPU time before 4.00 us, after 3.12 us: 1.28 x\n"), 0U) << text;
  EXPECT_TRUE(holds(text, "after only")) << text;
  EXPECT_TRUE(holds(text, "total")) << text;
}

TEST(KernelTable, AControlThatMovesIsNoted) {
  for (const double after : {1031.0, 969.0, 0.0}) {
    const KernelTable table = table_of({{"tile_tree", 3, 1000}}, {{"tile_tree", 3, after}});
    EXPECT_TRUE(table.rows[0].moved) << after;
    EXPECT_TRUE(holds(table.notes.at(0), "control tile_tree MOVED from 1.00 us")) << table.notes[0];
    EXPECT_TRUE(holds(text_of(table), "control MOVED"));
  }
  EXPECT_TRUE(table_of({{"tile_tree", 3, 1000}}, {{"tile_tree", 3, 1029}}).notes.empty());
  EXPECT_TRUE(table_of({{"tile_tree", 3, 0}}, {{"tile_tree", 3, 0}}).notes.empty());
  EXPECT_TRUE(holds(table_of({{"tile_tree", 3, 10}}, {{"f", 3, 10}}).notes.at(0), "one side alone: before"));
  EXPECT_TRUE(
      holds(table_of({{"xgemm", 3, 10}}, {{"xgemm", 3, 11}}, "gemm").notes.at(0), "control xgemm MOVED"));
}

TEST(KernelTable, FullNamesOfOneShortNameAreNoted) {
  const KernelTable table =
      table_of({{"void f<1>(int)", 1, 10}, {"void f<2>(int)", 1, 20}}, {{"void f<3>(int)", 1, 5}});
  ASSERT_EQ(table.rows.size(), 1U);
  EXPECT_EQ(table.rows[0].before->launches, 2);
  ASSERT_EQ(table.notes.size(), 1U);
  EXPECT_EQ(table.notes[0],
            "f sums up 3 full names; before: void f<1>(int), void f<2>(int); after: void f<3>(int)");
  EXPECT_TRUE(table_of({{"void f<1>(int)", 1, 10}}, {{"void f<1>(int)", 1, 5}}).notes.empty());
}

TEST(KernelTable, JsonHasEveryRowAndNulls) {
  const Json json = json_of(table_of({{"a\"\xff", 3, 30}, {"zero", 0, 0}}, {{"b", 2.5, 10}, {"zero", 1, 5}}));
  EXPECT_EQ(json["before"], "A");
  EXPECT_EQ(json["after"], "B");
  ASSERT_EQ(json["rows"].size(), 3U);
  const Json& alone = json["rows"][0];
  EXPECT_TRUE(alone["after"].is_null());
  EXPECT_TRUE(alone["speedup"].is_null());
  EXPECT_EQ(alone["before"]["launches"], 3);
  EXPECT_TRUE(alone["before"]["launches"].is_number_integer());
  EXPECT_EQ(alone["before"]["average_ns"], 10);
  EXPECT_EQ(alone["control"], false);
  EXPECT_EQ(json["rows"][1]["after"]["launches"], 2.5);
  EXPECT_TRUE(json["rows"][2]["before"]["average_ns"].is_null());
  EXPECT_TRUE(json["rows"][2]["speedup"].is_null());
  EXPECT_EQ(json["total"]["before"]["total_ns"], 30);
  EXPECT_EQ(json["total"]["speedup"], 2);
  EXPECT_TRUE(json["notes"].is_array());
}

TEST(KernelTable, HostileNamesAreDisarmed) {
  const std::string name = "a|b`</td><script>x\x1b[31m\n\n# y";
  const KernelTable table = table_of({{name, 1, 1}, {"::error::gotcha", 1, 1}}, {{name, 1, 2}});
  const std::string text = text_of(table);
  EXPECT_FALSE(holds(text, "\x1b"));
  EXPECT_FALSE(holds(text, "\n::")) << text;
  const std::string markdown = markdown_of(table);
  EXPECT_FALSE(holds(markdown, "<script>"));
  EXPECT_FALSE(holds(markdown, "\n# y"));
  std::istringstream lines(markdown);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("|")) continue;
    EXPECT_EQ(std::count(line.begin(), line.end(), '|'), 13) << line;
  }
}

TEST(KernelTable, LongTablesAreCutAndSaySo) {
  std::vector<KernelUse> kernels;
  for (int i = 0; i < 60; ++i) kernels.push_back({std::string(200, 'k') + std::to_string(i), 1, 100});
  const std::string text = text_of(table_of(kernels, kernels));
  EXPECT_TRUE(holds(text, "10 smaller kernels are not shown")) << text;
  EXPECT_FALSE(holds(text, std::string(100, 'k')));
}

}  // namespace
}  // namespace strictbench
