/// What a row claims beside its time: bits or a tolerance, that it is a control, what was published; and what
/// tables and comparisons say of it.
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "report/accept.h"
#include "report/table.h"
#include "report/testing.h"

namespace strictbench {
namespace {

using testing::error_row;
using testing::file_of;
using testing::Folder;
using testing::holds;
using testing::Json;
using testing::row;
using testing::side_of;

const Json checked{{"check", 1}};
const Json within{{"check", 1}, {"tolerance", 0.02}, {"relative_error", 0.00314}};

std::string name_of(const std::string& variant, const std::string& timer = "graph") {
  return "op/" + variant + "/tokens:8/timer:" + timer;
}

std::string text_of(const SpeedupTable& table) {
  std::ostringstream out;
  write_table_text(out, table);
  return out.str();
}

std::string markdown_of(const SpeedupTable& table) {
  std::ostringstream out;
  write_table_markdown(out, table);
  return out.str();
}

std::string text_of_rows(std::vector<Json> rows) {
  return text_of(make_table(side_of({file_of(std::move(rows))}), {}));
}

/// The line that begins with the shape.
std::string line_of(const std::string& text) {
  const std::size_t at = text.find("\ntokens:8");
  return at == std::string::npos ? "" : text.substr(at + 1, text.find('\n', at + 1) - at - 1);
}

/// Six processes with legacy at `ratio` times new, which differ by `wobble`.
Side processes(double ratio, double wobble, const Json& more, const std::string& timer = "event") {
  std::vector<Json> files;
  for (int i = 0; i < 6; ++i) {
    const double own = 1 + wobble * (i % 2 == 0 ? 1 : -1);
    files.push_back(file_of(
        {row(name_of("legacy", timer), 1000 * ratio * own, more), row(name_of("new", timer), 1000, more)}));
  }
  return side_of(files);
}

TEST(Bars, AreShownOverNewAndNotUnderLegacy) {
  std::vector<Json> files;
  for (int i = 0; i < 6; ++i) {
    const double drift = 1 + 0.1 * i;  // hits all of a process alike
    files.push_back(
        file_of({row(name_of("legacy"), 3000 * drift, checked), row(name_of("new"), 1000 * drift, checked),
                 row(name_of("copy"), 940 * drift, checked)}));
  }
  const SpeedupTable table = make_table(side_of(files), {});
  const Measured& copy = table.operators.at(0).lines.at(0).variants.at("copy");
  EXPECT_NEAR(copy.over_new, 0.94, 1e-9);
  EXPECT_GT(copy.over_new_low, 0.92);
  EXPECT_LT(copy.over_new_high, 0.96);
  EXPECT_TRUE(std::isnan(table.operators.at(0).lines.at(0).variants.at("new").over_new));
  EXPECT_TRUE(holds(text_of(table), "copy / new")) << text_of(table);
  EXPECT_TRUE(holds(text_of(table), "0.94 x (0.9")) << text_of(table);
  EXPECT_FALSE(holds(text_of(table), "legacy / copy"));
  EXPECT_TRUE(std::isnan(make_table(side_of({file_of({row(name_of("copy"), 1, checked)})}), {})
                             .operators.at(0)
                             .lines.at(0)
                             .variants.at("copy")
                             .over_new));
}

TEST(TableCheck, BitsWhereEveryVariantPassedBitForBit) {
  const std::string text =
      text_of_rows({row(name_of("legacy"), 3, checked), row(name_of("new"), 1, checked)});
  EXPECT_TRUE(line_of(text).ends_with("bits")) << text;
  EXPECT_FALSE(holds(text, "within")) << text;
}

TEST(TableCheck, NamesWhoIsHeldToATolerance) {
  const std::vector<Json> rows{row(name_of("cublas"), 1, within), row(name_of("legacy"), 3, checked),
                               row(name_of("new"), 1, checked)};
  const std::string text = text_of_rows(rows);
  EXPECT_TRUE(line_of(text).ends_with("bits; cublas within 2 %")) << text;
  EXPECT_TRUE(holds(text, "op cublas (0.314 %)\n")) << text;
  const std::string markdown = markdown_of(make_table(side_of({file_of(rows)}), {}));
  EXPECT_TRUE(holds(markdown, "| bits; cublas within 2 % |")) << markdown;
}

TEST(TableCheck, SaysNothingOfBitsWhereNoVariantWasHeldToThem) {
  const Json looser{{"check", 1}, {"tolerance", 0.05}};
  const std::string text = text_of_rows(
      {row(name_of("legacy"), 3, within), row(name_of("new"), 1, within), row(name_of("vendor"), 1, looser)});
  EXPECT_TRUE(line_of(text).ends_with("legacy, new within 2 %; vendor within 5 %")) << text;
  EXPECT_FALSE(holds(line_of(text), "bits")) << text;
}

TEST(TableCheck, OneRowWithAToleranceIsEnough) {
  const std::string text = text_of(make_table(
      side_of({file_of({row(name_of("legacy"), 3, checked)}), file_of({row(name_of("legacy"), 3, within)})}),
      {}));
  EXPECT_TRUE(line_of(text).ends_with("legacy within 2 %")) << text;
}

TEST(TableCheck, AToleranceThatIsNoNumberIsOneAllTheSame) {
  for (const Json& odd : {Json(nullptr), Json("2 %")}) {
    const std::string text = text_of_rows({row(name_of("legacy"), 3, {{"check", 1}, {"tolerance", odd}})});
    EXPECT_TRUE(line_of(text).ends_with("legacy within a tolerance not stated")) << text;
  }
  const std::string exact = text_of_rows({row(name_of("legacy"), 3, {{"check", 1}, {"tolerance", 0}})});
  EXPECT_TRUE(line_of(exact).ends_with("bits")) << exact;
}

TEST(TableCheck, TheGravestWins) {
  const Json failed = error_row(name_of("new"), "check failed: 3 of 9");
  EXPECT_TRUE(holds(line_of(text_of_rows({row(name_of("legacy"), 3, within), failed})), "  FAILED  "));
  const Json silent = row(name_of("new"), 1);
  EXPECT_TRUE(line_of(text_of_rows({row(name_of("legacy"), 3, within), silent})).ends_with("not stated"));
}

TEST(TableCheck, ABaselineKeepsTheClaim) {
  const Json context{{"boot_id", "b"}, {"gpu_uuid", "g"}};
  const Json control{{"check", 1}, {"control", 1}};
  const Side side = side_of({file_of({row(name_of("cublas"), 1, within), row(name_of("legacy"), 3, control),
                                      row(name_of("odd"), 1, {{"check", 1}, {"tolerance", nullptr}})},
                                     context)});
  std::ostringstream out;
  write_baseline(out, side, side);
  const Folder folder;
  const Side again = read_side({folder.write("first.json", out.str())}, "real_time");
  const std::string text = text_of(make_table(again, {}));
  EXPECT_TRUE(holds(text, "bits; cublas within 2 %; odd within a tolerance not stated")) << out.str();
  EXPECT_TRUE(holds(text, "op cublas (0.314 %)")) << text;
  EXPECT_TRUE(holds(text, "control: unclear")) << text;
}

TEST(CompareClaims, AWeakerCheckIsNoted) {
  const Json bits = row(name_of("new"), 1, checked);
  const Json loose = row(name_of("new"), 1, within);
  const auto notes = [](const Json& before, const Json& after) {
    std::string all;
    for (const std::string& note : testing::compare_rows({before}, {after}).notes) all += note + "\n";
    return all;
  };
  EXPECT_TRUE(holds(notes(bits, loose), "1 row held to a wider tolerance than in the baseline; first " +
                                            name_of("new") + ", held to bits before\n"));
  for (const auto& [before, after] : {std::pair{bits, bits}, {loose, loose}, {loose, bits}}) {
    EXPECT_FALSE(holds(notes(before, after), "tolerance")) << notes(before, after);
  }
}

TEST(TableChange, StandsBesideTheSpeedupOfWholeCalls) {
  const SpeedupTable table = make_table(processes(1.4574, 0.0001, checked), {});
  EXPECT_TRUE(holds(text_of(table), "  change")) << text_of(table);
  EXPECT_TRUE(holds(line_of(text_of(table)), ")  -31.4 %            -  bits")) << text_of(table);
  EXPECT_TRUE(holds(markdown_of(table), " | -31.4 % | - | bits |")) << markdown_of(table);
  const std::string slower = text_of(make_table(processes(0.99, 0.0001, checked), {}));
  EXPECT_TRUE(holds(slower, "+1.01 %")) << slower;
}

TEST(TableChange, NotOfSingleKernels) {
  const std::string text = text_of(make_table(processes(1.4574, 0.0001, checked, "graph"), {}));
  EXPECT_FALSE(holds(text, "change")) << text;
  EXPECT_FALSE(holds(text, "-31.4 %")) << text;
}

TEST(TableChange, NothingWithoutAPair) {
  const std::string alone = text_of_rows({row(name_of("new", "event"), 1, checked)});
  EXPECT_TRUE(holds(alone, "  change")) << alone;
  EXPECT_FALSE(holds(line_of(alone), "%")) << alone;
  const std::string half =
      text_of_rows({row(name_of("new", "event"), 1, checked), error_row(name_of("legacy", "event"), "boom")});
  EXPECT_FALSE(holds(line_of(half), "%")) << half;
}

TEST(TableControl, SteadyMovedOrUnclear) {
  const Json control{{"check", 1}, {"control", 1}};
  struct Case {
    double ratio;
    double wobble;
    const char* verdict;
  };
  for (const Case& c :
       {Case{1, 0.0005, "steady"}, Case{1.02, 0.0005, "steady"}, Case{1.1, 0.0005, "MOVED"},
        Case{0.9, 0.0005, "MOVED"}, Case{1, 0.05, "unclear"}, Case{1.03, 0.0005, "unclear"}}) {
    const SpeedupTable table = make_table(processes(c.ratio, c.wobble, control), {});
    const std::string text = text_of(table);
    EXPECT_TRUE(holds(line_of(text), std::string("control: ") + c.verdict)) << c.ratio << "\n" << text;
    EXPECT_TRUE(holds(text, "\n1 control line, where")) << text;
    EXPECT_EQ(holds(text, "proves nothing"), std::string(c.verdict) == "MOVED") << text;
    EXPECT_TRUE(holds(markdown_of(table), std::string("| control: ") + c.verdict + " |"))
        << markdown_of(table);
    EXPECT_TRUE(holds(markdown_of(table), "\n\n1 control line, where")) << markdown_of(table);
  }
}

TEST(TableControl, UnclearWithoutAnInterval) {
  const Json control{{"check", 1}, {"control", 1}};
  const std::string once =
      text_of_rows({row(name_of("legacy"), 1, control), row(name_of("new"), 1, control)});
  EXPECT_TRUE(holds(once, "control: unclear")) << once;
  const std::string alone = text_of_rows({row(name_of("new"), 1, control)});
  EXPECT_TRUE(holds(alone, "0 steady")) << alone;
  EXPECT_TRUE(holds(alone, "1 unclear")) << alone;
}

TEST(TableControl, OtherLinesAreNone) {
  const std::string text = text_of(make_table(processes(1, 0.0005, {{"check", 1}, {"control", 0}}), {}));
  EXPECT_FALSE(holds(text, "control")) << text;
  EXPECT_FALSE(holds(text, "verdict")) << text;
}

Side published_side(std::vector<Json> rows) {
  return side_of({file_of(std::move(rows), {{"provenance", "published"}, {"gpu_name", "H100"}})});
}

TEST(TablePublished, SpeedupsStandBesideEachOther) {
  std::vector<Side> published;
  published.push_back(
      published_side({row(name_of("legacy", "event"), 3000), row(name_of("new", "event"), 1500)}));
  const SpeedupTable table = make_table(processes(1.5, 0.0001, checked), published);
  ASSERT_EQ(table.published.size(), 2U);
  EXPECT_TRUE(std::isnan(table.published[0].published_speedup));  // legacy against itself
  EXPECT_TRUE(std::isnan(table.published[0].measured_speedup));
  EXPECT_EQ(table.published[1].published_speedup, 2);
  EXPECT_NEAR(table.published[1].measured_speedup, 1.5, 0.001);
  EXPECT_TRUE(holds(text_of(table), "0.667             2.00 x            1.50 x  H100")) << text_of(table);
  EXPECT_TRUE(holds(markdown_of(table), "| 0.667 | 2.00 x | 1.50 x | H100 |")) << markdown_of(table);
}

TEST(TablePublished, NoSpeedupOfHalfAPair) {
  std::vector<Side> published;
  published.push_back(published_side({row(name_of("new", "event"), 1500)}));
  const SpeedupTable only_new = make_table(processes(1.5, 0.0001, checked), published);
  ASSERT_EQ(only_new.published.size(), 1U);
  EXPECT_TRUE(std::isnan(only_new.published[0].published_speedup));
  EXPECT_TRUE(std::isnan(only_new.published[0].measured_speedup));

  // Both published, and legacy not measured here: their ratio stands alone.
  published.clear();
  published.push_back(
      published_side({row(name_of("legacy", "event"), 3000), row(name_of("new", "event"), 1500)}));
  const SpeedupTable half =
      make_table(side_of({file_of({row(name_of("new", "event"), 1000, checked)})}), published);
  ASSERT_EQ(half.published.size(), 1U);
  EXPECT_EQ(half.published[0].published_speedup, 2);
  EXPECT_TRUE(std::isnan(half.published[0].measured_speedup));
}

}  // namespace
}  // namespace strictbench
