#include "kernels/common/require.h"
#include "kernels/common/typed.h"
#include "kernels/dw_gemm/dw_gemm.h"

namespace strictbench::dw_gemm {
namespace {

struct Inputs {
  const Shape& shape;
  const std::vector<Bf16>& x;
  const std::vector<Bf16>& dy;
  Tree tree;
};

void round_all(std::vector<float>& row) {
  for (float& value : row) value = to_float(to_bf16(value));
}

/// The tree over tokens [lo, hi) of output row `o`, all its elements side by side: `row` becomes their sums.
/// Each is rounded to bf16, whatever type holds it.
void sum_row(const Inputs& inputs, std::int64_t o, std::int64_t lo, std::int64_t hi,
             std::vector<float>& row) {
  const auto& [tokens, in, out] = inputs.shape;
  if (hi - lo <= leaf_tokens) {
    row.assign(static_cast<std::size_t>(in), +0.0f);
    for (std::int64_t t = lo; t < hi; ++t) {
      const float dy = to_float(inputs.dy[static_cast<std::size_t>(t * out + o)]);
      const Bf16* const x = inputs.x.data() + t * in;
      for (std::size_t i = 0; i < row.size(); ++i) {
        const float product = dy * to_float(x[i]);
        row[i] = row[i] + product;
      }
    }
    return round_all(row);
  }
  const std::int64_t unit = inputs.tree == Tree::tiles ? leaf_tokens : 1;
  const std::int64_t mid = lo + ceil_div(hi - lo, unit) / 2 * unit;
  std::vector<float> right;
  sum_row(inputs, o, lo, mid, row);
  sum_row(inputs, o, mid, hi, right);
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = row[i] + right[i];
  round_all(row);
}

Extent extent(const Bf16* data, std::int64_t rows, std::int64_t cols, const char* rule) {
  return require_addressed(data, rows, cols, cols, sizeof(Bf16), rule);
}
Extent x_extent(const Args& args) {
  return extent(args.x, args.shape.tokens, args.shape.in, "dw_gemm: x must stay within 64-bit addresses");
}
Extent dy_extent(const Args& args) {
  return extent(args.dy, args.shape.tokens, args.shape.out, "dw_gemm: dy must stay within 64-bit addresses");
}
Extent dw_extent(const Args& args) {
  return extent(args.dw, args.shape.out, args.shape.in, "dw_gemm: dw must stay within 64-bit addresses");
}

}  // namespace

void validate(const Args& args) {
  require(args.shape.tokens > 0, "dw_gemm: shape.tokens must be positive");
  require(args.shape.in > 0, "dw_gemm: shape.in must be positive");
  require(args.shape.out > 0, "dw_gemm: shape.out must be positive");
  require(args.x != nullptr, "dw_gemm: x must not be null");
  require(args.dy != nullptr, "dw_gemm: dy must not be null");
  require(args.dw != nullptr, "dw_gemm: dw must not be null");
  require_aligned(args.x, sizeof(Bf16), "dw_gemm: x must be aligned to 2 bytes");
  require_aligned(args.dy, sizeof(Bf16), "dw_gemm: dy must be aligned to 2 bytes");
  require_aligned(args.dw, sizeof(Bf16), "dw_gemm: dw must be aligned to 2 bytes");
  const Extent x = x_extent(args);
  const Extent dy = dy_extent(args);
  const Extent dw = dw_extent(args);
  require_apart(dw, x, "dw_gemm: dw must not overlap x");
  require_apart(dw, dy, "dw_gemm: dw must not overlap dy");
}

void validate_transposed(const Args& args) {
  require(args.x_transposed != nullptr, "dw_gemm: x_transposed must not be null");
  require_aligned(args.x_transposed, sizeof(Bf16), "dw_gemm: x_transposed must be aligned to 2 bytes");
  const Extent transposed = extent(args.x_transposed, args.shape.in, args.shape.tokens,
                                   "dw_gemm: x_transposed must stay within 64-bit addresses");
  require_apart(transposed, x_extent(args), "dw_gemm: x_transposed must not overlap x");
  require_apart(transposed, dy_extent(args), "dw_gemm: x_transposed must not overlap dy");
  require_apart(transposed, dw_extent(args), "dw_gemm: x_transposed must not overlap dw");
}

void oracle(const Shape& shape, const std::vector<Bf16>& x, const std::vector<Bf16>& dy,
            std::int64_t out_first, std::int64_t out_last, Bf16* dw, Tree tree) {
  std::vector<float> row;
  for (std::int64_t o = out_first; o < out_last; ++o) {
    sum_row({.shape = shape, .x = x, .dy = dy, .tree = tree}, o, 0, shape.tokens, row);
    for (std::int64_t i = 0; i < shape.in; ++i)
      dw[o * shape.in + i] = to_bf16(row[static_cast<std::size_t>(i)]);
  }
}

}  // namespace strictbench::dw_gemm
