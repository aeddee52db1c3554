/// Tables and outputs past 2^31 elements, and how much memory a table needs.
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/common/test_device.h"
#include "kernels/common/test_sparse.h"
#include "kernels/embedding_forward/test_case.h"

namespace strictbench::embedding_forward {
namespace {

class EmbeddingForwardLarge : public test::OnEachDevice {};
INSTANTIATE_TEST_SUITE_P(, EmbeddingForwardLarge, testing::ValuesIn(test::built_devices),
                         test::name_of_device);

/// The first and the last row of a table of bf16, of which a CPU keeps only those.
void expect_ends_of_table(Device device, std::int64_t vocab, std::int64_t hidden) {
  const Shape shape{3, vocab, hidden};
  const auto row_bytes = static_cast<std::size_t>(hidden) * sizeof(Bf16);
  const Case rows{.shape = {3, 2, hidden}, .ids = {1, 0, 1}};
  const auto weight = weight_bytes(rows);
  const auto wanted = expected(rows);
  test::SparseArray table(device, static_cast<std::size_t>(vocab) * row_bytes);
  if (!table.ok()) GTEST_SKIP() << vocab << " x " << hidden << " does not fit " << test::text(device);
  const auto half = static_cast<std::ptrdiff_t>(row_bytes);
  table.write(0, {weight.begin(), weight.begin() + half});
  table.write(static_cast<std::size_t>(vocab - 1) * row_bytes, {weight.begin() + half, weight.end()});
  test::Array<std::int32_t> ids(
      device, {static_cast<std::int32_t>(vocab - 1), 0, static_cast<std::int32_t>(vocab - 1)});
  for (const auto& variant : variants) {
    const bool legacy = variant.name == "legacy";
    // On a CPU legacy would touch all of table and scratch, six bytes for each of their elements.
    if (variant.device != device || (legacy && device == Device::cpu)) continue;
    SCOPED_TRACE(std::string(variant.name) + " on " + test::text(device));
    test::SparseArray scratch(device, legacy ? legacy_scratch_bytes(shape, Dtype::bf16) : 1);
    if (!scratch.ok()) GTEST_SKIP() << "the scratch of legacy does not fit " << test::text(device);
    test::Array<Bf16> out(device, static_cast<std::size_t>(3 * hidden));
    variant.launch({.shape = shape,
                    .ids = ids.data(),
                    .weight = {table.data(), Dtype::bf16},
                    .out = out.data(),
                    .table_fp32 = legacy ? reinterpret_cast<float*>(scratch.data()) : nullptr},
                   nullptr);
    EXPECT_EQ(test::bits_any_nan(Dtype::bf16, bytes_of(out.values())),
              test::bits_any_nan(Dtype::bf16, wanted, test::Poison::is_a_nan));
  }
}

TEST_P(EmbeddingForwardLarge, BothEndsOfTheQwen3Table) { expect_ends_of_table(GetParam(), 151936, 4096); }

TEST_P(EmbeddingForwardLarge, TablesPastTwoToThe31) { expect_ends_of_table(GetParam(), (1 << 20) + 5, 2048); }

TEST(EmbeddingForwardLargeOnAGpu, OutputsPastTwoToThe31) {
  const Shape shape{(1 << 20) + 2, 3, 2048};
  const auto row_bytes = static_cast<std::size_t>(shape.hidden) * sizeof(Bf16);
  const Case rows{.shape = {2, 3, shape.hidden}, .ids = {2, 1}};
  const auto wanted = expected(rows);
  bool tried = false;
  for (const auto& variant : variants) {
    if (variant.device == Device::cpu || test::devices().size() < 2) continue;  // 4.3 GB, each byte touched
    tried = true;
    SCOPED_TRACE(variant.name);
    test::SparseArray out(variant.device, static_cast<std::size_t>(shape.tokens) * row_bytes);
    if (!out.ok()) GTEST_SKIP() << "4.3 GB of memory are not to be had";
    std::vector<std::int64_t> host_ids(static_cast<std::size_t>(shape.tokens), 0);
    host_ids[0] = 2;
    host_ids.back() = 1;
    test::Array<std::int64_t> ids(variant.device, host_ids);
    test::Array<std::byte> weight(variant.device, weight_bytes(rows));
    test::Array<float> scratch(variant.device, rows.table_elements());
    variant.launch({.shape = shape,
                    .ids = ids.data(),
                    .weight = {weight.data(), Dtype::bf16},
                    .out = {out.data(), Dtype::bf16},
                    .table_fp32 = scratch.data()},
                   nullptr);
    std::vector<std::byte> got = out.read(0, row_bytes);
    const auto last = out.read(static_cast<std::size_t>(shape.tokens - 1) * row_bytes, row_bytes);
    got.insert(got.end(), last.begin(), last.end());
    EXPECT_EQ(test::bits_any_nan(Dtype::bf16, got),
              test::bits_any_nan(Dtype::bf16, wanted, test::Poison::is_a_nan));
  }
  if (!tried) GTEST_SKIP() << "needs a GPU";
}

#ifdef STRICTBENCH_HAS_CUDA

/// Takes memory of the GPU until at most `left` bytes of it are free, in pieces: one whole may not be had.
class Filler {
 public:
  explicit Filler(std::size_t left) {
    constexpr std::size_t least = std::size_t{4} << 20;
    for (std::size_t piece = free_bytes(); free_bytes() > left && piece >= least;) {
      piece = std::min(piece, free_bytes() - left);
      void* data = nullptr;
      if (cudaMalloc(&data, std::max(piece, least)) == cudaSuccess) {
        pieces_.push_back(data);
      } else {
        cudaGetLastError();
        piece /= 2;
      }
    }
  }
  ~Filler() {
    for (void* const piece : pieces_) cudaFree(piece);
  }
  Filler(const Filler&) = delete;
  Filler& operator=(const Filler&) = delete;

  static std::size_t free_bytes() {
    std::size_t free = 0;
    std::size_t total = 0;
    cuda_check(cudaMemGetInfo(&free, &total));
    return free;
  }

 private:
  std::vector<void*> pieces_;
};

/// `new` widens what it gathered: it runs where an fp32 copy of the table could not be had, and takes no
/// memory but what the code of a first launch needs. Its suite's name has it run alone: it leaves no memory
/// to others.
TEST(EmbeddingForwardLargeFillsTheGpu, NewNeedsNoMemoryBesideItsArguments) {
  if (test::devices().size() < 2) GTEST_SKIP() << "needs a GPU";
  const Shape shape{3, 151936, 4096};
  const std::size_t copy_bytes = legacy_scratch_bytes(shape, Dtype::bf16);
  constexpr std::size_t left = std::size_t{768} << 20;  // under a third of it
  constexpr std::size_t code = std::size_t{64} << 20;
  const auto row_bytes = static_cast<std::size_t>(shape.hidden) * sizeof(Bf16);
  test::SparseArray table(Device::cuda, static_cast<std::size_t>(shape.vocab) * row_bytes);
  if (!table.ok()) GTEST_SKIP() << "1.2 GB of cuda memory are not to be had";
  for (const bool wide : {false, true}) {
    SCOPED_TRACE(wide ? "widened" : "native");
    const Case rows{.shape = {3, 2, shape.hidden}, .ids = {1, 0, 1}, .wide = wide};
    const auto weight = weight_bytes(rows);
    const auto half = weight.begin() + static_cast<std::ptrdiff_t>(row_bytes);
    table.write(0, {weight.begin(), half});
    table.write(static_cast<std::size_t>(shape.vocab - 1) * row_bytes, {half, weight.end()});
    test::Array<std::int64_t> ids(Device::cuda, {shape.vocab - 1, 0, shape.vocab - 1});
    test::Array<std::byte> out(Device::cuda, test::poisoned_bytes(rows.out_type(), rows.out_elements()));
    const Filler filler(left);
    void* copy = nullptr;
    const cudaError_t refused = cudaMalloc(&copy, copy_bytes);
    cudaGetLastError();
    if (refused == cudaSuccess) {
      cudaFree(copy);
      GTEST_SKIP() << "a copy of the table fits what could not be filled";
    }
    const std::size_t before = Filler::free_bytes();
    std::size_t after[2] = {};
    for (std::size_t& bytes : after) {
      gather_then_widen({.shape = shape,
                         .ids = ids.data(),
                         .weight = {table.data(), Dtype::bf16},
                         .out = {out.data(), rows.out_type()},
                         .table_fp32 = nullptr},
                        nullptr);
      test::synchronize(Device::cuda);
      bytes = Filler::free_bytes();
    }
    EXPECT_LE(before, after[0] + code) << "taken by the first launch";
    EXPECT_LE(after[0], after[1]) << "taken by the second launch";
    EXPECT_EQ(test::bits(rows.out_type(), out.values()), test::bits(rows.out_type(), expected(rows)));
  }
}

#endif

}  // namespace
}  // namespace strictbench::embedding_forward
