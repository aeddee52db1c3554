/// Offsets past 2^31 elements. A CPU keeps only the rows that are touched, a GPU all of the 4.3 GB.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "kernels/common/random.h"
#include "kernels/common/test_device.h"
#include "kernels/common/test_sparse.h"
#include "kernels/common/test_typed.h"
#include "kernels/embedding_backward/embedding_backward.h"

namespace strictbench::embedding_backward {
namespace {

constexpr std::int64_t past_int32 = std::int64_t{1} << 31;

/// Room for sorting a handful of tokens.
struct Sorting {
  Sorting(Device device, std::int64_t tokens)
      : ids(device, static_cast<std::size_t>(tokens)), positions(device, static_cast<std::size_t>(tokens)) {
#ifdef STRICTBENCH_HAS_CUDA
    if (device == Device::cuda) bytes = sort_workspace_bytes(tokens);
#endif
    workspace = std::make_unique<test::Array<std::byte>>(device, std::vector<std::byte>(bytes));
  }
  SortedIds sorted() { return {ids.data(), positions.data(), workspace->data(), bytes}; }

  test::Array<std::int64_t> ids;
  test::Array<std::int64_t> positions;
  std::size_t bytes = 0;
  std::unique_ptr<test::Array<std::byte>> workspace;
};

void sort(Device device, const Args& args) {
#ifdef STRICTBENCH_HAS_CUDA
  if (device == Device::cuda) return sort_ids(args, nullptr);
#endif
  static_cast<void>(device);
  cpu_sort_ids(args, nullptr);
}

/// Every whole variant on rows of the gradient that are `stride` elements apart.
void add_far_rows(Device device, const Shape& shape, std::int64_t stride) {
  const std::vector<std::int64_t> ids{2, 0, 2};
  const auto grad = test::cancelling_values(random_key("grad"), shape.tokens, shape.hidden, Dtype::bf16);
  const auto elements = static_cast<std::size_t>(shape.vocab * shape.hidden);
  std::vector<std::byte> expected(elements * sizeof(float));
  for (const auto& [id, sum] : oracle(shape, ids, grad)) {
    const auto row = test::encoded(Dtype::fp32, sum);
    std::copy(row.begin(), row.end(),
              expected.begin() + id * shape.hidden * static_cast<std::int64_t>(sizeof(float)));
  }
  ASSERT_TRUE(orders_agree(shape, ids));  // so that one expectation serves legacy too
  test::SparseArray device_grad(
      device, static_cast<std::size_t>((shape.tokens - 1) * stride + shape.hidden) * sizeof(Bf16));
  if (!device_grad.ok()) GTEST_SKIP() << "4.3 GB of " << test::text(device) << " memory are not to be had";
  for (std::int64_t t = 0; t < shape.tokens; ++t)
    device_grad.write(
        static_cast<std::size_t>(t * stride) * sizeof(Bf16),
        test::encoded(Dtype::bf16, {grad.begin() + t * shape.hidden, grad.begin() + (t + 1) * shape.hidden}));
  test::Array<std::int64_t> device_ids(device, ids);
  Sorting sorting(device, shape.tokens);
  for (const auto& variant : whole_variants) {
    if (variant.device != device) continue;
    SCOPED_TRACE(std::string(variant.name) + " on " + test::text(device));
    test::Array<float> dweight(device, elements);
    variant.launch({.shape = shape,
                    .ids = device_ids.data(),
                    .grad = {device_grad.data(), Dtype::bf16},
                    .grad_stride = stride,
                    .dweight = dweight.data(),
                    .sorted = sorting.sorted()},
                   nullptr);
    EXPECT_EQ(test::encoded(Dtype::fp32, dweight.values()), expected);
  }
}

class EmbeddingBackwardLarge : public test::OnEachDevice {};
INSTANTIATE_TEST_SUITE_P(, EmbeddingBackwardLarge, testing::ValuesIn(test::built_devices),
                         test::name_of_device);

TEST_P(EmbeddingBackwardLarge, TablesPastTwoToThe31) {
  const Shape shape{4, (1 << 20) + 5, 2048};
  ASSERT_GT(shape.vocab * shape.hidden, past_int32);
  const std::vector<std::int64_t> ids{shape.vocab - 1, 0, shape.vocab - 1, shape.vocab - 3};
  const auto grad = test::cancelling_values(random_key("grad"), shape.tokens, shape.hidden, Dtype::bf16);
  const auto row_bytes = static_cast<std::size_t>(shape.hidden) * sizeof(Bf16);
  const std::vector<std::byte> zeros(row_bytes);
  const Sums sums = oracle(shape, ids, grad);
  const Device device = GetParam();
  test::SparseArray dweight(device, static_cast<std::size_t>(shape.vocab) * row_bytes);
  if (!dweight.ok()) GTEST_SKIP() << "4.3 GB of " << test::text(device) << " memory are not to be had";
  test::Array<std::int64_t> device_ids(device, ids);
  test::Array<std::byte> device_grad(device, test::encoded(Dtype::bf16, grad));
  Sorting sorting(device, shape.tokens);
  const Args args{.shape = shape,
                  .ids = device_ids.data(),
                  .grad = {device_grad.data(), Dtype::bf16},
                  .grad_stride = shape.hidden,
                  .dweight = {dweight.data(), Dtype::bf16},
                  .sorted = sorting.sorted()};
  sort(device, args);
  // Rows that are used, their neighbours, and where 32-bit offsets would have put them.
  const std::vector<std::int64_t> looked_at{
      0, 1, 2, 3, 4, shape.vocab / 2, shape.vocab - 4, shape.vocab - 3, shape.vocab - 2, shape.vocab - 1};
  const auto fill = [&](const std::vector<std::byte>& row) {
    for (const std::int64_t v : looked_at) dweight.write(static_cast<std::size_t>(v) * row_bytes, row);
  };
  const auto expect = [&] {
    for (const std::int64_t v : looked_at)
      EXPECT_EQ(dweight.read(static_cast<std::size_t>(v) * row_bytes, row_bytes),
                sums.contains(v) ? test::encoded(Dtype::bf16, sums.at(v)) : zeros)
          << "row " << v;
  };
  for (const auto& variant : variants) {
    // On a CPU legacy would look at every token 2^31 times; on a GPU its 2^31 blocks take 1.3 s.
    if (variant.device != device || (device == Device::cpu && variant.name == "legacy")) continue;
    SCOPED_TRACE(std::string(variant.name) + " on " + test::text(device));
    fill(zeros);
    variant.launch(args, nullptr);
    expect();
  }
  if (device == Device::cpu) return;  // whose table would be touched everywhere
  for (const auto& variant : whole_variants) {
    if (variant.device != device) continue;
    SCOPED_TRACE(std::string(variant.name) + " whole on " + test::text(device));
    fill(std::vector<std::byte>(row_bytes, std::byte{0x5a}));
    variant.launch(args, nullptr);
    expect();
  }
}

/// Rows that a variant may take by 16 bytes, and rows that it may not.
TEST_P(EmbeddingBackwardLarge, GradientsPastTwoToThe31) {
  for (const auto& [hidden, stride] :
       {std::pair<std::int64_t, std::int64_t>{5, past_int32 / 2 + 7}, {8, past_int32 / 2 + 8}}) {
    SCOPED_TRACE(hidden);
    add_far_rows(GetParam(), {3, 4, hidden}, stride);
    if (IsSkipped()) return;
  }
}

}  // namespace
}  // namespace strictbench::embedding_backward
