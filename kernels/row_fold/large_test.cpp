/// Offsets past 2^31 elements.
#include <gtest/gtest.h>

#include "kernels/common/test_device.h"
#include "kernels/common/test_sparse.h"
#include "kernels/common/test_typed.h"
#include "kernels/row_fold/test_rows.h"

namespace strictbench::row_fold {
namespace {

class RowFoldLarge : public test::OnEachDevice {};
INSTANTIATE_TEST_SUITE_P(, RowFoldLarge, testing::ValuesIn(test::built_devices), test::name_of_device);

TEST_P(RowFoldLarge, OffsetsPassTwoToThe31) {
  constexpr std::int64_t far = (std::int64_t{1} << 31) + 5;
  const Device device = GetParam();
  test::SparseArray memory(device, (far + 2) * sizeof(Bf16));
  if (!memory.ok())
    GTEST_SKIP() << "4.3 GB of " << strictbench::test::text(device) << " memory are not to be had";
  memory.write(0, test::encoded(Dtype::bf16, {1, 2}));
  memory.write(far * sizeof(Bf16), test::encoded(Dtype::bf16, {10, 20}));
  for (const auto& variant : variants) {
    if (variant.device != device) continue;
    SCOPED_TRACE(variant.name);
    const auto fold = [&](Layout layout, std::int64_t origin) {
      layout.dtype = Dtype::bf16;
      layout.data = memory.data() + origin * static_cast<std::int64_t>(sizeof(Bf16));
      test::Array<float> out(device, 2);
      variant.launch({.rows = layout, .out = out.data()}, nullptr);
      return out.values();
    };
    EXPECT_EQ(fold(test::tensor({2, 2}, {far, 1}), 0), (std::vector<float>{11, 22}));
    EXPECT_EQ(fold(test::tensor({2, 2}, {-far, 1}), far), (std::vector<float>{11, 22}));
    EXPECT_EQ(fold(test::tensor({2, 2}, {1, far}), 0), (std::vector<float>{3, 30}));
  }
}

}  // namespace
}  // namespace strictbench::row_fold
