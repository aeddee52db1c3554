/// Which GPU CUDA would use, by lists and environments as they are met.
#include "bench/harness/visible_gpu.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace strictbench {
namespace {

using Uuid = std::optional<std::string>;

const std::vector<ListedGpu> two{{"GPU-aa11", "NVIDIA H200"}, {"GPU-ab22", "NVIDIA H200"}};
const std::vector<ListedGpu> unlike{{"GPU-aa11", "NVIDIA T4"}, {"GPU-ab22", "NVIDIA H200"}};

TEST(VisibleGpu, WithoutAnEnvironmentItIsTheDriversOrder) {
  EXPECT_EQ(visible_gpu(two, 0, nullptr, false), Uuid("GPU-aa11"));
  EXPECT_EQ(visible_gpu(two, 1, nullptr, false), Uuid("GPU-ab22"));
  EXPECT_EQ(visible_gpu(two, 2, nullptr, false), Uuid());
  EXPECT_EQ(visible_gpu({}, 0, nullptr, true), Uuid());
}

TEST(VisibleGpu, TheFastestFirstIsKnownOnlyOfEquals) {
  EXPECT_EQ(visible_gpu(unlike, 0, nullptr, false), Uuid());
  EXPECT_EQ(visible_gpu(unlike, 0, nullptr, true), Uuid("GPU-aa11"));
  EXPECT_EQ(visible_gpu(unlike, 0, "1", false), Uuid());
  EXPECT_EQ(visible_gpu(unlike, 0, "1", true), Uuid("GPU-ab22"));
  EXPECT_EQ(visible_gpu(unlike, 0, "GPU-ab22", false), Uuid("GPU-ab22"));  // a name needs no order
}

TEST(VisibleGpu, NumbersAndUuidsOfTheEnvironment) {
  EXPECT_EQ(visible_gpu(two, 0, "1", false), Uuid("GPU-ab22"));
  EXPECT_EQ(visible_gpu(two, 1, "1,0", false), Uuid("GPU-aa11"));
  EXPECT_EQ(visible_gpu(two, 1, "GPU-ab22,0", false), Uuid("GPU-aa11"));
  EXPECT_EQ(visible_gpu(two, 0, "GPU-ab", false), Uuid("GPU-ab22"));  // as far as it is one's alone
  EXPECT_EQ(visible_gpu(two, 0, "GPU-a", false), Uuid());
  EXPECT_EQ(visible_gpu(two, 0, "GPU-cc", false), Uuid());
}

TEST(VisibleGpu, NoneBehindOneThatDoesNotExistAndNoneTwice) {
  EXPECT_EQ(visible_gpu(two, 0, "0,-1,1", false), Uuid("GPU-aa11"));
  EXPECT_EQ(visible_gpu(two, 1, "0,-1,1", false), Uuid());
  EXPECT_EQ(visible_gpu(two, 1, "0", false), Uuid());
  EXPECT_EQ(visible_gpu(two, 1, "0,0", false), Uuid());
  for (const char* const none : {"", "-1", "2", "NoDevFiles", " 0", "0x0", ",0", "99999999999999999999999"})
    EXPECT_EQ(visible_gpu(two, 0, none, false), Uuid()) << none;
}

TEST(VisibleGpu, AnInstanceHasItsOwnUuidAndMovesTheCount) {
  const std::vector<ListedGpu> cut{{"GPU-aa11", "NVIDIA H200", true}, {"GPU-ab22", "NVIDIA H200"}};
  EXPECT_EQ(visible_gpu(cut, 0, "MIG-01234567-89ab-cdef-0123-456789abcdef", false),
            Uuid("GPU-01234567-89ab-cdef-0123-456789abcdef"));
  EXPECT_EQ(visible_gpu(cut, 0, "MIG-GPU-aa11/1/0", false), Uuid());
  EXPECT_EQ(visible_gpu(cut, 0, nullptr, false), Uuid());
  EXPECT_EQ(visible_gpu(cut, 0, "1", true), Uuid());
  EXPECT_EQ(visible_gpu(cut, 0, "GPU-aa11", false), Uuid());
  EXPECT_EQ(visible_gpu(cut, 0, "GPU-ab22", false), Uuid("GPU-ab22"));
}

/// What the library that plays scenarios says; it has as many GPUs as `gpus=` says, all of one name.
class VisibleGpuPlayed : public ::testing::Test {
 protected:
  static void play(const char* library, const char* scenario) {
    setenv("STRICTBENCH_NVML", library, 1);
    setenv("STRICTBENCH_FAKE_NVML", scenario, 1);
    unsetenv("CUDA_DEVICE_ORDER");
    unsetenv("CUDA_VISIBLE_DEVICES");
  }
  void TearDown() override {
    for (const char* const name :
         {"STRICTBENCH_NVML", "STRICTBENCH_FAKE_NVML", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"})
      unsetenv(name);
  }
};

TEST_F(VisibleGpuPlayed, IsAskedOfTheLibraryAndTheEnvironment) {
  play(FAKE_NVML, "gpus=2");
  EXPECT_EQ(visible_gpu(0), Uuid("GPU-fake"));
  EXPECT_EQ(visible_gpu(1), Uuid("GPU-fake-1"));
  setenv("CUDA_VISIBLE_DEVICES", "1", 1);
  EXPECT_EQ(visible_gpu(0), Uuid("GPU-fake-1"));
  EXPECT_EQ(visible_gpu(1), Uuid());
  play(FAKE_NVML, "gpus=2 unlike=1");
  EXPECT_EQ(visible_gpu(0), Uuid());
  setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
  EXPECT_EQ(visible_gpu(0), Uuid("GPU-fake"));
}

TEST_F(VisibleGpuPlayed, IsUnknownWhereTheLibraryDoesNotTell) {
  play(FAKE_NVML, "mig=1");
  EXPECT_EQ(visible_gpu(0), Uuid());
  play(FAKE_NVML, "init=9");
  EXPECT_EQ(visible_gpu(0), Uuid());
  play("/no/such/library.so", "");
  EXPECT_EQ(visible_gpu(0), Uuid());
  play(FAKE_OLD_NVML, "");
  EXPECT_EQ(visible_gpu(0), Uuid());
}

}  // namespace
}  // namespace strictbench
