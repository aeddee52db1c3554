/// For tests: arguments whose sums show the order of addition, and every variant against the oracle.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "kernels/common/test_array.h"
#include "kernels/rmsnorm_dweight/rmsnorm_dweight.h"
#include "kernels/row_fold/test_rows.h"

namespace strictbench::rmsnorm_dweight::test {

using namespace strictbench::test;

/// What the arguments point at. An empty mask is none.
template <class T>
struct Arguments {
  Shape shape;
  std::int64_t dy_stride;
  std::int64_t x_stride;
  std::vector<T> dy = {};
  std::vector<T> x = {};
  std::vector<float> rstd = {};
  std::vector<float> mask = {};

  Args args() const {
    return {.shape = shape,
            .dtype = dtype_of<T>,
            .dy = dy.data(),
            .dy_stride = dy_stride,
            .x = x.data(),
            .x_stride = x_stride,
            .rstd = rstd.data(),
            .mask = mask.empty() ? nullptr : mask.data(),
            .contributions = nullptr,
            .dweight = nullptr};
  }
};

/// Gradients of two very different magnitudes, so that order shows; no mask. Gaps between rows hold NaN.
template <class T>
Arguments<T> random_arguments(const Shape& shape, std::uint64_t key, std::int64_t dy_gap = 0,
                              std::int64_t x_gap = 0) {
  const auto [rows, cols] = shape;
  Arguments<T> made{.shape = shape, .dy_stride = cols + dy_gap, .x_stride = cols + x_gap};
  const auto values = row_fold::test::wide_values<T>(key, rows * cols);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < cols; ++c) {
      const auto at = static_cast<std::uint64_t>(r * cols + c);
      made.dy.push_back(values[at]);
      made.x.push_back(rounded<T>(random_normal(mix(key), at)));
    }
    made.dy.insert(made.dy.end(), static_cast<std::size_t>(dy_gap), rounded<T>(NAN));
    made.x.insert(made.x.end(), static_cast<std::size_t>(x_gap), rounded<T>(NAN));
    made.rstd.push_back(0.1f + std::fabs(random_normal(mix(mix(key)), static_cast<std::uint64_t>(r))));
  }
  return made;
}

/// A mask that is 0 for about half of the rows, else 1.
inline std::vector<float> half_mask(std::int64_t rows, std::uint64_t key) {
  std::vector<float> mask = {};
  for (std::int64_t r = 0; r < rows; ++r)
    mask.push_back(static_cast<float>(random_below(key, static_cast<std::uint64_t>(r), 2)));
  return mask;
}

/// Every variant on every device has the oracle's bits; gives them.
template <class T>
std::vector<float> expect_all_variants(const Arguments<T>& host) {
  const auto [rows, cols] = host.shape;
  const std::vector<float> expected = oracle(host.args());
  for (const Device device : devices()) {
    Array<T> dy(device, host.dy);
    Array<T> x(device, host.x);
    Array<float> rstd(device, host.rstd);
    Array<float> mask(device, host.mask);
    Args args = host.args();
    args.dy = dy.data();
    args.x = x.data();
    args.rstd = rstd.data();
    if (!host.mask.empty()) args.mask = mask.data();
    for (const auto& variant : variants) {
      if (variant.device != device) continue;
      SCOPED_TRACE(std::string(variant.name) + " on " + text(device) + ", " + std::to_string(rows) + " x " +
                   std::to_string(cols) + " " + std::string(name_of(args.dtype)) +
                   (args.mask == nullptr ? "" : " with a mask"));
      Array<float> contributions(device, static_cast<std::size_t>(rows * cols));
      Array<float> dweight(device, expected.size());
      args.contributions = contributions.data();
      args.dweight = dweight.data();
      variant.launch(args, nullptr);
      row_fold::test::expect_same(dweight.values(), expected);
    }
  }
  return expected;
}

}  // namespace strictbench::rmsnorm_dweight::test
