/// The description of a machine, with a management library that plays a GPU.
#include "bench/strictbench/machine.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace strictbench::runner {
namespace {

class Machine : public ::testing::Test {
 protected:
  void SetUp() override { setenv("STRICTBENCH_NVML", FAKE_NVML, 1); }
  void TearDown() override {
    unsetenv("STRICTBENCH_NVML");
    unsetenv("STRICTBENCH_FAKE_NVML");
  }
};

TEST_F(Machine, SaysHowItsGpuStands) {
  setenv("STRICTBENCH_FAKE_NVML", "reasons=0x40 temperature=88", 1);
  const auto machine = describe_machine("NVIDIA H200", "GPU-fake");
  EXPECT_EQ(machine.at("gpu"), "NVIDIA H200");
  EXPECT_EQ(machine.at("gpu_uuid"), "GPU-fake");
  EXPECT_EQ(machine.at("gpu_state").at("sm_clock_mhz"), "1980");
  EXPECT_EQ(machine.at("gpu_state").at("temperature_c"), "88");
  EXPECT_EQ(machine.at("gpu_state").at("clock_event_reasons"), "0x40");
}

TEST_F(Machine, LeavesOutWhatIsNotKnown) {
  EXPECT_FALSE(describe_machine("").contains("gpu"));
  EXPECT_FALSE(describe_machine("", "").contains("gpu_state"));
  setenv("STRICTBENCH_FAKE_NVML", "init=9", 1);
  EXPECT_FALSE(describe_machine("NVIDIA H200", "GPU-fake").contains("gpu_state"));
  setenv("STRICTBENCH_NVML", "/nonexistent.so", 1);
  EXPECT_FALSE(describe_machine("NVIDIA H200", "GPU-fake").contains("gpu_state"));
}

TEST_F(Machine, AnotherGpuOfOneNameOrAnotherDriverIsADifference) {
  const auto before = describe_machine("NVIDIA H200", "GPU-fake");
  EXPECT_EQ(before.at("gpu_state").at("driver_version"), "999.1");
  EXPECT_EQ(machine_difference(before, before), "");
  auto now = before;
  now["gpu_uuid"] = "GPU-other";
  EXPECT_EQ(machine_difference(before, now), "gpu_uuid (was 'GPU-fake', now 'GPU-other')");
  now = before;
  now["gpu_state"]["driver_version"] = "999.2";
  EXPECT_EQ(machine_difference(before, now), "driver_version (was '999.1', now '999.2')");
  now.erase("gpu_state");  // the driver could not be asked
  EXPECT_EQ(machine_difference(before, now), "");
}

}  // namespace
}  // namespace strictbench::runner
