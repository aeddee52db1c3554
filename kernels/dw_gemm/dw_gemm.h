/// dw_gemm: dW[o][i] = sum over t ascending of dY[t][o] * X[t][i], bf16 in, fp32 inside, bf16 out.
///
/// The weight gradient of a linear layer. The sum over tokens is the K-tree: at most 32 tokens are one leaf,
/// summed from +0 in ascending order in fp32 and rounded once to bf16; a longer range splits in the middle
/// and each inner node is the bf16-rounded sum of its halves.
/// Source of the definition and the pair: RL-Align/RL-Kernel pull request 351.
#pragma once
#include <cstdint>
#include <vector>

#include "kernels/common/dtype.h"
#include "kernels/common/variant.h"

namespace strictbench::dw_gemm {

struct Shape {
  std::int64_t tokens;
  std::int64_t in;
  std::int64_t out;
};

struct Args {
  Shape shape;
  const Bf16* x;       ///< [tokens, in]
  const Bf16* dy;      ///< [tokens, out]
  Bf16* dw;            ///< [out, in]
  Bf16* x_transposed;  ///< [in, tokens], scratch of the legacy variants
};

/// The longest range of tokens that one leaf of the K-tree sums.
inline constexpr std::int64_t leaf_tokens = 32;
/// The most tokens that the tiled variants take.
inline constexpr std::int64_t tiled_tokens = 31;

/// Throws std::invalid_argument unless sizes are positive and no pointer is null.
void validate(const Args& args);

/// The definition as plain loops, whole output rows [out_first, out_last) only, so that callers may share
/// the work among threads. x: [tokens, in], dy: [tokens, out]; dw: all of [out, in].
void oracle(const Shape& shape, const std::vector<Bf16>& x, const std::vector<Bf16>& dy,
            std::int64_t out_first, std::int64_t out_last, Bf16* dw);

void naive_recursive(const Args& args, Stream stream);      // CUDA: transpose, 16x16 blocks, recursive K-tree
void naive_loop(const Args& args, Stream stream);           // CUDA: the same with a loop for the leaf
void tiled_outer_product(const Args& args, Stream stream);  // CUDA: 128x128 tiles, tokens staged once
void cpu_naive(const Args& args, Stream stream);            // CPU: transpose, one element at a time
void cpu_tiled(const Args& args, Stream stream);            // CPU: 128x128 tiles of fp32 accumulators

inline constexpr Variant<Args> variants[] = {
#ifdef STRICTBENCH_HAS_CUDA
    {"legacy", Device::cuda, naive_recursive},  {"legacy_loop", Device::cuda, naive_loop},
    {"new", Device::cuda, tiled_outer_product},
#endif
    {"legacy", Device::cpu, cpu_naive},         {"new", Device::cpu, cpu_tiled},
};

}  // namespace strictbench::dw_gemm
