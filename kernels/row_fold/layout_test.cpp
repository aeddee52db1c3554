#include "kernels/row_fold/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "kernels/row_fold/columns.h"
#include "kernels/row_fold/test_rows.h"

namespace strictbench::row_fold {
namespace {

using test::last_address;
using test::moved;
using test::tensor;

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

TEST(RowFoldLayout, CountsElements) {
  EXPECT_EQ(count(tensor({2, 3, 4}, {12, 4, 1}), 0), 24);
  EXPECT_EQ(count(tensor({2, 3, 4}, {12, 4, 1}), 1), 12);
  EXPECT_EQ(count(tensor({2}, {1}), 1), 1);
  EXPECT_EQ(count(tensor({most, 1}, {1, 1}), 0), most);
  EXPECT_EQ(count(tensor({most, 2}, {1, 1}), 0), std::nullopt);
  EXPECT_EQ(count(tensor({most, most, 0}, {1, 1, 1}), 0), 0);  // a zero makes up for any overflow
}

TEST(RowFoldLayout, ExtentReachesFromTheLowestToTheHighestElement) {
  const std::vector<Bf16> memory(100);
  const auto bytes = [&](Layout layout, std::int64_t origin) {
    layout.data = memory.data() + origin;
    layout.dtype = Dtype::bf16;
    const Extent found = extent(layout).value();
    return std::pair(static_cast<const Bf16*>(found.data) - memory.data(), found.bytes);
  };
  using Found = std::pair<std::ptrdiff_t, std::size_t>;  // first element, bytes
  EXPECT_EQ(bytes(tensor({2, 3}, {3, 1}), 0), Found(0, 12));
  EXPECT_EQ(bytes(tensor({2, 3}, {10, 1}), 5), Found(5, 26));
  EXPECT_EQ(bytes(tensor({2, 3}, {-10, 1}), 50), Found(40, 26));
  EXPECT_EQ(bytes(tensor({2, 3}, {10, -2}), 50), Found(46, 30));
  EXPECT_EQ(bytes(tensor({7, 3}, {0, 0}), 50), Found(50, 2));
  EXPECT_EQ(bytes(tensor({1, 1}, {most, most}), 50), Found(50, 2));  // strides that nothing walks
  EXPECT_EQ(bytes(tensor({most, 0}, {most, most}), 50), Found(50, 0));
}

TEST(RowFoldLayout, ExtentSaysWhereAddressesEnd) {
  const float x = 0;
  const auto fits = [&](Layout layout) {
    layout.data = &x;
    return extent(layout).has_value();
  };
  EXPECT_TRUE(fits(tensor({2, 1}, {std::int64_t{1} << 40, 1})));
  EXPECT_FALSE(fits(tensor({2, 1}, {most, 1})));           // times four bytes
  EXPECT_FALSE(fits(tensor({3, 1}, {most, 1})));           // the offset alone
  EXPECT_FALSE(fits(tensor({2, 2}, {most, most})));        // the sum of two offsets
  EXPECT_FALSE(fits(tensor({2, 1}, {most / 4, 1})));       // beyond the last address
  EXPECT_FALSE(fits(tensor({2, 1}, {-most / 4, 1})));      // below the first
  EXPECT_FALSE(fits(tensor({2, 1}, {-most - 1, 1})));      // has no positive counterpart
  EXPECT_FALSE(fits(tensor({3, 3}, {-most / 2, -most})));  // sums of negative offsets
}

TEST(RowFoldLayout, NeighboursThatLieLikeOneDimensionAreOne) {
  const auto columns = [](const Layout& layout) { return flattened(layout).columns; };
  EXPECT_EQ(columns(tensor({9}, {1})).rank, 0);
  EXPECT_EQ(columns(tensor({9, 1, 1}, {1, 7, 8})).rank, 0);
  const StridedColumns whole = columns(tensor({9, 2, 1, 3, 4}, {99, 12, 77, 4, 1}));
  EXPECT_EQ(whole.rank, 1);
  EXPECT_EQ(whole.sizes[0], 24);
  EXPECT_EQ(whole.strides[0], 1);
  const StridedColumns gap = columns(tensor({9, 2, 3, 4}, {99, 15, 5, 1}));
  EXPECT_EQ(gap.rank, 2);
  EXPECT_EQ(gap.sizes[0], 4);
  EXPECT_EQ(gap.sizes[1], 6);
  EXPECT_EQ(gap.strides[1], 5);
  EXPECT_EQ(gap.offset(23), 3 + 5 * 5);
  EXPECT_EQ(columns(tensor({9, 2, 3}, {99, 0, 0})).rank, 1);            // one element for all columns
  EXPECT_EQ(columns(tensor({1, 2, 2}, {1, 4, most / 2 + 1})).rank, 2);  // a product that overflows
}

// Refusals --------------------------------------------------------------------------------------------------

/// Two rows of three columns, and what a test makes of them.
void expect_refused(const char* rule, const std::function<void(Args&)>& spoil) {
  std::vector<float> memory(16);
  for (const Device device : test::devices())
    for (const auto& variant : variants) {
      if (variant.device != device) continue;
      // Refused before a byte is touched, so memory of the host does for every device.
      Args args{.rows = matrix(Dtype::fp32, memory.data(), 2, 3), .out = memory.data() + 8};
      spoil(args);
      SCOPED_TRACE(std::string(variant.name) + " on " + strictbench::test::text(device));
      try {
        variant.launch(args, nullptr);
        ADD_FAILURE() << "accepted, where it should say: " << rule;
      } catch (const std::invalid_argument& error) {
        EXPECT_STREQ(error.what(), rule);
      }
    }
}

TEST(RowFoldRefuses, LayoutsThatMakeNoSense) {
  const char* const rank = "row_fold: rows.rank must be 1 to 8";
  expect_refused(rank, [](Args& args) { args.rows.rank = 0; });
  expect_refused(rank, [](Args& args) { args.rows.rank = 9; });
  expect_refused(rank, [](Args& args) { args.rows.rank = -1; });
  const char* const sizes = "row_fold: rows.sizes must not be negative";
  expect_refused(sizes, [](Args& args) { args.rows.sizes[0] = -1; });
  expect_refused(sizes, [](Args& args) { args.rows.sizes[1] = -3; });
  const char* const product = "row_fold: the product of rows.sizes must fit 64 bits";
  expect_refused(product, [](Args& args) { args.rows.sizes[0] = most; });
  expect_refused(product, [](Args& args) { args.rows = tensor({0, most, 2}, {0, 0, 0}); });
  const char* const strides = "row_fold: rows.strides must stay within 64-bit addresses";
  expect_refused(strides, [](Args& args) { args.rows.strides[0] = most; });
  expect_refused(strides, [](Args& args) { args.rows.strides[1] = -most; });
  expect_refused("row_fold: rows.dtype must be fp32, bf16 or fp16",
                 [](Args& args) { args.rows.dtype = static_cast<Dtype>(7); });
}

/// Every size and stride so large that an offset, or its bytes, pass 2^63, and addresses too near to there.
TEST(RowFoldRefuses, WhatPasses64BitAddresses) {
  const char* const product = "row_fold: the product of rows.sizes must fit 64 bits";
  const char* const strides = "row_fold: rows.strides must stay within 64-bit addresses";
  const char* const out = "row_fold: out must stay within 64-bit addresses";
  for (const std::int64_t huge : {most, most / 2 + 1, most / 4 + 1, most / 8 + 1}) {  // 2^63 - 1 to 2^60
    for (const int d : {0, 1, 2}) {
      const auto with = [=](std::int64_t size, std::int64_t stride) {
        return [=](Args& args) {
          args.rows.rank = 3;
          std::fill_n(args.rows.sizes, 3, 2);
          std::fill_n(args.rows.strides, 3, stride == huge ? 0 : 1);
          args.rows.sizes[d] = size;
          args.rows.strides[d] = stride;
        };
      };
      if (huge > most / 4) expect_refused(product, with(huge, 1));
      expect_refused(strides, with(3, huge));
      expect_refused(strides, with(3, -huge));
      expect_refused(strides, with(most / 4, huge));
    }
  }
  for (const std::int64_t huge : {most, most / 2 + 1, most / 4 + 1})
    expect_refused(out, [=](Args& args) { args.rows = matrix(Dtype::fp32, args.rows.data, 0, huge, 0); });
  expect_refused(strides, [](Args& args) { args.rows.data = last_address<float>(); });
  expect_refused(out, [](Args& args) { args.out = last_address<float>(); });
}

TEST(RowFoldAccepts, AnyNumberOfRowsWithoutColumns) {
  for (const Device device : test::devices())
    for (const auto& variant : variants) {
      if (variant.device != device) continue;
      variant.launch({.rows = matrix(Dtype::fp32, nullptr, std::int64_t{1} << 40, 0), .out = nullptr},
                     nullptr);
      Layout others = tensor({5, most, most, 0}, {0, 0, 0, 0});
      variant.launch({.rows = others, .out = nullptr}, nullptr);
      others = tensor({5, 0, most, most}, {0, 0, 0, 0});
      variant.launch({.rows = others, .out = nullptr}, nullptr);
    }
}

TEST(RowFoldRefuses, PointersThatDoNotFit) {
  expect_refused("row_fold: rows.data must not be null", [](Args& args) { args.rows.data = nullptr; });
  expect_refused("row_fold: out must not be null", [](Args& args) { args.out = nullptr; });
  expect_refused("row_fold: out must not be null", [](Args& args) {
    args.rows.sizes[0] = 0;  // three zeros are still to be written
    args.out = nullptr;
  });
  const char* const data = "row_fold: rows.data must be aligned to its elements";
  expect_refused(data, [](Args& args) { args.rows.data = moved(args.rows.data, 2); });
  expect_refused(data, [](Args& args) {
    args.rows.data = moved(args.rows.data, 1);
    args.rows.dtype = Dtype::fp16;
  });
  expect_refused("row_fold: out must be aligned to its elements",
                 [](Args& args) { args.out = moved(args.out, 2); });
  expect_refused("row_fold: out must stay within 64-bit addresses",
                 [](Args& args) { args.rows = matrix(Dtype::fp32, args.rows.data, 0, most / 4); });
}

TEST(RowFoldRefuses, AnOutputThatOverlapsTheRows) {
  const char* const rule = "row_fold: out must not overlap rows";
  const auto out_at = [](std::ptrdiff_t element) {
    return [element](Args& args) {
      args.out = const_cast<float*>(static_cast<const float*>(args.rows.data)) + element;
    };
  };
  expect_refused(rule, out_at(0));
  expect_refused(rule, out_at(5));  // the last element of the last row
  expect_refused(rule, [&](Args& args) {
    args.rows = matrix(Dtype::fp32, args.rows.data, 2, 3, 5);
    out_at(7)(args);  // between the rows and into the last
  });
  expect_refused(rule, [&](Args& args) {
    args.rows.data = static_cast<const float*>(args.rows.data) + 8;
    args.rows.strides[0] = -8;  // the second row lies below the first
    out_at(-8)(args);
  });
}

TEST(RowFoldAccepts, AnOutputThatTouchesTheRows) {
  for (const Device device : test::devices()) {
    test::Array<float> memory(device, std::vector<float>{1, 2, 3, 4, 0, 0});
    for (const auto& variant : variants) {
      if (variant.device != device) continue;
      variant.launch({.rows = matrix(Dtype::fp32, memory.data(), 2, 2), .out = memory.data() + 4}, nullptr);
      EXPECT_EQ(memory.values(), (std::vector<float>{1, 2, 3, 4, 4, 6}));
    }
  }
}

}  // namespace
}  // namespace strictbench::row_fold
