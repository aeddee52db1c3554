#include "kernels/embedding_forward/embedding_forward.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <utility>

#include "kernels/common/test_sparse.h"
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
        if (variant.name == "new") {
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

TEST(EmbeddingForwardIds, TheHostsCheckNamesPositionValueAndRange) {
  const std::vector<std::int64_t> wide{0, 1, 2, 151936};
  const std::vector<std::int32_t> narrow{0, -1};
  test::expect_refusal(
      [&] {
        validate_ids({4, 151936, 1}, wide.data());
      },
      "embedding_forward: ids[3] is 151936, outside [0, 151936)");
  test::expect_refusal(
      [&] {
        validate_ids({2, 8, 1}, narrow.data());
      },
      "embedding_forward: ids[1] is -1, outside [0, 8)");
  EXPECT_NO_THROW(validate_ids({3, 151936, 1}, wide.data()));
}

// Large tables ------------------------------------------------------------------------------------------

/// The first and the last row of a table of bf16, of which a CPU keeps only those.
void expect_ends_of_table(std::int64_t vocab, std::int64_t hidden) {
  const Shape shape{3, vocab, hidden};
  const auto row_bytes = static_cast<std::size_t>(hidden) * sizeof(Bf16);
  const Case rows{.shape = {3, 2, hidden}, .ids = {1, 0, 1}};
  const auto weight = weight_bytes(rows);
  const auto wanted = expected(rows);
  for (const Device device : test::devices()) {
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
}

TEST(EmbeddingForwardLarge, BothEndsOfTheQwen3Table) { expect_ends_of_table(151936, 4096); }

TEST(EmbeddingForwardLarge, TablesPastTwoToThe31) { expect_ends_of_table((1 << 20) + 5, 2048); }

TEST(EmbeddingForwardLarge, OutputsPastTwoToThe31OnAGpu) {
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

// Arguments ---------------------------------------------------------------------------------------------

/// Arguments that fit, of host memory that no refused launch reads.
struct Fitting {
  std::int64_t ids[4] = {};
  Bf16 weight[16] = {};
  Bf16 out[16] = {};
  float table[16] = {};
  Args args{.shape = {2, 2, 4}, .ids = ids, .weight = weight, .out = out, .table_fp32 = table};
};

template <class T>
T* one_byte_on(T* pointer) {
  return reinterpret_cast<T*>(reinterpret_cast<char*>(pointer) + 1);
}

TEST(EmbeddingForward, RefusesArgumentsThatDoNotFitByName) {
  constexpr std::int64_t huge = std::int64_t{1} << 61;
  const std::vector<std::pair<std::string, std::function<void(Fitting&)>>> faults{
      {"shape.tokens", [](Fitting& f) { f.args.shape.tokens = -1; }},
      {"shape.vocab", [](Fitting& f) { f.args.shape.vocab = -1; }},
      {"shape.hidden", [](Fitting& f) { f.args.shape.hidden = -1; }},
      {"shape.tokens", [](Fitting& f) { f.args.shape.tokens = huge; }},
      {"shape.vocab * shape.hidden", [](Fitting& f) { f.args.shape.vocab = huge; }},
      {"ids must be int64", [](Fitting& f) { f.args.ids.type = static_cast<IdType>(9); }},
      {"weight must be fp32", [](Fitting& f) { f.args.weight.dtype = static_cast<Dtype>(9); }},
      {"out must be of", [](Fitting& f) { f.args.out.dtype = Dtype::fp16; }},
      {"ids must not be null", [](Fitting& f) { f.args.ids.data = nullptr; }},
      {"weight must not be null", [](Fitting& f) { f.args.weight.data = nullptr; }},
      {"out must not be null", [](Fitting& f) { f.args.out.data = nullptr; }},
      {"ids must be aligned", [](Fitting& f) { f.args.ids.data = one_byte_on(f.ids); }},
      {"weight must be aligned", [](Fitting& f) { f.args.weight.data = one_byte_on(f.weight); }},
      {"out must be aligned", [](Fitting& f) { f.args.out.data = one_byte_on(f.out); }},
      {"out must not overlap weight", [](Fitting& f) { f.args.out.data = f.weight + 7; }},
      {"out must not overlap ids", [](Fitting& f) { f.args.out.data = f.ids + 1; }}};
  const std::vector<std::pair<std::string, std::function<void(Fitting&)>>> legacy_faults{
      {"table_fp32 must not be null", [](Fitting& f) { f.args.table_fp32 = nullptr; }},
      {"table_fp32 must be aligned", [](Fitting& f) { f.args.table_fp32 = one_byte_on(f.table); }},
      {"table_fp32 must not overlap out", [](Fitting& f) { f.args.out.data = f.table + 7; }},
      {"table_fp32 must not overlap weight", [](Fitting& f) { f.args.weight.data = f.table; }},
      {"table_fp32 must not overlap ids",
       [](Fitting& f) { f.args.table_fp32 = reinterpret_cast<float*>(f.ids); }}};
  for (const Device device : test::devices())
    for (const auto& variant : variants) {
      if (variant.device != device) continue;
      SCOPED_TRACE(variant.name);
      const auto try_all = [&](const auto& some) {
        for (const auto& [part, break_one] : some) {
          Fitting f;
          break_one(f);
          test::expect_refusal([&] { variant.launch(f.args, nullptr); }, part);
        }
      };
      try_all(faults);
      if (variant.name == "legacy") try_all(legacy_faults);
    }
}

}  // namespace
}  // namespace strictbench::embedding_forward
