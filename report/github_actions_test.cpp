#include "report/github_actions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "report/testing.h"

namespace strictbench {
namespace {

using testing::compare_rows;
using testing::error_row;
using testing::Folder;
using testing::holds;
using testing::Json;
using testing::row;

std::string annotations_of(const Comparison& comparison) {
  std::ostringstream out;
  write_annotations(out, comparison);
  return out.str();
}

CompareOptions wide() {
  CompareOptions options;
  options.threshold = 0.2;
  return options;
}

TEST(Annotations, OneForEachRowThatFails) {
  const std::string text = annotations_of(
      compare_rows({row("a/b:1,2", 1), row("gone", 1), row("wrong", 1), row("broken", 1), row("same", 1)},
                   {row("a/b:1,2", 3), error_row("wrong", "check failed: 50 % of 9"),
                    error_row("broken", "x\n::y"), row("same", 1), row("fresh", 1)},
                   wide()));
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 4U) << text;
  EXPECT_EQ(lines[0], "::error title=wrong%3A wrong::check failed: 50 %25 of 9");
  EXPECT_TRUE(lines[1].starts_with("::error title=failed%3A broken::x\\x0a::y")) << lines[1];
  EXPECT_TRUE(lines[2].starts_with("::error title=missing%3A gone::")) << lines[2];
  EXPECT_TRUE(lines[3].starts_with("::error title=slower%3A a/b%3A1%2C2::x 3.00 [")) << lines[3];
}

TEST(Annotations, NamesCannotBreakOut) {
  const std::string evil = "x\r\n::set-env name=A::b\n%0A::error::y\x1b[0m";
  const std::string text = annotations_of(compare_rows({row(evil, 1)}, {error_row(evil, evil)}));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  EXPECT_EQ(text.find("::error title=failed%3A x\\x0d\\x0a%3A%3Aset-env"), 0U) << text;
  EXPECT_TRUE(holds(text, "%250A")) << text;
  EXPECT_FALSE(holds(text, "\x1b"));
}

TEST(Annotations, TheEndsOfALongNameAreKept) {
  const std::string name = "row_fold/new/" + std::string(100000, 'x') + "/timer:graph";
  const std::string text =
      annotations_of(compare_rows({row(name, 1)}, {error_row(name, std::string(100000, 'y') + " the end")}));
  EXPECT_LT(text.size(), 2500U);
  EXPECT_TRUE(text.starts_with("::error title=failed%3A row_fold/new/xxx")) << text;
  EXPECT_TRUE(holds(text, "x...x")) << text;
  EXPECT_TRUE(holds(text, "x/timer%3Agraph::")) << text;
  EXPECT_TRUE(holds(text, " the end")) << text;
}

TEST(Annotations, AtMostTenAndTheFirstSaysHowMany) {
  const auto rows = [](int count, double time) {
    std::vector<Json> all;
    for (int i = 0; i < count; ++i) all.push_back(row(std::string("r").append(std::to_string(i)), time));
    return all;
  };
  const auto count_of = [&](int count) {
    const std::string text = annotations_of(compare_rows(rows(count, 1), rows(count, 9), wide()));
    EXPECT_EQ(text.starts_with("::error title=strictbench::12 rows are slower, wrong, failed or missing; the "
                               "first 9 follow\n"),
              count == 12);
    return std::count(text.begin(), text.end(), '\n');
  };
  EXPECT_EQ(count_of(9), 9);
  EXPECT_EQ(count_of(10), 10);
  EXPECT_EQ(count_of(12), 10);
}

TEST(StepSummary, IsAppendedTo) {
  const Folder folder;
  const std::string path = folder.write("summary.md", std::string("before\n"));
  ::setenv("GITHUB_STEP_SUMMARY", path.c_str(), 1);
  append_to_step_summary([](std::ostream& out) { out << "one\n"; });
  append_to_step_summary([](std::ostream& out) { out << "two\n"; });
  ::setenv("GITHUB_STEP_SUMMARY", folder.path().c_str(), 1);  // a folder: told, and no more
  append_to_step_summary([](std::ostream& out) { out << "lost\n"; });
  ::unsetenv("GITHUB_STEP_SUMMARY");
  append_to_step_summary([](std::ostream& out) { out << "nowhere\n"; });
  EXPECT_EQ(testing::contents(path), "before\none\n\ntwo\n\n");
}

}  // namespace
}  // namespace strictbench
