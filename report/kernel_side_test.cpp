#include "report/kernel_side.h"

#include <gtest/gtest.h>

#include "report/testing.h"

namespace strictbench {
namespace {

using testing::Folder;
using testing::holds;
using testing::Json;
using testing::usage_error_of;

const std::string header =
    "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n";
const std::string real_files = STRICTBENCH_TESTDATA "/nsight_systems/";

std::vector<KernelUse> parse(const std::string& text) {
  std::vector<std::string> notes;
  return parse_kernel_csv(text, "k.csv", notes);
}

std::string refused(const std::string& text) {
  return usage_error_of([&] { parse(text); });
}

Json kernel(const std::string& name, double launches, double total) {
  return {{"name", name}, {"launches", launches}, {"total_ns", total}, {"min_ns", 1}, {"max_ns", 2}};
}

Json record(std::vector<Json> cases, const std::string& gpu = "NVIDIA H200") {
  return {{"operator", "op"}, {"context", {{"gpu_name", gpu}}}, {"cases", std::move(cases)}};
}

Json one_case(const std::string& name, int calls, std::vector<Json> kernels) {
  return {{"name", name}, {"calls", calls}, {"kernels", std::move(kernels)}};
}

TEST(KernelCsv, NamesHaveCommasAndDoubledQuotes) {
  const auto kernels = parse(header + "60.0,1200,2,600.0,1,1,1,0.0,plain\r\n" +
                             "40.0,800,1,800,1,1,1,0,\"void f<int, \"\"x\"\">(int, long)\"\n");
  ASSERT_EQ(kernels.size(), 2U);
  EXPECT_EQ(kernels[0].name, "plain");
  EXPECT_EQ(kernels[0].launches, 2);
  EXPECT_EQ(kernels[0].total_ns, 1200);
  EXPECT_EQ(kernels[1].name, "void f<int, \"x\">(int, long)");
}

TEST(KernelCsv, ColumnsAreFoundByNameBelowAnyPreamble) {
  const auto kernels = parse(
      "\xef\xbb\xbfProcessing [a.sqlite] with [\"nsys\"]... \n"
      "SKIPPED: a.sqlite does not contain NV Tools Extension (NVTX) data.\n\n"
      "Time (%),Total Time (ns),Num Calls,Name\n99,5,1,cudaLaunchKernel\n\n"
      " ** CUDA GPU Kernel Summary (cuda_gpu_kern_sum):\n"
      "Name,\"Total Time (us)\",Instances\nf,1.5,3\n\n"
      "Time (%),Total Time (ns),Count,Operation\n1,2,3,memset\n");
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_EQ(kernels[0].name, "f");
  EXPECT_EQ(kernels[0].launches, 3);
  EXPECT_EQ(kernels[0].total_ns, 1500);
}

TEST(KernelCsv, AKernelBehindABlankLineIsNotLostInSilence) {
  const std::string columns = "Time (%),Total Time (ns),Instances,Name\n";
  EXPECT_EQ(parse(columns + "60,9,1,f\n40,6,1,g\n\n").size(), 2U);
  EXPECT_THROW(parse(columns + "60,9,1,f\n\n40,6,1,g\n"), UsageError);
  EXPECT_THROW(parse(columns + "60,9,1,f\n\n\n40,6,1,g\n"), UsageError);
  EXPECT_THROW(parse(columns + "60,9,1,f\r\n\r\n\r\n40,6,1,g\r\n"), UsageError);
  EXPECT_THROW(parse(columns + "60,9,1,f\n\n \t\n40,6,1,g\n"), UsageError);
}

TEST(KernelCsv, TheOlderHeader) {
  const auto kernels =
      parse("Time(%),Total Time (ns),Instances,Average,Minimum,Maximum,StdDev,Name\n1.0,5,1,5,5,5,0,f\n");
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_EQ(kernels[0].total_ns, 5);
}

TEST(KernelCsv, RealFiles) {
  const KernelSide h100 = read_kernel_side(real_files + "nsys_kernels_h100.csv", {});
  ASSERT_EQ(h100.cases.size(), 1U);
  ASSERT_EQ(h100.cases[0].kernels.size(), 175U);
  EXPECT_EQ(h100.cases[0].kernels[0].total_ns, 17081723060);
  EXPECT_EQ(h100.cases[0].kernels[1].name,
            "ncclDevKernel_AllGather_RING_LL(ncclDevComm *, unsigned long, ncclWork *)");
  const KernelSide older = read_kernel_side(real_files + "nsys_kernels_older_header.csv", {});
  EXPECT_EQ(older.cases.at(0).kernels.size(), 80U);
  EXPECT_TRUE(older.notes.empty());
}

TEST(KernelCsv, WhatCannotBeReadIsNamed) {
  EXPECT_TRUE(holds(refused("Processing...\nSKIPPED: x.sqlite does not contain CUDA kernel data.\n"),
                    "k.csv: line 2 says \"SKIPPED: x.sqlite does not contain CUDA kernel data.\""));
  EXPECT_TRUE(holds(refused("SKIPPED: \x1b[2J\n"), "SKIPPED: \\x1b[2J"));
  EXPECT_TRUE(holds(refused("a,b\n1,2\n"), "no header of a kernel summary"));
  EXPECT_TRUE(holds(refused(std::string("\0\1\2", 3)), "no header of a kernel summary"));
  EXPECT_TRUE(holds(refused(header), "there is no kernel"));
  EXPECT_TRUE(holds(refused(header + "1,2,3,4\n"), "line 2 has 4 fields where the header has 9"));
  EXPECT_TRUE(holds(refused(header + "1,2,3,4,5,6,7,8,\"cut o"), "line 2 has a quote that is never closed"));
  EXPECT_TRUE(holds(refused(header + "1,2,3,4,5,6,7,8,f\n" + "\n" + header), "line 4 begins a second"));
  for (const std::string bad : {"nan", "inf", "-1", "1e999", "1e30", "x", "", "1 2", "0x10"}) {
    EXPECT_TRUE(holds(refused(header + "1," + bad + ",3,4,5,6,7,8,f\n"), "as its Total Time")) << bad;
    EXPECT_TRUE(holds(refused(header + "1,2," + bad + ",4,5,6,7,8,f\n"), "as its Instances")) << bad;
  }
}

TEST(KernelCsv, WhatCouldBeMisreadIsRefused) {
  for (const std::string half : {"1.5", "0.25", "3e-1"}) {
    EXPECT_TRUE(holds(refused(header + "1,2," + half + ",4,5,6,7,8,f\n"),
                      "k.csv: line 2 has \"" + half + "\" as its Instances, which is no whole number"));
  }
  EXPECT_EQ(parse(header + "1,2,3.0,4,5,6,7,8,f\n").at(0).launches, 3);
  EXPECT_TRUE(
      holds(refused(header + "1,2,3,4,5,6,7,8,f\n1,2,3,4,5,6,7,8,\n"), "line 3 has nothing as its Name"));
  EXPECT_TRUE(holds(refused(header + "1,2,3,4,5,6,7,8,\" \"\n"), "line 2 has nothing as its Name"));
  EXPECT_TRUE(holds(refused(header + "1,\"2\"0,3,4,5,6,7,8,f\n"),
                    "line 2 has text behind a closing quote in column 2"));
  EXPECT_TRUE(holds(refused(header + "1,2,3,4,5,6,7,8,\"f\"g\n"), "closing quote in column 9"));
  EXPECT_EQ(parse(header + "1,2,3,4,5,6,7,8,\"f\" \r\n").at(0).name, "f");
  EXPECT_TRUE(holds(refused(header + "1,2,3,4,5,6,7,8,\"cut o"), "never closed in column 9"));
  for (const std::string twice : {"Name", "Instances", "Total Time"}) {
    EXPECT_TRUE(holds(refused("Total Time (ns),Instances,Name," + twice + "\n1,2,f,4\n"),
                      "k.csv: line 1 has two columns " + twice))
        << twice;
  }
  EXPECT_TRUE(holds(refused("Total Time (ns),Instances,Total Time (us),Name\n1,2,3,f\n"),
                    "line 1 has two columns Total Time"));
}

TEST(KernelCsv, ALastLineWithoutEndIsNoted) {
  std::vector<std::string> notes;
  parse_kernel_csv(header + "1,2,3,4,5,6,7,8,f", "k.csv", notes);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_TRUE(holds(notes[0], "cut off"));
}

TEST(KernelRecord, CountsOneCall) {
  const Folder folder;
  folder.write("op.kernels.json",
               record({one_case("op/new/rows:1/timer:graph", 20, {kernel("f", 60, 2000)})}));
  folder.write("other.kernels.json",
               record({one_case("other/new/rows:1/timer:graph", 4, {kernel("f", 4, 8)})}));
  folder.write("op.0.json", std::string("not a record"));
  const KernelSide side = read_kernel_side(folder.path(), {});
  ASSERT_EQ(side.cases.size(), 2U);
  EXPECT_EQ(side.cases[0].kernels.at(0).launches, 3);
  EXPECT_EQ(side.cases[0].kernels.at(0).total_ns, 100);
  EXPECT_EQ(side.devices, (std::vector<std::string>{"NVIDIA H200", "NVIDIA H200"}));
}

TEST(KernelRecord, FailedAndRepeatedCasesAreNoted) {
  const Folder folder;
  Json failed = one_case("op/bad/timer:graph", 0, {});
  failed["error"] = "check failed: 1 of 9";
  const std::string file =
      folder.write("a.json", record({failed, one_case("op/new/timer:graph", 1, {kernel("f", 1, 5)}),
                                     one_case("op/new/timer:cold", 1, {kernel("f", 1, 7)})}));
  const KernelSide side = read_kernel_side(file, {});
  ASSERT_EQ(side.cases.size(), 1U);
  ASSERT_EQ(side.notes.size(), 2U);
  EXPECT_TRUE(holds(side.notes[0], "of 1 case (op/bad/timer:graph)"));
  ASSERT_EQ(side.failed.size(), 1U);
  EXPECT_EQ(side.failed[0].name, "op/bad/timer:graph");
  EXPECT_EQ(side.failed[0].error, "check failed: 1 of 9");
  std::vector<NamePattern> others;
  others.emplace_back("--case", "/new/");
  EXPECT_TRUE(read_kernel_side(file, others).failed.empty());
  const std::string bad = folder.write("b.json", record({failed}));
  EXPECT_TRUE(holds(usage_error_of([&] { read_kernel_side(bad, {}); }),
                    "no case with kernels; op/bad/timer:graph: check failed: 1 of 9"));
  EXPECT_TRUE(holds(side.notes[1], "1 case stands twice"));
}

TEST(KernelRecord, WhatCannotBeReadIsNamed) {
  const Folder folder;
  const auto refuses = [&](const Json& json) {
    const std::string file = folder.write("a.json", json);
    return usage_error_of([&] { read_kernel_side(file, {}); });
  };
  const auto refuses_text = [&](const std::string& text) {
    const std::string file = folder.write("a.json", text);
    return usage_error_of([&] { read_kernel_side(file, {}); });
  };
  EXPECT_TRUE(holds(refuses_text(""), "is empty"));
  EXPECT_TRUE(holds(refuses_text("{\"cases\": ["), "not valid JSON at byte"));
  EXPECT_TRUE(holds(refuses_text("{\"cases\": [{\"name\": \"a\", \"calls\": 1e999}]}"), "JSON"));
  EXPECT_TRUE(holds(refuses({{"benchmarks", Json::array()}}), "no record of kernels"));
  EXPECT_TRUE(holds(refuses(record({})), "holds no case with kernels"));
  EXPECT_TRUE(holds(refuses(record({Json(5)})), "\"cases\"[0] is no object"));
  EXPECT_TRUE(holds(refuses(record({one_case("a", 0, {})})), "\"cases\"[0] was called 0.00 times"));
  EXPECT_TRUE(holds(refuses(record({one_case("a", 1, {kernel("f", -1, 1)})})),
                    "\"cases\"[0] kernel 0 has no number \"launches\""));
  EXPECT_TRUE(holds(refuses(record({one_case("a", 1, {kernel("f", 1, 1e30)})})), "\"total_ns\""));
  EXPECT_TRUE(holds(refuses(record({one_case("a", 1, {Json("f")})})), "kernel 0 is no object"));
  EXPECT_TRUE(holds(usage_error_of([&] { read_kernel_side(folder.at("absent"), {}); }), "does not exist"));
  const Folder empty;
  EXPECT_TRUE(holds(usage_error_of([&] { read_kernel_side(empty.path(), {}); }), "run --kernels"));
}

KernelSide side_of_cases(const std::vector<std::string>& names) {
  KernelSide side{"S", true, {}, {}, {}};
  for (const std::string& name : names) side.cases.push_back({name, {}});
  return side;
}

std::vector<std::string> names_of(const KernelSide& side) {
  std::vector<std::string> names;
  for (const RecordedCase& one : side.cases) names.push_back(one.name);
  return names;
}

TEST(PairCases, ByNameWhateverTheTimer) {
  KernelSide before =
      side_of_cases({"op/new/r:1/timer:graph", "op/legacy/r:1/timer:graph", "op/new/r:2/timer:graph"});
  KernelSide after = side_of_cases({"op/new/r:1/timer:cold", "op/new/r:3/timer:graph"});
  std::vector<std::string> notes;
  pair_cases(before, after, notes);
  EXPECT_EQ(names_of(before), (std::vector<std::string>{"op/new/r:1/timer:graph"}));
  EXPECT_EQ(names_of(after), (std::vector<std::string>{"op/new/r:1/timer:cold"}));
  ASSERT_EQ(notes.size(), 2U);
  EXPECT_TRUE(holds(notes[0], "one call of each of 1 case"));
  EXPECT_TRUE(holds(
      notes[1], "on one side alone: 3 cases (op/legacy/r:1/timer:graph, op/new/r:2/timer:graph and 1 more)"));
}

TEST(PairCases, VariantsByShape) {
  KernelSide before = side_of_cases({"op/legacy/r:1/timer:graph", "op/legacy/r:2/timer:graph"});
  KernelSide after = side_of_cases({"op/new/r:1/timer:graph", "op/new/r:2/timer:graph"});
  std::vector<std::string> notes;
  pair_cases(before, after, notes);
  EXPECT_EQ(before.cases.size(), 2U);
  EXPECT_TRUE(holds(notes.at(0), "paired by operator and shape"));
  KernelSide many = side_of_cases({"op/new/r:1/timer:graph", "op/tuned/r:1/timer:graph"});
  EXPECT_TRUE(holds(usage_error_of([&] { pair_cases(before, many, notes); }), "choose one variant"));
  KernelSide other = side_of_cases({"other/new/r:1/timer:graph"});
  EXPECT_TRUE(
      holds(usage_error_of([&] { pair_cases(before, other, notes); }), "no case stands on both sides"));
}

TEST(NamePattern, IsExtendedAndSurvivesLongNames) {
  const NamePattern pattern("--case", "^(a|b)+$");
  EXPECT_TRUE(pattern.found_in("abab"));
  EXPECT_FALSE(pattern.found_in("abc"));
  EXPECT_TRUE(pattern.found_in(std::string(1000000, 'a')));
  EXPECT_TRUE(holds(usage_error_of([] { NamePattern("--case", "("); }), "--case ("));
}

}  // namespace
}  // namespace strictbench
