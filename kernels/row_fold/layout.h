/// Where the elements of a tensor lie: up to eight dimensions, any strides.
#pragma once
#include <cstdint>
#include <optional>

#include "kernels/common/dtype.h"
#include "kernels/common/require.h"

namespace strictbench::row_fold {

inline constexpr int max_rank = 8;

/// Element [i, j, ...] lies i * strides[0] + j * strides[1] + ... elements from `data`. A stride may be
/// larger than needed, zero (every index reads the same elements) or negative (`data` is then not the lowest
/// address).
struct Layout {
  const void* data = nullptr;
  Dtype dtype = Dtype::fp32;
  int rank = 0;  ///< how many of sizes and strides count
  std::int64_t sizes[max_rank] = {};
  std::int64_t strides[max_rank] = {};
};

/// [rows, cols], the columns side by side, the rows `row_stride` elements apart.
constexpr Layout matrix(Dtype dtype, const void* data, std::int64_t rows, std::int64_t cols,
                        std::int64_t row_stride) {
  return {.data = data, .dtype = dtype, .rank = 2, .sizes = {rows, cols}, .strides = {row_stride, 1}};
}

/// [rows, cols] without gaps.
constexpr Layout matrix(Dtype dtype, const void* data, std::int64_t rows, std::int64_t cols) {
  return matrix(dtype, data, rows, cols, cols);
}

/// The product of sizes [from, rank), 0 if one of them is; nothing where it does not fit 64 bits. Sizes must
/// not be negative.
std::optional<std::int64_t> count(const Layout& layout, int from);

/// The bytes from the lowest to the highest element; nothing where they lie outside what 64 bits can address.
/// Sizes must not be negative.
std::optional<Extent> extent(const Layout& layout);

}  // namespace strictbench::row_fold
