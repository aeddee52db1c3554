#include "report/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "report/grid.h"

namespace strictbench {
namespace {

TEST(Printable, LeavesTextAndDisarmsControl) {
  EXPECT_EQ(printable("row_fold/new ü 漢"), "row_fold/new ü 漢");
  EXPECT_EQ(printable("a\x1b[31mred\n\tb\x7f"), "a\\x1b[31mred\\x0a\\x09b\\x7f");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("\u009b31m \u202egnp \u2028"), "\\x9b31m \\u{202e}gnp \\u{2028}");
}

TEST(Printable, ShowsBytesThatAreNoUtf8) {
  EXPECT_EQ(printable("a\xff\xc3"), "a\\xff\\xc3");
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");                    // overlong
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // beyond Unicode
}

TEST(Markdown, NothingOfANameIsMarkup) {
  const std::string hostile = "a|b<img src=x>`c`*d*_e_[f](g)~h~\\i&amp;@j #k\n|l";
  const std::string text = markdown_text(hostile);
  for (const char c : std::string("|<>`*[]~\\@\n")) EXPECT_EQ(text.find(c), std::string::npos) << c;
  EXPECT_NE(text.find("&#38;amp;"), std::string::npos) << text;
  EXPECT_EQ(markdown_code(hostile), "<code>" + text + "</code>");
}

TEST(Markdown, OrdinaryTextStaysReadable) {
  EXPECT_EQ(markdown_text("device: NVIDIA H200, row_fold 3.2 %"), "device: NVIDIA H200, row_fold 3.2 %");
  EXPECT_EQ(markdown_text("- 1. +x"), "- 1. +x");
  EXPECT_EQ(markdown_code("row_fold/new/rows:64/timer:graph"), "`row_fold/new/rows:64/timer:graph`");
  EXPECT_EQ(markdown_text(":smile:"), "&#58;smile:");
}

TEST(Markdown, TheSameAsThatOfANight) {
  std::ifstream file(STRICTBENCH_TESTDATA "/markdown.json");
  const auto examples = nlohmann::json::parse(file);
  ASSERT_GT(examples.size(), 10U);
  for (const auto& example : examples) {
    const auto text = example.at("text").get<std::string>();
    if (example.contains("cell")) {
      EXPECT_EQ(markdown_text(text), example.at("cell").get<std::string>());
    }
    if (example.contains("code")) {
      EXPECT_EQ(markdown_code(text), example.at("code").get<std::string>());
    }
  }
}

TEST(Xml, EscapesAndHoldsNoControlCharacters) {
  EXPECT_EQ(xml_text("a<b>&\"c'\x01"), "a&lt;b&gt;&amp;&quot;c&apos;\\x01");
}

TEST(Numbers, ReadWell) {
  EXPECT_EQ(readable_time(12), "12.0 ns");
  EXPECT_EQ(readable_time(999.6), "1.00 us");
  EXPECT_EQ(readable_time(11600), "11.6 us");
  EXPECT_EQ(readable_time(3.698e9), "3.70 s");
  EXPECT_EQ(readable_time(1e300), "1e+291 s");
  EXPECT_EQ(readable_change(1.0213), "+2.13 %");
  EXPECT_EQ(readable_change(0.5), "-50.0 %");
  EXPECT_EQ(readable_change(3), "x 3.00");
  EXPECT_EQ(readable_change(1 + 1e-9), "+0.00 %");
  EXPECT_EQ(readable_number(2e9), "2.00 G");
  EXPECT_EQ(readable_number(12), "12.0");
}

TEST(Padding, CountsCharactersNotBytes) {
  EXPECT_EQ(pad_right("ü", 3), "ü  ");
  EXPECT_EQ(pad_left("ü", 3), "  ü");
  EXPECT_EQ(pad_left("long", 3), "long");
}

TEST(Grid, AlignsTextAndEscapesMarkdown) {
  Grid grid({{"name", Align::left, true}, {"time", Align::right, false}});
  grid.add({"a|b", "1 ns"});
  grid.add({"long/name", "12 ns"});
  std::ostringstream text;
  grid.write_text(text);
  EXPECT_EQ(text.str(), "name        time\na|b         1 ns\nlong/name  12 ns\n");
  std::ostringstream markdown;
  grid.write_markdown(markdown);
  EXPECT_EQ(markdown.str(),
            "| name | time |\n|---|---:|\n| <code>a&#124;b</code> | 1 ns |\n| `long/name` | 12 ns |\n");
}

TEST(Text, SpeedupsKeepTheirDigits) {
  EXPECT_EQ(speedup_text(0.00262), "0.0026 x");
  EXPECT_EQ(speedup_text(0.94), "0.94 x");
  EXPECT_EQ(speedup_text(2.525), "2.52 x");
  EXPECT_EQ(speedup_text(18.24), "18.2 x");
  EXPECT_EQ(speedup_text(204217.3), "204217 x");
}

TEST(Text, WhatIsNoNumberIsAWord) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(fixed(infinity, 4), "unlimited");
  EXPECT_EQ(readable_change(infinity), "x unlimited");
  EXPECT_EQ(readable_time(-infinity), "-unlimited s");
  EXPECT_EQ(fixed(std::nan(""), 2), "unknown");
}

}  // namespace
}  // namespace strictbench
