#include "kernels/embedding_forward/embedding_forward.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <utility>

#include "kernels/common/require.h"
#include "kernels/embedding_forward/test_case.h"

namespace strictbench::embedding_forward {
namespace {

/// Ids of any shape come flattened: (2, 5) as 10 of them.
std::vector<std::int64_t> some_ids(std::int64_t tokens, std::int64_t vocab) {
  std::vector<std::int64_t> ids;
  for (std::int64_t t = 0; t < tokens; ++t)
    ids.push_back(static_cast<std::int64_t>(
        random_below(random_key("ids"), static_cast<std::uint64_t>(t), static_cast<std::uint64_t>(vocab))));
  return ids;
}

void for_both_outputs(const std::function<void(Dtype, bool)>& work) {
  for (const Dtype dtype : test::dtypes)
    for (const bool wide : {false, true}) work(dtype, wide);
}

TEST(EmbeddingForwardOracle, CopiesRowsAndWidensExactly) {
  const std::vector<Bf16> weight{{0x3f80}, {0x8000}, {0x4000}, {0x7fa5}};
  const std::vector<Bf16> rows = oracle<Bf16>({3, 2, 2}, {1, 0, 2}, weight);
  EXPECT_EQ(test::bits(rows), (std::vector<std::uint16_t>{0x4000, 0x7fa5, 0x3f80, 0x8000, 0x7fff, 0x7fff}));
  EXPECT_EQ(test::bits(widened(rows)), (std::vector<std::uint32_t>{0x40000000u, 0x7fa50000u, 0x3f800000u,
                                                                   0x80000000u, 0x7fff0000u, 0x7fff0000u}));
}

TEST(EmbeddingForward, IdsOfAnyShapeAndWidthInEveryType) {
  for_both_outputs([](Dtype dtype, bool wide) {
    for (const IdType id_type : {IdType::int64, IdType::int32})
      for (const std::int64_t tokens : {2 * 5, 3 * 7})
        expect_all_variants({.shape = {tokens, 128, 64},
                             .ids = some_ids(tokens, 128),
                             .dtype = dtype,
                             .wide = wide,
                             .id_type = id_type});
  });
}

TEST(EmbeddingForward, RowsOfEveryLengthAndAlignment) {
  for_both_outputs([](Dtype dtype, bool wide) {
    for (const std::int64_t hidden : {1, 3, 8, 24, 127, 1000, 4096, 4104, 9000})
      for (const std::int64_t lead : {0, 1, 4})
        expect_all_variants(
            {.shape = {5, 9, hidden}, .ids = {8, 0, 3, 3, 7}, .dtype = dtype, .wide = wide, .lead = lead});
  });
}

/// Of single elements: no 16-byte piece fits.
TEST(EmbeddingForwardLargeRow, EndsBeyondAGridOfOneElementAThread) {
  expect_all_variants({.shape = {2, 1, grid_y * 128 + 1}, .ids = {0, 0}});
}

TEST(EmbeddingForward, EveryPatternOfBitsComesThrough) {
  for (const Dtype dtype : {Dtype::bf16, Dtype::fp16}) {
    const Shape shape{256, 256, 256};
    std::vector<std::uint16_t> patterns(1 << 16);
    for (std::size_t i = 0; i < patterns.size(); ++i) patterns[i] = static_cast<std::uint16_t>(i);
    std::vector<std::int64_t> ids(256);
    for (std::size_t t = 0; t < ids.size(); ++t) ids[t] = static_cast<std::int64_t>(t);
    for (const Device device : test::devices())
      for (const auto& variant : variants) {
        if (variant.device != device) continue;
        SCOPED_TRACE(std::string(variant.name) + " on " + test::text(device));
        test::Array<std::uint16_t> weight(device, patterns);
        test::Array<std::int64_t> device_ids(device, ids);
        test::Array<float> scratch(device, patterns.size());
        test::Array<std::uint16_t> native(device, patterns.size());
        test::Array<float> wide(device, patterns.size());
        Args args{.shape = shape,
                  .ids = device_ids.data(),
                  .weight = {weight.data(), dtype},
                  .out = {native.data(), dtype},
                  .table_fp32 = scratch.data()};
        variant.launch(args, nullptr);
        args.out = wide.data();
        variant.launch(args, nullptr);
        const auto native_bytes = bytes_of(native.values());
        if (variant.name != "legacy") {
          EXPECT_EQ(native.values(), patterns);  // payloads of NaNs and -0 included
        } else {
          EXPECT_EQ(test::bits_any_nan(dtype, native_bytes),
                    test::bits_any_nan(dtype, bytes_of(patterns), test::Poison::is_a_nan));
        }
        // The widened output is the widening of the native one.
        const auto widened_native = with_type(dtype, [&]<class T>() {
          std::vector<T> values(patterns.size());
          std::memcpy(values.data(), native_bytes.data(), native_bytes.size());
          return bytes_of(widened(values));
        });
        EXPECT_EQ(test::bits_any_nan(Dtype::fp32, bytes_of(wide.values())),
                  test::bits_any_nan(Dtype::fp32, widened_native));
      }
  }
}

TEST(EmbeddingForward, ATokensRowHasTheSameBitsWhateverIsAroundIt) {
  for_both_outputs([](Dtype dtype, bool wide) {
    const Case batch{.shape = {21, 128, 64}, .ids = some_ids(21, 128), .dtype = dtype, .wide = wide};
    const auto row_bytes = static_cast<std::ptrdiff_t>(64 * size_of(batch.out_type()));
    const auto with_ids = [&](std::vector<std::int64_t> ids) {
      Case other = batch;
      other.shape.tokens = static_cast<std::int64_t>(ids.size());
      other.ids = std::move(ids);
      return other;
    };
    std::vector<std::int64_t> padded(40, 0);
    std::copy(batch.ids.begin(), batch.ids.end(), padded.begin() + 13);
    for (const Device device : test::devices())
      for (const auto& variant : variants) {
        if (variant.device != device) continue;
        SCOPED_TRACE(std::string(variant.name) + " on " + test::text(device) + ", " + text(batch));
        const auto whole = run(variant, batch);
        const auto slice = run(variant, with_ids({batch.ids.begin() + 5, batch.ids.begin() + 12}));
        EXPECT_EQ(slice,
                  std::vector<std::byte>(whole.begin() + 5 * row_bytes, whole.begin() + 12 * row_bytes));
        const auto around = run(variant, with_ids(padded));
        EXPECT_EQ(std::vector<std::byte>(around.begin() + 13 * row_bytes, around.begin() + 34 * row_bytes),
                  whole);
      }
  });
}

TEST(EmbeddingForward, RowsOfIdsOutOfRangeAreNaNAndNothingIsReadForThem) {
  for_both_outputs([](Dtype dtype, bool wide) {
    for (const std::int64_t hidden : {64, 63})
      expect_all_variants({.shape = {6, 5, hidden},
                           .ids = {-1, 4, 5, std::numeric_limits<std::int32_t>::min(), 0,
                                   std::numeric_limits<std::int32_t>::max()},
                           .dtype = dtype,
                           .wide = wide,
                           .id_type = IdType::int32});
    expect_all_variants(
        {.shape = {2, 5, 8},
         .ids = {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()},
         .dtype = dtype,
         .wide = wide});
    expect_all_variants({.shape = {2, 0, 8}, .ids = {0, 1}, .dtype = dtype, .wide = wide});
  });
}

TEST(EmbeddingForward, NoTokensOrNoElementsGiveNothing) {
  for_both_outputs([](Dtype dtype, bool wide) {
    expect_all_variants({.shape = {0, 128, 64}, .ids = {}, .dtype = dtype, .wide = wide});
    expect_all_variants({.shape = {3, 128, 0}, .ids = {1, 2, 3}, .dtype = dtype, .wide = wide});
  });
}

}  // namespace
}  // namespace strictbench::embedding_forward
