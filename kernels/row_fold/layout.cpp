#include "kernels/row_fold/layout.h"

namespace strictbench::row_fold {

std::optional<std::int64_t> count(const Layout& layout, int from) {
  std::int64_t product = 1;
  bool fits = true;
  for (int d = from; d < layout.rank; ++d) {
    if (layout.sizes[d] == 0) return 0;  // whatever the others are
    fits &= !__builtin_mul_overflow(product, layout.sizes[d], &product);
  }
  return fits ? std::optional(product) : std::nullopt;
}

std::optional<Extent> extent(const Layout& layout) {
  std::int64_t lowest = 0;  // in elements from data
  std::int64_t highest = 0;
  bool fits = true;
  for (int d = 0; d < layout.rank; ++d) {
    if (layout.sizes[d] == 0) return Extent{.data = layout.data, .bytes = 0};
    std::int64_t reach = 0;
    fits &= !__builtin_mul_overflow(layout.sizes[d] - 1, layout.strides[d], &reach);
    std::int64_t& side = reach < 0 ? lowest : highest;
    fits &= !__builtin_add_overflow(side, reach, &side);
  }
  const auto element = static_cast<std::int64_t>(size_of(layout.dtype));
  std::int64_t first = 0;  // in bytes from data
  std::int64_t end = 0;
  fits = fits && !__builtin_mul_overflow(lowest, element, &first) &&
         !__builtin_add_overflow(highest, 1, &highest) && !__builtin_mul_overflow(highest, element, &end);
  return fits ? addressed(layout.data, first, end) : std::nullopt;
}

}  // namespace strictbench::row_fold
