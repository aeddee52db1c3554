/// The layer as a sequence of steps, the same for every device and variant.
#pragma once
#include "kernels/dw_gemm/dw_gemm.h"
#include "kernels/qwen3_ffn/qwen3_ffn.h"
#include "kernels/tile_tree_gemm/tile_tree_gemm.h"

namespace strictbench::qwen3_ffn {

/// Inputs and outputs of the elementwise steps, each of `count` elements.
struct Activation {
  std::int64_t count;
  const Bf16* g;
  const Bf16* u;
  Bf16* a;
};
struct ActivationGradient {
  std::int64_t count;
  const Bf16* g;
  const Bf16* u;
  const Bf16* da;
  Bf16* dg;
  Bf16* du;
};
struct Sum {
  std::int64_t count;
  const Bf16* left;
  const Bf16* right;
  Bf16* sum;
};

/// One device's way of doing each step; `weight_gradient` is what variants differ in.
struct Steps {
  void (*gemm)(const tile_tree_gemm::Args&, Stream);
  void (*activate)(const Activation&, Stream);
  void (*activate_gradient)(const ActivationGradient&, Stream);
  void (*add)(const Sum&, Stream);
  void (*weight_gradient)(const dw_gemm::Args&, Stream);
};

/// What the layer did before the tiled kernel: the tensor-core path where it fits, else the naive kernel.
template <void (*by_token_count)(const dw_gemm::Args&, Stream), void (*naive)(const dw_gemm::Args&, Stream)>
void naive_weight_gradient(const dw_gemm::Args& args, Stream stream) {
  const bool fits = dw_gemm::path_of(args.shape) == dw_gemm::Path::tensor_core;
  fits ? by_token_count(args, stream) : naive(args, stream);
}

/// Validates, then enqueues the layer's steps in order.
void run_layer(const Args& args, const Steps& steps, Stream stream);

// One element of the elementwise steps, in fp32; host and device differ in exp alone.
constexpr float activation(float g, float u, float s) { return (g * s) * u; }
constexpr float up_gradient(float da, float g, float s) { return da * (g * s); }
constexpr float gate_gradient(float da, float g, float u, float s) {
  return (da * u) * (s * (1.0f + g * (1.0f - s)));
}

}  // namespace strictbench::qwen3_ffn
