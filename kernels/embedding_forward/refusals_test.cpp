#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <utility>

#include "kernels/common/test_typed.h"
#include "kernels/embedding_forward/embedding_forward.h"

namespace strictbench::embedding_forward {
namespace {

using test::last_address;
using test::moved;

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

/// Arguments that fit, of host memory that no refused launch reads.
struct Fitting {
  std::int64_t ids[4] = {};
  Bf16 weight[16] = {};
  Bf16 out[16] = {};
  float table[16] = {};
  Args args{.shape = {2, 2, 4}, .ids = ids, .weight = weight, .out = out, .table_fp32 = table};
};

using Faults = std::vector<std::pair<std::string, std::function<void(Fitting&)>>>;

/// Every variant on `faults`, and legacy on `legacy_faults`.
void expect_every_variant_refuses(const Faults& faults, const Faults& legacy_faults) {
  for (const Device device : test::devices())
    for (const auto& variant : variants) {
      if (variant.device != device) continue;
      SCOPED_TRACE(variant.name);
      const auto try_all = [&](const Faults& some) {
        for (const auto& [part, spoil] : some) {
          Fitting f;
          spoil(f);
          test::expect_refusal([&] { variant.launch(f.args, nullptr); }, part);
        }
      };
      try_all(faults);
      if (variant.name == "legacy") try_all(legacy_faults);
    }
}

TEST(EmbeddingForward, RefusesArgumentsThatDoNotFitByName) {
  const Faults faults{
      {"shape.tokens", [](Fitting& f) { f.args.shape.tokens = -1; }},
      {"shape.vocab", [](Fitting& f) { f.args.shape.vocab = -1; }},
      {"shape.hidden", [](Fitting& f) { f.args.shape.hidden = -1; }},
      {"ids must be int64", [](Fitting& f) { f.args.ids.type = static_cast<IdType>(9); }},
      {"weight must be fp32", [](Fitting& f) { f.args.weight.dtype = static_cast<Dtype>(9); }},
      {"out must be of", [](Fitting& f) { f.args.out.dtype = Dtype::fp16; }},
      {"ids must not be null", [](Fitting& f) { f.args.ids.data = nullptr; }},
      {"weight must not be null", [](Fitting& f) { f.args.weight.data = nullptr; }},
      {"out must not be null", [](Fitting& f) { f.args.out.data = nullptr; }},
      {"ids must be aligned", [](Fitting& f) { f.args.ids.data = moved(f.ids, 1); }},
      {"weight must be aligned", [](Fitting& f) { f.args.weight.data = moved(f.weight, 1); }},
      {"out must be aligned", [](Fitting& f) { f.args.out.data = moved(f.out, 1); }},
      {"out must not overlap weight", [](Fitting& f) { f.args.out.data = f.weight + 7; }},
      {"out must not overlap ids", [](Fitting& f) { f.args.out.data = f.ids + 1; }}};
  const Faults legacy_faults{
      {"table_fp32 must not be null", [](Fitting& f) { f.args.table_fp32 = nullptr; }},
      {"table_fp32 must be aligned", [](Fitting& f) { f.args.table_fp32 = moved(f.table, 1); }},
      {"table_fp32 must not overlap out", [](Fitting& f) { f.args.out.data = f.table + 7; }},
      {"table_fp32 must not overlap weight", [](Fitting& f) { f.args.weight.data = f.table; }},
      {"table_fp32 must not overlap ids",
       [](Fitting& f) { f.args.table_fp32 = reinterpret_cast<float*>(f.ids); }}};
  expect_every_variant_refuses(faults, legacy_faults);
}

/// Every size so large that an offset, or its bytes, pass 2^63, and addresses too near to there.
TEST(EmbeddingForward, RefusesWhatPasses64BitAddressesByName) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const char* const weight = "weight, shape.vocab * shape.hidden elements";
  const char* const table = "table_fp32, shape.vocab * shape.hidden elements";
  Faults faults{{"ids, shape.tokens of them", [](Fitting& f) { f.args.ids.data = last_address<void>(); }},
                {weight, [](Fitting& f) { f.args.weight.data = last_address<void>(); }},
                {"out, shape.tokens * shape.hidden elements",
                 [](Fitting& f) { f.args.out.data = last_address<void>(); }}};
  for (const std::int64_t huge : {most, most / 2 + 1, most / 4 + 1, most / 8 + 1}) {  // 2^63 - 1 to 2^60
    faults.emplace_back("shape.tokens", [=](Fitting& f) { f.args.shape.tokens = huge; });
    faults.emplace_back(weight, [=](Fitting& f) { f.args.shape.vocab = huge; });
    faults.emplace_back("shape.hidden", [=](Fitting& f) {
      f.args.weight.dtype = f.args.out.dtype = Dtype::fp32;
      f.args.shape.hidden = huge;
    });
    for (const Dtype dtype : {Dtype::bf16, Dtype::fp16}) {
      test::expect_refusal([&] { legacy_scratch_bytes({1, huge, 8}, dtype); }, table);
      test::expect_refusal([&] { legacy_scratch_bytes({1, 8, huge}, dtype); }, table);
    }
  }
  test::expect_refusal([&] { legacy_scratch_bytes({1, std::int64_t{1} << 62, 4}, Dtype::bf16); }, table);
  test::expect_refusal([&] { legacy_scratch_bytes({1, -1, 4}, Dtype::bf16); }, "shape.vocab");
  test::expect_refusal([&] { legacy_scratch_bytes({1, 4, -1}, Dtype::bf16); }, "shape.hidden");
  EXPECT_EQ(legacy_scratch_bytes({1, 151936, 4096}, Dtype::bf16), 2489319424u);
  EXPECT_EQ(legacy_scratch_bytes({1, 151936, 4096}, Dtype::fp32), 0u);
  expect_every_variant_refuses(faults,
                               {{table, [](Fitting& f) { f.args.table_fp32 = last_address<float>(); }}});
}

TEST(EmbeddingForward, AnyNumberOfRowsWithoutElementsTakesNoTime) {
  Fitting f;
  f.args.shape = {.tokens = 2, .vocab = std::int64_t{1} << 40, .hidden = 0};
  for (const Device device : test::devices())
    for (const auto& variant : variants)
      if (variant.device == device) variant.launch(f.args, nullptr);
}

}  // namespace
}  // namespace strictbench::embedding_forward
