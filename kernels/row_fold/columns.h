/// How the variants see a layout: rows a stride apart, and columns that lie side by side or anywhere.
#pragma once
#include <cstdint>

#include "kernels/row_fold/layout.h"

namespace strictbench::row_fold {

/// Columns that lie side by side: nothing to compute, so the loops over them stay as short as they can be.
struct AdjacentColumns {
  constexpr std::int64_t offset(std::int64_t c) const { return c; }
};

/// Columns of a tail of up to seven dimensions, the innermost first; dimensions of size 1 are left out, and
/// neighbours that lie like one dimension are one.
struct StridedColumns {
  int rank;
  std::int64_t sizes[max_rank - 1];
  std::int64_t strides[max_rank - 1];

  /// Elements from a row's start to its column `c`: divisions, so ask once per column and not once per row.
  constexpr std::int64_t offset(std::int64_t c) const {
    std::int64_t sum = 0;
    for (int d = 0; d < rank; ++d) {
      sum += c % sizes[d] * strides[d];
      c /= sizes[d];
    }
    return sum;
  }
};

/// A layout as a matrix, its dimensions but the first flattened to columns.
struct Flattened {
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t row_stride;
  StridedColumns columns;
};

/// Of a layout that validate() has seen.
Flattened flattened(const Layout& layout);

/// Calls work(data, columns) with the elements' type and the kind of columns known at compile time.
template <class Work>
void with_elements(const Layout& layout, const StridedColumns& columns, Work&& work) {
  with_type(layout.dtype, [&]<class T>() {
    const T* const data = static_cast<const T*>(layout.data);
    if (columns.rank == 0 || (columns.rank == 1 && columns.strides[0] == 1))
      work(data, AdjacentColumns{});
    else
      work(data, columns);
  });
}

}  // namespace strictbench::row_fold
