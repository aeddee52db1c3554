/// Claims kept and broken, by variants that do exactly one thing wrong.
#include "bench/harness/output_check.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "bench/harness/backends.h"

namespace strictbench {
namespace {

/// Two outputs of four fp32 elements; the oracle is 1, 2, 3, 4 and ten times that.
class Two : public Problem {
 public:
  using Write = std::function<void(float* first, float* second)>;

  Two(Backend& backend, Claim claim, Write write)
      : first_(backend, Dtype::fp32, 4),
        second_(backend, Dtype::fp32, 4),
        claim_(claim),
        write_(std::move(write)) {}

  std::vector<Output> outputs() override { return {{"first", &first_}, {"second", &second_}}; }
  Claim claim(std::string_view variant) const override { return variant == "legacy" ? Claim{} : claim_; }
  std::vector<Expected> oracle(std::string_view) const override {
    return {whole_output(std::vector<float>{1, 2, 3, 4}), whole_output(std::vector<float>{10, 20, 30, 40})};
  }
  Call call(std::string_view variant) override {
    return [this, legacy = variant == "legacy"](Stream) {
      for (int i = 0; i < 4; ++i) {
        first_.as<float>()[i] = static_cast<float>(i + 1);
        second_.as<float>()[i] = static_cast<float>(10 * (i + 1));
      }
      if (!legacy) write_(first_.as<float>(), second_.as<float>());
    };
  }

 private:
  Tensor first_;
  Tensor second_;
  Claim claim_;
  Write write_;
};

/// What two runs of a variant under `claim` come to; `write` spoils the right outputs.
OutputCheck::Result outcome(const Claim& claim, const Two::Write& write) {
  const auto backend = make_cpu_backend();
  const OracleCache cache({});
  Two problem(*backend, claim, write);
  OutputCheck check(*backend, "test", cache, problem);
  check.before("new");
  OutputCheck::Result result;
  for (int run = 0; run < 2 && result.wrong.empty(); ++run) {
    poison_and_prepare(problem, "new");
    problem.call("new")(nullptr);
    result = check.compare(problem, "new");
  }
  return result;
}

const Two::Write nothing = [](float*, float*) {};
const Two::Write slightly = [](float*, float* second) { second[3] = 40.04f; };
const Claim within{.oracle = "any", .tolerance = 0.01};

TEST(OutputCheck, BitwiseClaimsAreHeldToEveryOutput) {
  EXPECT_EQ(outcome({}, nothing).wrong, "");
  EXPECT_EQ(outcome({}, slightly).wrong,
            "second: element 3 of 4 is 0x422028f6, expected 0x42200000; 1 element differs");
}

TEST(OutputCheck, ToleranceAllowsAsMuchAsItSays) {
  const OutputCheck::Result small = outcome(within, slightly);
  EXPECT_EQ(small.wrong, "");
  EXPECT_NEAR(small.error.whole, 0.04 / std::sqrt(100 + 400 + 900 + 1600), 1e-6);
  const auto large = outcome(within, [](float* first, float*) { first[0] = 1.1f; });
  EXPECT_EQ(large.wrong, "first is off by 0.0183 (relative L2 error), 0.01 is allowed");
  const Claim loose{.oracle = "any", .tolerance = 0.5};
  const auto half = outcome(loose, [](float* first, float*) { first[0] = 3.0f; });
  EXPECT_EQ(half.wrong, "");  // 0.37 of the whole, which is one part
}

TEST(OutputCheck, ToleranceForgivesNoNanAndNothingUnwritten) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_NE(outcome(within, [=](float*, float* second) { second[1] = nan; }).wrong, "");
  EXPECT_NE(outcome(within, [](float* first, float*) { first[2] = std::bit_cast<float>(poison32); }).wrong,
            "");
}

TEST(OutputCheck, RepeatableMeansEveryRunHasTheFirstOnesBits) {
  int runs = 0;
  const Two::Write drifting = [&](float* first, float*) {
    first[1] = std::nextafter(2.0f, runs++ < 2 ? 2.0f : 3.0f);
  };
  const auto drifted = outcome(within, drifting);
  EXPECT_EQ(drifted.wrong, "first: element 1 of 4 is 0x40000001, expected 0x40000000; 1 element differs");
  EXPECT_EQ(drifted.against, "an earlier run on the same inputs");
  runs = 0;
  Claim loose = within;
  loose.repeatable = false;
  EXPECT_EQ(outcome(loose, drifting).wrong, "");
}

TEST(OutputCheck, AVariantMayHaveToRepeatAnother) {
  Claim same = within;
  same.same_as = "legacy";
  EXPECT_EQ(outcome(same, nothing).wrong, "");
  const auto other = outcome(same, slightly);
  EXPECT_NE(other.wrong.find("second: element 3"), std::string::npos) << other.wrong;
  EXPECT_EQ(other.against, "the bits of legacy");
}

TEST(OutputCheck, ARowThatIsMissingDoesNotHideInALargeOutput) {
  const auto backend = make_cpu_backend();
  constexpr std::size_t rows = 20'000;
  Tensor expected(*backend, Dtype::fp32, rows * part_elements);
  Tensor got(*backend, Dtype::fp32, rows * part_elements);
  expected.fill_random(1);
  got.fill_random(1);
  EXPECT_EQ(got.relative_error(expected).worst_part, 0.0);
  backend->zero(got.as<float>() + 777 * part_elements, part_elements * sizeof(float));
  EXPECT_LT(got.relative_error(expected).whole, 0.01);  // the whole alone would let it pass
  EXPECT_GT(got.relative_error(expected).worst_part, 0.9);
}

TEST(OutputCheck, LabelsSayWhatWasHeldToATolerance) {
  EXPECT_EQ(label_of({}), "oracle:ascending");
  EXPECT_EQ(label_of({.oracle = "k_tree", .tolerance = 0.02}), "oracle:k_tree within 0.02");
}

TEST(OutputCheck, DescribesADifference) {
  EXPECT_EQ(describe({.count = 3, .first_index = 17, .got = 0x3f80, .expected = 0x3f81}, Dtype::bf16, 4096),
            "element 17 of 4096 is 0x3f80, expected 0x3f81; 3 elements differ");
  EXPECT_EQ(describe({.count = 1, .first_index = 0, .got = poison32, .expected = 0}, Dtype::fp32, 1),
            "element 0 of 1 is 0x7fa57fa5 (never written), expected 0x00000000; 1 element differs");
}

}  // namespace
}  // namespace strictbench
