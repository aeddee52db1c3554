#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/common/test_draw.h"
#include "kernels/common/test_special.h"
#include "kernels/row_fold/test_rows.h"

namespace strictbench::row_fold {
namespace {

using test::Draw;

struct Drawn {
  Layout layout;            ///< data and dtype still open
  std::int64_t origin = 0;  ///< where layout.data lies in memory
  std::int64_t memory = 0;  ///< elements
};

/// Up to eight dimensions of at most about 4000 elements in all: in any order in memory, with gaps,
/// broadcast, mirrored; or strides without any such thought.
Drawn draw_layout(Draw& draw) {
  Drawn drawn;
  Layout& layout = drawn.layout;
  layout.rank = static_cast<int>(draw.between(1, max_rank));
  std::int64_t budget = 4000;
  for (int d = 0; d < layout.rank; ++d) {
    const std::int64_t least = draw.between(0, 19) == 0 ? 0 : 1;
    const std::int64_t most = d == 0 ? 300 : std::min<std::int64_t>(budget, 300);
    layout.sizes[d] = std::max(least, draw.flip() ? draw.size_by_class(most) : draw.size(0, most));
    budget /= std::max<std::int64_t>(layout.sizes[d], 1);
  }
  int order[max_rank];  // of the dimensions in memory, innermost first
  for (int i = 0; i < layout.rank; ++i) order[i] = layout.rank - 1 - i;
  if (draw.flip())
    for (int i = layout.rank - 1; i > 0; --i) std::swap(order[i], order[draw.between(0, i)]);
  const bool any = draw.between(0, 3) == 0;
  std::int64_t next = 1;
  for (int i = 0; i < layout.rank; ++i) {
    const std::int64_t size = layout.sizes[order[i]];
    std::int64_t& stride = layout.strides[order[i]];
    if (any) {
      stride = draw.between(-9, 9);
    } else if (draw.between(0, 9) > 0) {  // else it stays zero
      stride = next + (draw.between(0, 3) == 0 ? draw.between(1, 3) : 0);
      next = stride * std::max<std::int64_t>(size, 1);
      if (draw.between(0, 5) == 0) stride = -stride;
    }
  }
  for (int d = 0; d < layout.rank; ++d) {
    const std::int64_t reach = std::max<std::int64_t>(layout.sizes[d] - 1, 0) * layout.strides[d];
    drawn.origin += reach < 0 ? -reach : 0;
    drawn.memory += std::abs(reach);
  }
  ++drawn.memory;
  return drawn;
}

template <class T>
std::vector<T> draw_memory(Draw& draw, std::int64_t count) {
  auto memory = test::wide_values<T>(draw.key(), count);
  test::mix_in_specials(draw, memory);
  return memory;
}

TEST(RowFoldProperty, EveryVariantHasTheOraclesBitsOnAnyLayout) {
  test::for_all_draws("row_fold layouts", 400, [](Draw& draw) {
    const Drawn drawn = draw_layout(draw);
    with_type(draw.pick({Dtype::fp32, Dtype::bf16, Dtype::fp16}), [&]<class T>() {
      test::expect_all_variants(drawn.layout, draw_memory<T>(draw, drawn.memory), drawn.origin);
    });
  });
}

TEST(RowFoldProperty, AColumnDoesNotDependOnItsNeighbours) {
  test::for_all_draws("row_fold columns", 50, [](Draw& draw) {
    const std::int64_t rows = draw.size_by_class(200);
    const std::int64_t cols = draw.between(1, 600);
    const std::int64_t first = draw.between(0, cols - 1);
    const std::int64_t some = draw.between(1, cols - first);
    const auto memory = draw_memory<float>(draw, rows * cols + 1);
    const auto all = test::expect_all_variants(test::tensor({rows, cols}, {cols, 1}), memory);
    const auto part =
        test::expect_all_variants(test::tensor({rows, some}, {cols, 1}), memory, rows == 0 ? 0 : first);
    test::expect_same(part, {all.begin() + first, all.begin() + first + some});
  });
}

}  // namespace
}  // namespace strictbench::row_fold
