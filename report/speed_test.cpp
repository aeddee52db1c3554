/// Reading is about as fast as the JSON library allows, and holds far less.
#include <gtest/gtest.h>

#include <cstdio>
#include <ctime>
#include <fstream>
#include <sstream>
#include <string>

#include "report/kernel_table.h"
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

TEST(Speed, KernelsOfALargeProfileTakeLessThanASecond) {
  constexpr int lines = 100000;
#ifdef NDEBUG
  constexpr double limit = 1;
#else
  constexpr double limit = 30;
#endif
  const testing::Folder folder;
  std::ofstream out(folder.at("large.csv"));
  out << "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n";
  for (int i = 0; i < lines; ++i) {
    out << "0.1," << 1000 + i << ",5,200.0,200.0,100,300,12.5,\"void at::native::kernel_" << i
        << "<(int)4, at::native::CUDAFunctor_add<float>, at::detail::Array<char *, (int)3>>(int, T2, T3)\"\n";
  }
  out.close();
  std::ostringstream written;
  const double taken = seconds([&] {
    const KernelSide before = read_kernel_side(folder.at("large.csv"), {});
    const KernelSide after = read_kernel_side(folder.at("large.csv"), {});
    write_kernels_json(written,
                       make_kernel_table(before, after, {"--control", std::string(default_controls)}));
  });
  EXPECT_GT(written.str().size(), std::size_t{100} * lines);
  std::printf("two sides of %d kernels: %.2f s\n", lines, taken);
  EXPECT_LT(taken, limit);
}

}  // namespace
}  // namespace strictbench
