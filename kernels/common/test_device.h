/// For tests that may have to be skipped: one for each device, so that one that is skipped hides no other.
///
///   class RowFoldLarge : public test::OnEachDevice {};
///   TEST_P(RowFoldLarge, OffsetsPassTwoToThe31) {... GetParam() ...}
///   INSTANTIATE_TEST_SUITE_P(, RowFoldLarge, testing::ValuesIn(test::built_devices), test::name_of_device);
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "kernels/common/test_array.h"

namespace strictbench {

/// GoogleTest shows parameters by this.
inline void PrintTo(Device device, std::ostream* out) { *out << test::text(device); }

}  // namespace strictbench

namespace strictbench::test {

/// Those that this build knows, whether or not this machine has them.
inline const std::vector<Device> built_devices{
    Device::cpu,
#ifdef STRICTBENCH_HAS_CUDA
    Device::cuda,
#endif
};

inline std::string name_of_device(const testing::TestParamInfo<Device>& info) { return text(info.param); }

class OnEachDevice : public testing::TestWithParam<Device> {
 protected:
  void SetUp() override {
    const std::vector<Device> here = devices();
    if (std::find(here.begin(), here.end(), GetParam()) == here.end())
      GTEST_SKIP() << "there is no " << text(GetParam()) << " device here";
  }
};

}  // namespace strictbench::test
