#include "kernels/common/require.h"
#include "kernels/common/typed.h"
#include "kernels/tile_tree_gemm/tile_tree_gemm.h"

namespace strictbench::tile_tree_gemm {
namespace {

float at(const Operand& operand, std::int64_t r, std::int64_t c) {
  return to_float(operand.data[r * operand.row_stride + c * operand.col_stride]);
}

/// The tree over tiles [lo, hi) of element (r, c).
Bf16 tree(const Args& args, std::int64_t r, std::int64_t c, std::int64_t lo, std::int64_t hi) {
  if (hi - lo == 1) {
    float acc = +0.0f;
    for (std::int64_t k = lo * tile_k; k < hi * tile_k; ++k) {
      const float product = at(args.a, r, k) * at(args.b, k, c);
      acc = acc + product;
    }
    return to_bf16(acc);
  }
  const std::int64_t mid = lo + (hi - lo) / 2;
  const Bf16 left = tree(args, r, c, lo, mid);
  const Bf16 right = tree(args, r, c, mid, hi);
  return to_bf16(to_float(left) + to_float(right));
}

bool fits(const Operand& operand, std::int64_t rows, std::int64_t cols) {
  return (operand.col_stride == 1 && operand.row_stride >= cols) ||
         (operand.row_stride == 1 && operand.col_stride >= rows);
}

/// Of an operand that fits.
Extent extent(const Operand& operand, std::int64_t rows, std::int64_t cols, const char* rule) {
  const bool by_rows = operand.col_stride == 1 && operand.row_stride >= cols;
  return by_rows ? require_addressed(operand.data, rows, cols, operand.row_stride, sizeof(Bf16), rule)
                 : require_addressed(operand.data, cols, rows, operand.col_stride, sizeof(Bf16), rule);
}

}  // namespace

void validate(const Args& args) {
  const auto& [m, n, k, a, b, c] = args;
  require(m > 0 && m % block_m == 0, "tile_tree_gemm: m must be a positive multiple of 64");
  require(m <= max_m, "tile_tree_gemm: m must be at most 4194240");
  require(n > 0, "tile_tree_gemm: n must be positive");
  require(n <= max_n, "tile_tree_gemm: n must be at most 137438953408");
  require(k > 0 && k % tile_k == 0, "tile_tree_gemm: k must be a positive multiple of 32");
  require(k <= max_k, "tile_tree_gemm: k must be at most 2097152");
  require(a.data != nullptr, "tile_tree_gemm: a.data must not be null");
  require(b.data != nullptr, "tile_tree_gemm: b.data must not be null");
  require(c != nullptr, "tile_tree_gemm: c must not be null");
  require(fits(a, m, k),
          "tile_tree_gemm: one stride of a must be 1 and the other at least what it steps over");
  require(fits(b, k, n),
          "tile_tree_gemm: one stride of b must be 1 and the other at least what it steps over");
  require_aligned(a.data, sizeof(Bf16), "tile_tree_gemm: a.data must be aligned to 2 bytes");
  require_aligned(b.data, sizeof(Bf16), "tile_tree_gemm: b.data must be aligned to 2 bytes");
  require_aligned(c, sizeof(Bf16), "tile_tree_gemm: c must be aligned to 2 bytes");
  const Extent left = extent(a, m, k, "tile_tree_gemm: a must stay within 64-bit addresses");
  const Extent right = extent(b, k, n, "tile_tree_gemm: b must stay within 64-bit addresses");
  const Extent output =
      require_addressed(c, m, n, n, sizeof(Bf16), "tile_tree_gemm: c must stay within 64-bit addresses");
  require_apart(output, left, "tile_tree_gemm: c must not overlap a");
  require_apart(output, right, "tile_tree_gemm: c must not overlap b");
}

std::vector<Bf16> oracle(const Args& args) {
  std::vector<Bf16> c;
  c.reserve(static_cast<std::size_t>(args.m * args.n));
  for (std::int64_t row = 0; row < args.m; ++row)
    for (std::int64_t col = 0; col < args.n; ++col) c.push_back(tree(args, row, col, 0, args.k / tile_k));
  return c;
}

}  // namespace strictbench::tile_tree_gemm
