#include "report/side_part.h"

#include <gtest/gtest.h>

#include "report/compare.h"
#include "report/testing.h"

namespace strictbench {
namespace {

using testing::Folder;
using testing::Json;
using testing::row;

constexpr const char* gpu = "gpu_name";

/// Three processes of two rows; the second row is twice as slow.
std::vector<std::string> three_files(const Folder& folder) {
  std::vector<std::string> paths;
  for (int p = 0; p < 3; ++p) {
    const double drift = 100 + p;
    paths.push_back(folder.write(
        std::to_string(p) + ".json",
        testing::file_of(
            {row("a/new/x:1/timer:graph", drift), row("a/new/x:1/timer:graph", drift + 2),
             row("b/new/x:1/timer:graph", 2 * drift), row("b/new/x:1/timer:graph", 2 * drift + 4)},
            {{gpu, "NVIDIA H200"}, {"process_index", std::to_string(p)}})));
  }
  return paths;
}

TEST(PartOf, IsWhatReadingTheseFilesAloneWouldGive) {
  const Folder folder;
  const std::vector<std::string> paths = three_files(folder);
  const Side whole = read_side(paths, "real_time");
  const std::vector<PickedRow> rows{{whole.find("b/new/x:1/timer:graph"), "renamed/new/x:1/timer:graph"}};
  const std::vector<std::uint32_t> sources{2, 0};
  const Side part = part_of(whole, rows, sources);

  ASSERT_EQ(part.benchmarks.size(), 1u);
  const Evidence& evidence = part.benchmarks[0];
  EXPECT_EQ(evidence.name, "renamed/new/x:1/timer:graph");
  EXPECT_EQ(part.find(evidence.name), &evidence);
  EXPECT_EQ(evidence.unit, Unit::time);
  ASSERT_EQ(evidence.processes.size(), 2u);
  for (const ProcessRecord& process : evidence.processes) {
    const std::string index = part.sources.at(process.source).context.at("process_index");
    EXPECT_EQ(process.value(), 2 * (101 + std::stod(index)));
  }
  EXPECT_EQ(part.rows_read, 4u);
  EXPECT_EQ(part.sources.at(0).context.at(gpu), "NVIDIA H200");
}

TEST(PartOf, ComparesAsTheFilesDo) {
  const Folder folder;
  const std::vector<std::string> paths = three_files(folder);
  const Side whole = read_side(paths, "real_time");
  const std::string a = "a/new/x:1/timer:graph";
  const std::vector<PickedRow> rows{{whole.find(a), a}};
  const std::vector<std::uint32_t> before{0, 1};
  const std::vector<std::uint32_t> after{2};
  const Comparison parts = compare(part_of(whole, rows, before), part_of(whole, rows, after), {});
  const Comparison files =
      compare(read_side({paths[0], paths[1]}, "real_time"), read_side({paths[2]}, "real_time"), {});
  ASSERT_EQ(parts.rows.size(), 1u);
  EXPECT_EQ(parts.rows[0].verdict, files.rows.at(0).verdict);
  EXPECT_EQ(parts.rows[0].ratio, files.rows[0].ratio);
  EXPECT_EQ(parts.rows[0].baseline.samples, 4u);
  EXPECT_EQ(parts.rows[0].contender.processes, 1u);
}

TEST(PartOf, ARowThatNoneOfTheFilesHasIsThereWithoutANumber) {
  const Folder folder;
  const std::string first = folder.write("p0.json", testing::file_of({row("a", 1)}));
  const std::string second = folder.write("p1.json", testing::file_of({row("b", 1)}));
  const Side whole = read_side({first, second}, "real_time");
  const std::vector<PickedRow> rows{{whole.find("a"), "a"}, {whole.find("b"), "b"}};
  const Side part = part_of(whole, rows, std::vector<std::uint32_t>{0});
  ASSERT_EQ(part.benchmarks.size(), 2u);
  EXPECT_TRUE(part.benchmarks[0].has_number());
  EXPECT_FALSE(part.benchmarks[1].has_number());
}

}  // namespace
}  // namespace strictbench
