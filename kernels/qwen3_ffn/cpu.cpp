/// The layer on the operators' CPU variants.
#include <cmath>

#include "kernels/qwen3_ffn/layer.h"

namespace strictbench::qwen3_ffn {
namespace {

float sigmoid(float g) { return 1.0f / (1.0f + std::exp(-g)); }

void activate(const Activation& args, Stream) {
  for (std::int64_t i = 0; i < args.count; ++i) {
    const float g = to_float(args.g[i]);
    args.a[i] = to_bf16(activation(g, to_float(args.u[i]), sigmoid(g)));
  }
}

void activate_gradient(const ActivationGradient& args, Stream) {
  for (std::int64_t i = 0; i < args.count; ++i) {
    const float g = to_float(args.g[i]);
    const float da = to_float(args.da[i]);
    const float s = sigmoid(g);
    args.dg[i] = to_bf16(gate_gradient(da, g, to_float(args.u[i]), s));
    args.du[i] = to_bf16(up_gradient(da, g, s));
  }
}

void add(const Sum& args, Stream) {
  for (std::int64_t i = 0; i < args.count; ++i)
    args.sum[i] = to_bf16(to_float(args.left[i]) + to_float(args.right[i]));
}

constexpr Steps with(void (*weight_gradient)(const dw_gemm::Args&, Stream)) {
  return {tile_tree_gemm::cpu, activate, activate_gradient, add, weight_gradient};
}

}  // namespace

void cpu_legacy(const Args& args, Stream stream) {
  run_layer(args, with(naive_weight_gradient<dw_gemm::cpu_by_token_count, dw_gemm::cpu_naive>), stream);
}
void cpu_tiled(const Args& args, Stream stream) {
  run_layer(args, with(dw_gemm::cpu_by_token_count), stream);
}

}  // namespace strictbench::qwen3_ffn
