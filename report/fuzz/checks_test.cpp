/// The checks of the fuzz targets find what they are for.
#include "report/fuzz/checks.h"

#include <gtest/gtest.h>

#include <set>

#include "report/fuzz/fuzzing.h"
#include "report/fuzz/mutation.h"
#include "report/testing.h"

namespace strictbench::fuzz {
namespace {

using strictbench::testing::Folder;
using strictbench::testing::row;

TEST(Checks, WhatATerminalObeys) {
  EXPECT_NO_THROW(check_terminal("op/new \xc2\xb5s\n\xe6\xbc\xa2\n"));
  for (const char* bad :
       {"\x1b[2J", "\r", "\xc2\x9b", "\xe2\x80\xae", "\xd8\x9c", "\xff", "\x7f", "\xe2\x80\xa8"})
    EXPECT_THROW(check_terminal(std::string("a") + bad + "b"), Violation) << bad;
  EXPECT_NO_THROW(check_terminal("\x1b[31mslower\x1b[0m\n", true));
  EXPECT_THROW(check_terminal("\x1b[31mslower\x1b[0m\n"), Violation);
  EXPECT_THROW(check_terminal("\x1b[31m\x1b[2J", true), Violation);
}

TEST(Checks, Markdown) {
  EXPECT_NO_THROW(check_markdown("- note\n\n| a | b |\n|---|---:|\n| <code>x&#124;</code> | 1 |\n"));
  for (const char* bad : {"| a | b |\n|---|---|\n| x|y | z |\n", "| a |\n|---|\n| <b> |\n", "note | x\n",
                          "| a |\n|---|\n| x | y\n", "<script>\n"})
    EXPECT_THROW(check_markdown(bad), Violation) << bad;
}

TEST(Checks, NumbersInCells) {
  const std::string table = "| verdict | row | median |\n|---|---|---|\n| same | nan | 1.0 ns |\n";
  EXPECT_NO_THROW(check_numbers(table, {1}));
  EXPECT_THROW(check_numbers(table, {}), Violation);
  EXPECT_THROW(check_numbers("| a | -inf ns |\n", {0}), Violation);
  EXPECT_NO_THROW(check_numbers("| a | nanoseconds |\n", {0}));
}

TEST(Checks, Xml) {
  const std::string head = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  EXPECT_NO_THROW(check_xml(head + "<a x=\"&lt;1&gt;\"><b/>text &amp; more</a>\n"));
  for (const char* bad : {"<a>", "<a></b>", "<a x=1></a>", "<a x=\"<\"></a>", "<a>&</a>", "<a>&nbsp;</a>",
                          "<a/><a/>", "text", "<a x=\"1></a>", "<a>\x01</a>"})
    EXPECT_THROW(check_xml(head + bad), Violation) << bad;
  EXPECT_THROW(check_xml("<a/>"), Violation);
}

TEST(Checks, Json) {
  EXPECT_EQ(check_json("{\"a\": 1}").at("a"), 1);
  EXPECT_THROW(check_json("{\"a\": nan}"), Violation);
  EXPECT_THROW(check_json("{\"a\": \"\xff\"}"), Violation);
}

TEST(Checks, Annotations) {
  EXPECT_NO_THROW(check_annotations("::error title=slower%3A x::why\n"));
  EXPECT_THROW(check_annotations("::error title=x::y\n::set-env name=A::b\n"), Violation);
  EXPECT_THROW(check_annotations("plain\n"), Violation);
}

TEST(Checks, Errors) {
  EXPECT_NO_THROW(check_error(UsageError("a.json: is a folder")));
  for (const char* bad : {"", "two\nlines", "\x1b[2J"})
    EXPECT_THROW(check_error(UsageError(bad)), Violation) << bad;
}

class Sides : public ::testing::Test {
 protected:
  Side read(const char* name, double time) const {
    return read_side(
        {folder.write(name, nlohmann::ordered_json{{"context", nlohmann::ordered_json::object()},
                                                   {"benchmarks", {row("a", time), row("b", 5)}}})},
        "real_time");
  }
  Folder folder;
};

TEST_F(Sides, ALostRowIsFound) {
  Side side = read("a.json", 1);
  EXPECT_NO_THROW(check_side(side));
  ++side.rows_read;
  EXPECT_THROW(check_side(side), Violation);
}

TEST_F(Sides, WhatAComparisonLosesIsFound) {
  const Side before = read("a.json", 1);
  const Side after = read("b.json", 9);
  const Comparison right = compare(before, after, CompareOptions{});
  EXPECT_NO_THROW(check_comparison(before, after, right));
  Comparison lost = right;
  --lost.counts[static_cast<std::size_t>(lost.rows.back().verdict)];
  lost.rows.pop_back();
  EXPECT_THROW(check_comparison(before, after, lost), Violation);
  Comparison miscounted = right;
  ++miscounted.counts[static_cast<std::size_t>(Verdict::missing)];
  EXPECT_THROW(check_comparison(before, after, miscounted), Violation);
  Comparison outside = right;
  outside.rows.front().ratio_low = 2 * outside.rows.front().ratio;
  EXPECT_THROW(check_comparison(before, after, outside), Violation);
}

TEST(Inputs, PartsStandBetweenLines) {
  EXPECT_EQ(parts_of("a\n=====\nb\n=====\n"), (std::vector<std::string_view>{"a", "b", ""}));
  EXPECT_EQ(parts_of("a=====b"), (std::vector<std::string_view>{"a=====b"}));
}

TEST(Inputs, MutationsAreTheSameOfOneSeedAndDifferOtherwise) {
  const std::vector<std::string> seeds{"{\"a\": 12,\n\"b\": [1, 2]}\n", "x,y\n1,2\n"};
  Mutator first(7, seeds);
  Mutator again(7, seeds);
  Mutator other(8, seeds);
  std::set<std::string> different;
  std::size_t shared = 0;
  for (int i = 0; i < 200; ++i) {
    const std::string text = first.next();
    EXPECT_EQ(text, again.next());
    shared += text == other.next() ? 1 : 0;
    different.insert(text);
  }
  EXPECT_GT(different.size(), 150U);
  EXPECT_LT(shared, 20U);
}

}  // namespace
}  // namespace strictbench::fuzz
