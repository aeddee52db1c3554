/// Suspect samples: counted from result files, kept in run.json, told in one line.
#include "bench/strictbench/suspects.h"

#include <gtest/gtest.h>

#include <cmath>

#include "bench/strictbench/run_record.h"
#include "bench/strictbench/widths.h"

namespace strictbench::runner {
namespace {

using Json = nlohmann::json;

TEST(Suspects, AreCountedFromTheRowsThatWereWatched) {
  const Json document{
      {"benchmarks",
       {{{"name", "a"}, {"watched", 1}},
        {{"name", "a"}, {"watched", 1}, {"suspect", 1}, {"suspect_thermal_slowdown", 1}},
        {{"name", "a"}, {"suspect", 1.0}, {"suspect_neighbours", 3}, {"suspect_thermal_slowdown", 1}},
        {{"name", "a"}},
        {{"name", "a"}, {"suspect", "1"}},
        {{"name", "a"}, {"suspect", nullptr}},
        {{"name", "a"}, {"suspect", 0.4}, {"run_type", "aggregate"}},
        {{"name", "a"}, {"suspect", 1}, {"run_type", "aggregate"}},
        7}}};
  EXPECT_EQ(suspects_of(document), (Suspects{3, 2, {{"thermal slowdown", 2}, {"neighbours", 1}}}));
}

TEST(Suspects, OfNoDocumentAreNone) {
  for (const Json& document : {Json(), Json(7), Json::array(), Json::object(), Json{{"benchmarks", 7}}})
    EXPECT_EQ(suspects_of(document), Suspects{}) << document;
}

TEST(Suspects, OfARunAreThoseOfItsProcesses) {
  RunRecord record;
  record.processes.resize(3);
  record.processes[0].suspects = {10, 4, {{"neighbours", 4}}};
  record.processes[2].suspects = {10, 6, {{"neighbours", 5}, {"clock drop", 1}}};
  EXPECT_EQ(suspects_of(record), (Suspects{20, 10, {{"neighbours", 9}, {"clock drop", 1}}}));
}

TEST(Suspects, AreToldInOneLineThatSaysWhenTheyAreMost) {
  EXPECT_EQ(suspect_line({}), "");
  EXPECT_EQ(suspect_line({40, 0, {}}), "");
  EXPECT_EQ(suspect_line({40, 20, {{"neighbours", 12}, {"thermal slowdown", 8}}}),
            "suspect: 20 of 40 samples (neighbours 12, thermal slowdown 8) were taken while the GPU was "
            "throttled or "
            "shared, and comparisons leave them out");
  EXPECT_EQ(suspect_line({40, 21, {}}),
            "suspect: 21 of 40 samples were taken while the GPU was throttled or shared, and comparisons "
            "leave them out; "
            "that is most of them: measure again when the GPU is cool and free");
}

/// A side with one row; each number is a process, `suspect` of them marked.
Side side_with(int processes, int suspect) {
  Side side;
  side.sessions.emplace_back();
  Evidence& evidence = side.find_or_add("op/new/n:1/timer:graph");
  evidence.unit = Unit::time;
  for (int i = 0; i < processes; ++i) {
    strictbench::ProcessRecord& process = evidence.processes.emplace_back();
    process.number = i;
    (i < suspect ? process.suspect_samples : process.samples).assign({100.0 + i % 2, 100.5});
    process.suspect = i < suspect ? 2 : 0;
  }
  return side;
}

TEST(Widths, SuspectSamplesAreNoEvidence) {
  const auto known = [](const Side& side) {
    return half_widths_of(side).count("op/new/n:1/timer:graph") > 0;
  };
  EXPECT_TRUE(known(side_with(5, 0)));
  EXPECT_TRUE(known(side_with(5, 3)));
  EXPECT_FALSE(known(side_with(5, 4)));  // one is left: a comparison would call it too little
  EXPECT_FALSE(known(side_with(5, 5)));
}

}  // namespace
}  // namespace strictbench::runner
