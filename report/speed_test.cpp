/// Reading is about as fast as the JSON library allows, and holds far less.
#include <gtest/gtest.h>

#include <cstdio>
#include <ctime>
#include <fstream>
#include <string>

#include "report/testing.h"

namespace strictbench {
namespace {

constexpr int rows = 200000;

/// A file as Google Benchmark writes it, every row a benchmark of its own: the dearest case.
std::string write_large(const testing::Folder& folder) {
  const std::string path = folder.at("large.json");
  std::ofstream out(path);
  out << "{\n  \"context\": {\"host_name\": \"node\"},\n  \"benchmarks\": [\n";
  for (int i = 0; i < rows; ++i) {
    const std::string name = "row_fold/new/rows:" + std::to_string(i) + "/cols:128/dtype:fp32/timer:graph";
    out << "    {\n      \"name\": \"" << name << "\",\n      \"run_name\": \"" << name
        << "\",\n      \"run_type\": \"iteration\",\n      \"repetitions\": 1,\n      \"repetition_index\": "
           "0,\n"
        << "      \"threads\": 1,\n      \"iterations\": 1000,\n      \"real_time\": "
           "1.2345678901234567e+03,\n"
        << "      \"cpu_time\": 1.2345678901234567e+03,\n      \"time_unit\": \"ns\"\n    }"
        << (i + 1 < rows ? ",\n" : "\n");
  }
  out << "  ]\n}\n";
  return path;
}

/// Processor time, which other programs of the machine do not lengthen much.
template <typename Work>
double seconds(const Work& work) {
  const std::clock_t start = std::clock();
  work();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

TEST(Speed, ReadingTakesLessThanTwiceTheParse) {
  const testing::Folder folder;
  const std::string path = write_large(folder);
  std::size_t read = 0;
  const double ours = seconds([&] { read = read_side({path}, "real_time").rows_read; });
  std::size_t parsed = 0;
  const double parse = seconds([&] {
    std::ifstream in(path);
    parsed = nlohmann::json::parse(in)["benchmarks"].size();
  });
  EXPECT_EQ(read, static_cast<std::size_t>(rows));
  EXPECT_EQ(parsed, read);
  std::printf("%d rows: read in %.2f s, parsed in %.2f s\n", rows, ours, parse);
  EXPECT_LT(ours, 2 * parse);
}

}  // namespace
}  // namespace strictbench
