#include "bench/harness/kernel_recorder.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace strictbench {
namespace {

TEST(NearestRecord, TakesEachKernelWhereItCostLess) {
  const std::vector<KernelTime> instrumented{{"widen", 3, 5'526, 1'841, 1'843}, {"gather", 3, 30, 9, 11}};
  const std::vector<KernelTime> serialized{{"gather", 3, 36, 12, 12}, {"widen", 3, 5'040, 1'679, 1'681}};
  const auto nearest = nearest_record(instrumented, serialized);
  ASSERT_EQ(nearest.size(), 2u);
  EXPECT_EQ(nearest[0].name, "widen");  // the first record's order
  EXPECT_EQ(nearest[0].total_ns, 5'040u);
  EXPECT_EQ(nearest[0].min_ns, 1'679u);
  EXPECT_EQ(nearest[0].max_ns, 1'681u);
  EXPECT_EQ(nearest[1].total_ns, 30u);
  EXPECT_EQ(nearest[1].max_ns, 11u);
}

TEST(NearestRecord, RefusesRecordsOfDifferentLaunches) {
  const std::vector<KernelTime> three{{"fold", 3, 30, 9, 11}};
  EXPECT_THROW(nearest_record(three, {{"fold", 2, 20, 9, 11}}), std::runtime_error);
  EXPECT_THROW(nearest_record(three, {}), std::runtime_error);
  EXPECT_THROW(nearest_record({}, three), std::runtime_error);
  EXPECT_TRUE(nearest_record({}, {}).empty());
}

}  // namespace
}  // namespace strictbench
