/// What the tests draw, tested.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <string>

#include "kernels/common/test_draw.h"
#include "kernels/common/test_special.h"
#include "kernels/common/test_typed.h"

namespace strictbench::test {
namespace {

/// Set to `value` until the end of the scope.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* const before = std::getenv(name)) before_ = before;
    setenv(name, value, 1);
  }
  ~Environment() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

TEST(DrawEnvironment, NumbersAreWholeOrRefused) {
  constexpr const char* name = "STRICTBENCH_TEST_OF_NUMBERS";
  EXPECT_EQ(number_from_environment(name, 0), std::nullopt);
  for (const char* const bad :
       {"", "five", "5x", "x5", " 5", "5 ", "-1", "+5", "1e3", "0x10", "5.0", "18446744073709551616"}) {
    const Environment set(name, bad);
    expect_refusal([] { number_from_environment(name, 0); },
                   std::string(name) + " is '" + bad + "', not a whole number");
  }
  const Environment set(name, "18446744073709551615");
  EXPECT_EQ(number_from_environment(name, 0), std::uint64_t{18446744073709551615u});
}

TEST(DrawEnvironment, DrawsAreAtLeastOne) {
  for (const char* const bad : {"0", "", "five", "-3"}) {
    const Environment set("STRICTBENCH_DRAWS", bad);
    expect_refusal([] { most_draws(); },
                   std::string("STRICTBENCH_DRAWS is '") + bad + "', not a whole number of at least 1");
    int tried = 0;
    expect_refusal([&] { for_all_draws("none", 3, [&](Draw&) { ++tried; }); }, "STRICTBENCH_DRAWS");
    EXPECT_EQ(tried, 0);
  }
  for (const auto& [given, tries] : std::map<std::string, int>{{"1", 1}, {"2", 2}, {"99999999999", 3}}) {
    const Environment set("STRICTBENCH_DRAWS", given.c_str());
    int tried = 0;
    for_all_draws("some", 3, [&](Draw&) { ++tried; });
    EXPECT_EQ(tried, tries) << given;
  }
}

TEST(Draw, SizesByClassKeepToTheirBoundAndReachEveryEdge) {
  Draw draw(random_key("sizes"));
  std::map<std::int64_t, int> counts;
  for (int i = 0; i < 10'000; ++i) ++counts[draw.size_by_class(300)];
  EXPECT_EQ(counts.begin()->first, 0);
  EXPECT_EQ(counts.rbegin()->first, 300);
  for (const std::int64_t edge : {63, 64, 65, 127, 128, 129}) EXPECT_GT(counts[edge], 100) << edge;
  EXPECT_GT(counts[0], 500);
  EXPECT_GT(counts[1], 500);
  int above = 0;
  for (const auto& [size, count] : counts) above += size > 128 ? count : 0;
  EXPECT_GT(above, 2'000);
  for (const std::int64_t hi : {0, 1, 5, 100})
    for (int i = 0; i < 1'000; ++i) {
      const std::int64_t size = draw.size_by_class(hi);
      EXPECT_TRUE(size >= 0 && size <= hi) << size;
    }
}

template <class T>
class SpecialValues : public testing::Test {};
using ElementTypes = testing::Types<float, Bf16, Fp16>;
TYPED_TEST_SUITE(SpecialValues, ElementTypes);

TYPED_TEST(SpecialValues, AreOfEveryKindAndSign) {
  Draw draw(random_key("special"));
  std::set<std::pair<int, bool>> kinds;
  for (int i = 0; i < 2'000; ++i) {
    const TypeParam drawn = special_value<TypeParam>(draw);
    const float value = to_float(drawn);
    // Of its own type: fp16's subnormals are normal numbers of fp32.
    const bool tiny =
        value != 0 && std::fabs(value) < to_float(from_bits<TypeParam>(Edges<TypeParam>::least_normal));
    kinds.emplace(tiny ? FP_SUBNORMAL : std::fpclassify(value), std::signbit(value));
    const float back = to_float(rounded<TypeParam>(value));
    EXPECT_TRUE(std::isnan(value) ||
                std::bit_cast<std::uint32_t>(back) == std::bit_cast<std::uint32_t>(value));
  }
  EXPECT_EQ(kinds.size(), 9u);  // zero, subnormal, normal, infinity of both signs, and NaN
}

TYPED_TEST(SpecialValues, MixedInTheyAreNoneAFewManyOrAllSubnormal) {
  Draw draw(random_key("mix"));
  const TypeParam one = rounded<TypeParam>(1);
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) {
    std::vector<TypeParam> values(400, one);
    mix_in_specials(draw, values);
    std::size_t changed = 0;
    std::size_t tiny = 0;
    for (const TypeParam value : values) {
      const float x = to_float(value);
      changed += x != 1;
      tiny += x != 0 && std::fabs(x) < 0x1p-14f;
    }
    seen.insert(changed == 0 ? "none" : tiny == 400 ? "subnormal" : changed <= 20 ? "few" : "many");
  }
  EXPECT_EQ(seen.size(), 4u);
  std::vector<TypeParam> none;
  for (int i = 0; i < 10; ++i) mix_in_specials(draw, none);
}

}  // namespace
}  // namespace strictbench::test
