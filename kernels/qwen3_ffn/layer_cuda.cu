/// legacy, new: the layer on the GPU. Six matrix products take the tensor-core path in both; under 32 tokens
/// the three weight gradients go through transpose and naive 16x16 blocks (legacy) or 128x128 tiles (new),
/// and from 32 tokens on both run the same kernels throughout: the control of the comparison.
#include "kernels/common/cuda_error.h"
#include "kernels/common/require.h"
#include "kernels/qwen3_ffn/layer.h"

namespace strictbench::qwen3_ffn {
namespace {

constexpr int threads = 256;

__device__ float sigmoid(float g) { return 1.0f / (1.0f + expf(-g)); }

__global__ void swiglu(Activation args) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= args.count) return;
  const float g = to_float(args.g[i]);
  args.a[i] = to_bf16(activation(g, to_float(args.u[i]), sigmoid(g)));
}

__global__ void swiglu_gradient(ActivationGradient args) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= args.count) return;
  const float g = to_float(args.g[i]);
  const float da = to_float(args.da[i]);
  const float s = sigmoid(g);
  args.dg[i] = to_bf16(gate_gradient(da, g, to_float(args.u[i]), s));
  args.du[i] = to_bf16(up_gradient(da, g, s));
}

__global__ void add_elements(Sum args) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < args.count) args.sum[i] = to_bf16(__fadd_rn(to_float(args.left[i]), to_float(args.right[i])));
}

unsigned blocks(std::int64_t count) {
  return grid_blocks(count, threads, grid_x, "qwen3_ffn: the activations must fit a grid");
}

void activate(const Activation& args, Stream stream) {
  swiglu<<<blocks(args.count), threads, 0, stream>>>(args);
  check_launch();
}

void activate_gradient(const ActivationGradient& args, Stream stream) {
  swiglu_gradient<<<blocks(args.count), threads, 0, stream>>>(args);
  check_launch();
}

void add(const Sum& args, Stream stream) {
  add_elements<<<blocks(args.count), threads, 0, stream>>>(args);
  check_launch();
}

Steps with(void (*weight_gradient)(const dw_gemm::Args&, Stream)) {
  return {tile_tree_gemm::tensor_core, activate, activate_gradient, add, weight_gradient};
}

}  // namespace

void legacy(const Args& args, Stream stream) {
  run_layer(args, with(naive_weight_gradient<dw_gemm::by_token_count, dw_gemm::naive_recursive>), stream);
}
void tiled(const Args& args, Stream stream) { run_layer(args, with(dw_gemm::by_token_count), stream); }

}  // namespace strictbench::qwen3_ffn
