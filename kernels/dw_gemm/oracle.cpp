#include "kernels/common/require.h"
#include "kernels/dw_gemm/dw_gemm.h"

namespace strictbench::dw_gemm {
namespace {

/// The K-tree over tokens [lo, hi) of one output element.
Bf16 k_tree(const Shape& shape, const std::vector<Bf16>& x, const std::vector<Bf16>& dy, std::int64_t o,
            std::int64_t i, std::int64_t lo, std::int64_t hi) {
  if (hi - lo <= leaf_tokens) {
    float acc = +0.0f;
    for (std::int64_t t = lo; t < hi; ++t) {
      const float product = to_float(dy[static_cast<std::size_t>(t * shape.out + o)]) *
                            to_float(x[static_cast<std::size_t>(t * shape.in + i)]);
      acc = acc + product;
    }
    return to_bf16(acc);
  }
  const std::int64_t mid = lo + (hi - lo) / 2;
  const Bf16 left = k_tree(shape, x, dy, o, i, lo, mid);
  const Bf16 right = k_tree(shape, x, dy, o, i, mid, hi);
  return to_bf16(to_float(left) + to_float(right));
}

}  // namespace

void validate(const Args& args) {
  require(args.shape.tokens > 0, "dw_gemm: shape.tokens must be positive");
  require(args.shape.in > 0, "dw_gemm: shape.in must be positive");
  require(args.shape.out > 0, "dw_gemm: shape.out must be positive");
  require(args.x != nullptr, "dw_gemm: x must not be null");
  require(args.dy != nullptr, "dw_gemm: dy must not be null");
  require(args.dw != nullptr, "dw_gemm: dw must not be null");
}

void oracle(const Shape& shape, const std::vector<Bf16>& x, const std::vector<Bf16>& dy,
            std::int64_t out_first, std::int64_t out_last, Bf16* dw) {
  for (std::int64_t o = out_first; o < out_last; ++o)
    for (std::int64_t i = 0; i < shape.in; ++i)
      dw[o * shape.in + i] = k_tree(shape, x, dy, o, i, 0, shape.tokens);
}

}  // namespace strictbench::dw_gemm
