#include "kernels/row_fold/columns.h"

namespace strictbench::row_fold {

Flattened flattened(const Layout& layout) {
  StridedColumns columns{};
  const std::int64_t cols = count(layout, 1).value();
  // Where one dimension is empty the others may be of any size, and their products pass 64 bits.
  for (int d = layout.rank - 1; d > 0 && cols > 0; --d) {
    if (layout.sizes[d] == 1) continue;
    const int last = columns.rank - 1;
    std::int64_t next = 0;  // the stride that would go on where the dimension inside this one ends
    if (last >= 0 && !__builtin_mul_overflow(columns.sizes[last], columns.strides[last], &next) &&
        layout.strides[d] == next) {
      columns.sizes[last] *= layout.sizes[d];
    } else {
      columns.sizes[columns.rank] = layout.sizes[d];
      columns.strides[columns.rank] = layout.strides[d];
      ++columns.rank;
    }
  }
  return {.rows = layout.sizes[0], .cols = cols, .row_stride = layout.strides[0], .columns = columns};
}

}  // namespace strictbench::row_fold
