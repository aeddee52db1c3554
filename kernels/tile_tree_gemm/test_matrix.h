/// For tests: a matrix as it lies in memory in either layout, on either device.
#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "kernels/common/random.h"
#include "kernels/common/test_array.h"
#include "kernels/tile_tree_gemm/tile_tree_gemm.h"

namespace strictbench::tile_tree_gemm {

using Values = std::function<float(std::int64_t r, std::int64_t c)>;

/// How a matrix lies: along which direction its elements are neighbours, the elements between one such line
/// and the next, and those before the first. What lies between is poison.
struct Layout {
  bool by_rows = true;
  std::int64_t gap = 0;
  std::int64_t offset = 0;
};

class Matrix {
 public:
  Matrix(Device device, std::int64_t rows, std::int64_t cols, const Layout& layout, const Values& values)
      : offset_(layout.offset),
        row_stride_(layout.by_rows ? cols + layout.gap : 1),
        col_stride_(layout.by_rows ? 1 : rows + layout.gap),
        host_(static_cast<std::size_t>(offset_ + (rows - 1) * row_stride_ + (cols - 1) * col_stride_ + 1),
              Bf16{poison16}),
        array_(device, filled(rows, cols, values)) {}

  Operand operand() { return {array_.data() + offset_, row_stride_, col_stride_}; }
  Operand on_host() const { return {host_.data() + offset_, row_stride_, col_stride_}; }

 private:
  const std::vector<Bf16>& filled(std::int64_t rows, std::int64_t cols, const Values& values) {
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < cols; ++c)
        host_[static_cast<std::size_t>(offset_ + r * row_stride_ + c * col_stride_)] = to_bf16(values(r, c));
    return host_;
  }

  std::int64_t offset_;
  std::int64_t row_stride_;
  std::int64_t col_stride_;
  std::vector<Bf16> host_;
  test::Array<Bf16> array_;
};

/// Random normal numbers. They are the same for an element whatever the size of the matrix around it.
inline Values normal(const char* name) {
  return [key = random_key(name)](std::int64_t r, std::int64_t c) {
    return random_normal(key, (static_cast<std::uint64_t>(r) << 32) + static_cast<std::uint64_t>(c));
  };
}

/// -1, 0 and 1, of 16 numbers 14 zeros: sums of products of up to some ten thousand stay far under 256, up to
/// which bf16 holds every whole number, so all orders of addition give the same bits.
inline Values small_integers(const char* name) {
  return [key = random_key(name)](std::int64_t r, std::int64_t c) {
    const auto x =
        random_below(key, (static_cast<std::uint64_t>(r) << 32) + static_cast<std::uint64_t>(c), 16);
    return x == 0 ? -1.0f : x == 1 ? 1.0f : 0.0f;
  };
}

/// Whole numbers in [-255, 255], as bf16 holds them. Sums of 32 products stay under 2^22 and so are exact in
/// any inner order, on tensor cores too, but need up to 22 bits, of which bf16 keeps eight: every rounding of
/// a tile or node shows, and with it the tree.
inline Values wide_integers(std::uint64_t key) {
  return [key](std::int64_t r, std::int64_t c) {
    const auto at = (static_cast<std::uint64_t>(r) << 32) + static_cast<std::uint64_t>(c);
    return static_cast<float>(random_below(key, at, 511)) - 255.0f;
  };
}

/// Whole numbers in [-8, 8] times `unit`, some zeros with a sign among them, and of each `one_in` numbers
/// about one NaN or infinity. Times numbers of unit 1, with a unit of 2^-133 (the least bf16), results are
/// subnormals and a little more. Sums of 32 products are exact in any order again, but for a zero's sign.
inline Values special_values(std::uint64_t key, float unit, std::uint64_t one_in) {
  return [=](std::int64_t r, std::int64_t c) {
    const auto at = (static_cast<std::uint64_t>(r) << 32) + static_cast<std::uint64_t>(c);
    constexpr float infinity = std::numeric_limits<float>::infinity();
    if (random_below(key, at, one_in) == 0) {
      const auto which = random_below(mix(key), at, 3);
      return which == 0 ? std::numeric_limits<float>::quiet_NaN() : which == 1 ? infinity : -infinity;
    }
    const float number = static_cast<float>(random_below(mix(key + 1), at, 19)) - 8.0f;
    return number > 8.0f ? -0.0f : number * unit;
  };
}

}  // namespace strictbench::tile_tree_gemm
