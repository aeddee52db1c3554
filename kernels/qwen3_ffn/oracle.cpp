#include <cmath>

#include "kernels/dw_gemm/dw_gemm.h"
#include "kernels/qwen3_ffn/qwen3_ffn.h"

namespace strictbench::qwen3_ffn {
namespace {

using Values = std::vector<Bf16>;

Values transposed(const Values& from, std::int64_t rows, std::int64_t cols) {
  Values to(from.size());
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < cols; ++c)
      to[static_cast<std::size_t>(c * rows + r)] = from[static_cast<std::size_t>(r * cols + c)];
  return to;
}

/// Tiles [lo, hi) of the inner product of a[0..) and b[0..): each of 32 elements is summed in fp32 and
/// rounded to bf16, ranges split in the middle and their halves' sum is rounded again.
float tile_tree(const Bf16* a, const Bf16* b, std::int64_t lo, std::int64_t hi) {
  if (hi - lo == 1) {
    float acc = +0.0f;
    for (std::int64_t k = 32 * lo; k < 32 * hi; ++k) {
      const float product = to_float(a[k]) * to_float(b[k]);
      acc = acc + product;
    }
    return to_float(to_bf16(acc));
  }
  const std::int64_t mid = lo + (hi - lo) / 2;
  return to_float(to_bf16(tile_tree(a, b, lo, mid) + tile_tree(a, b, mid, hi)));
}

struct Oracle {
  const Shape& shape;
  const ForRanges& for_ranges;

  /// a [tokens, k] times the transpose of w [n, k].
  Values product(const Values& a, const Values& w, std::int64_t k) const {
    const auto n = static_cast<std::int64_t>(w.size()) / k;
    Values c(static_cast<std::size_t>(shape.tokens * n));
    for_ranges(n, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t column = first; column < last; ++column)
        for (std::int64_t t = 0; t < shape.tokens; ++t)
          c[static_cast<std::size_t>(t * n + column)] =
              to_bf16(tile_tree(a.data() + t * k, w.data() + column * k, 0, k / 32));
    });
    return c;
  }

  /// dW [out, in] of x [tokens, in] and dy [tokens, out]. Its tree is that of the path that every variant
  /// takes for such a shape: one of tiles on tensor cores.
  Values weight_gradient(const Values& x, const Values& dy) const {
    const auto in = static_cast<std::int64_t>(x.size()) / shape.tokens;
    const auto out = static_cast<std::int64_t>(dy.size()) / shape.tokens;
    const dw_gemm::Shape gradient{shape.tokens, in, out};
    const bool tiles = dw_gemm::path_of(gradient) == dw_gemm::Path::tensor_core;
    Values dw(static_cast<std::size_t>(out * in));
    for_ranges(out, [&](std::int64_t first, std::int64_t last) {
      dw_gemm::oracle(gradient, x, dy, first, last, dw.data(),
                      tiles ? dw_gemm::Tree::tiles : dw_gemm::Tree::tokens);
    });
    return dw;
  }
};

}  // namespace

Results oracle(const Shape& shape, Direction direction, const Inputs& inputs, const ForRanges& for_ranges) {
  const auto& [tokens, hidden, intermediate] = shape;
  const Oracle layer{shape, for_ranges};
  const Values g = layer.product(inputs.x, inputs.gate, hidden);
  const Values u = layer.product(inputs.x, inputs.up, hidden);
  std::vector<float> s(g.size());
  Values a(g.size());
  for (std::size_t i = 0; i < g.size(); ++i) {
    s[i] = 1.0f / (1.0f + std::exp(-to_float(g[i])));
    a[i] = to_bf16((to_float(g[i]) * s[i]) * to_float(u[i]));
  }
  Results results;
  results.y = layer.product(a, inputs.down, intermediate);
  if (direction == Direction::forward) return results;

  results.ddown = layer.weight_gradient(a, inputs.dy);
  const Values da = layer.product(inputs.dy, transposed(inputs.down, hidden, intermediate), hidden);
  Values dg(da.size());
  Values du(da.size());
  for (std::size_t i = 0; i < da.size(); ++i) {
    const float d = to_float(da[i]);
    const float gate = to_float(g[i]);
    du[i] = to_bf16(d * (gate * s[i]));
    dg[i] = to_bf16((d * to_float(u[i])) * (s[i] * (1.0f + gate * (1.0f - s[i]))));
  }
  results.dgate = layer.weight_gradient(inputs.x, dg);
  results.dup = layer.weight_gradient(inputs.x, du);
  const Values left = layer.product(dg, transposed(inputs.gate, intermediate, hidden), intermediate);
  const Values right = layer.product(du, transposed(inputs.up, intermediate, hidden), intermediate);
  for (std::size_t i = 0; i < left.size(); ++i)
    results.dx.push_back(to_bf16(to_float(left[i]) + to_float(right[i])));
  return results;
}

}  // namespace strictbench::qwen3_ffn
