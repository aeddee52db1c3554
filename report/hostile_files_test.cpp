/// Files that are no files, and names that fuzzing led to.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "report/compare.h"
#include "report/input_file.h"
#include "report/json_source.h"
#include "report/kernel_side.h"
#include "report/name_pattern.h"
#include "report/testing.h"
#include "report/text.h"

namespace strictbench {
namespace {

using namespace strictbench::testing;

TEST(InputFile, APipeThatNobodyWritesToIsRefused) {
  const Folder folder;
  const std::string pipe = folder.at("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const auto began = std::chrono::steady_clock::now();
  EXPECT_NE(
      usage_error_of([&] { read_side({pipe}, "real_time"); }).find("pipe: is a pipe that nobody writes to"),
      std::string::npos);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(60));
  EXPECT_NE(usage_error_of([&] { read_kernel_side(pipe, {}); }).find("nobody writes to"), std::string::npos);
}

TEST(InputFile, APipeIsReadAsItsWriterDelivers) {
  const Folder folder;
  const std::string pipe = folder.at("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const std::string text =
      Json{{"context", Json::object()}, {"benchmarks", {row("a", 1), row("b", 2)}}}.dump();
  // The writer comes late, and delivers in two pieces.
  std::thread writer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    std::ofstream out(pipe, std::ios::binary);
    out << text.substr(0, 20) << std::flush;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    out << text.substr(20);
  });
  const Side side = read_side({pipe}, "real_time");
  writer.join();
  EXPECT_EQ(side.rows_read, 2U);
}

TEST(InputFile, WhatCannotBeReadNamesItself) {
  const Folder folder;
  EXPECT_NE(usage_error_of([&] { read_input(folder.path()); }).find("is a folder, not a file"),
            std::string::npos);
  EXPECT_NE(usage_error_of([&] { read_input(folder.at("none")); }).find("none: cannot be opened"),
            std::string::npos);
  EXPECT_EQ(read_input(folder.write("file", std::string(200000, 'x'))), std::string(200000, 'x'));
}

TEST(InputFile, WhatHasNoEndIsRefused) {
  const Folder folder;
  EXPECT_EQ(usage_error_of([&] { read_input("/dev/zero"); }), "/dev/zero: is neither a file nor a pipe");
  const std::string sparse = folder.write("sparse", std::string("x"));
  std::filesystem::resize_file(sparse, std::uintmax_t{50} << 30U);
  EXPECT_TRUE(holds(usage_error_of([&] { read_input(sparse); }), "sparse: is larger than 1 GiB"));
  std::filesystem::create_symlink("/dev/zero", folder.at("run.json"));
  EXPECT_TRUE(
      holds(usage_error_of([&] { read_side({folder.path()}, "real_time"); }), "run.json: is neither"));
}

TEST(HostileFiles, NestedWithoutEnd) {
  const std::string deep(1000000, '[');
  EXPECT_NE(usage_error_of([&] { require_shallow(deep); }).find("more than 200 deep at byte 200"),
            std::string::npos);
  EXPECT_NO_THROW(require_shallow("{\"[[[\\\"[[\": [{}, [], {\"a\": [1]}]}"));
  std::string wide;
  for (int i = 0; i < 1000; ++i) wide += "[{}],";
  EXPECT_NO_THROW(require_shallow(wide));
  const Folder folder;
  usage_error_of([&] { read_side({folder.write("a.json", "{\"context\": " + deep)}, "real_time"); });
  usage_error_of([&] { read_kernel_side(folder.write("b.json", "{\"cases\": " + deep), {}); });
  const std::string closed = std::string(300000, '[') + std::string(300000, ']');
  const std::string record = folder.write("c.json", R"({"cases": [{"name": "a", "error": )" + closed + "}]}");
  EXPECT_NE(usage_error_of([&] { read_kernel_side(record, {}); }).find("c.json: nested more than 200 deep"),
            std::string::npos);
  folder.write("run.json", R"({"processes": [{"more": )" + closed + "}]}");
  EXPECT_NE(usage_error_of([&] {
              read_side({folder.path()}, "real_time");
            }).find("run.json: nested more than 200 deep"),
            std::string::npos);
}

TEST(HostileFiles, ARowWithTheSuffixAndOneWithoutAreBothAccountedFor) {
  const std::string name = "op/new/rows:8/timer:graph";
  const Folder folder;
  const auto side = [&](const char* file, const std::vector<std::string>& names) {
    Json rows = Json::array();
    for (const std::string& each : names) rows.push_back(row(each, 5));
    return read_side({folder.write(file, Json{{"context", Json::object()}, {"benchmarks", rows}})},
                     "real_time");
  };
  const Side one = side("one.json", {name});
  const Side both = side("both.json", {name, name + "/manual_time"});
  const Comparison comparison = compare(one, both, CompareOptions{});
  ASSERT_EQ(comparison.rows.size(), 2U);
  EXPECT_EQ(comparison.rows[1].name, name + "/manual_time");
  EXPECT_EQ(comparison.rows[1].verdict, Verdict::added);
  // The suffix alone is no other row.
  EXPECT_EQ(compare(one, side("suffix.json", {name + "/manual_time"}), CompareOptions{}).rows.size(), 1U);
}

TEST(HostileFiles, APatternIsSearchedInANameOfAnyLength) {
  const NamePattern pattern("--filter", "((r|o|w)*)*x$");
  EXPECT_FALSE(pattern.found_in(std::string(1000000, 'r')));
  EXPECT_TRUE(pattern.found_in(std::string(1000000, 'r') + "x"));
  EXPECT_NE(usage_error_of([] { NamePattern("--filter", std::string(20000, '(')); }).find("20000 characters"),
            std::string::npos);
}

TEST(HostileFiles, EveryMarkOfDirectionIsWrittenOut) {
  // U+061C, the Arabic letter mark, turns text around as U+200E and U+200F do.
  EXPECT_EQ(printable("a\xd8\x9c"
                      "b"),
            "a\\u{61c}b");
}

}  // namespace
}  // namespace strictbench
