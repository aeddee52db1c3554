/// dw_gemm: dW[o][i] = sum over t ascending of dY[t][o] * X[t][i], bf16 in, fp32 inside, bf16 out.
///
/// The weight gradient of a linear layer. The sum over tokens is the K-tree: at most 32 tokens are one leaf,
/// summed from +0 in ascending order in fp32 and rounded once to bf16; a longer range splits in the middle
/// and each inner node is the bf16-rounded sum of its halves.
/// Source of the definition and the pair: RL-Align/RL-Kernel pull request 351.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/common/dtype.h"
#include "kernels/common/require.h"
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
/// The most tokens that stream_rows() takes, and the largest `out`: for few tokens it has a block for each 16
/// or 32 rows, along a grid's second side, and for more the blocks walk down.
inline constexpr std::int64_t streamed_tokens = 32;
constexpr std::int64_t most_streamed_rows(std::int64_t tokens) {
  return tokens <= 4 ? grid_y * 16 : tokens <= 8 ? grid_y * 32 : std::numeric_limits<std::int64_t>::max();
}
/// The most tokens that `legacy` sums by recursion on a GPU: the frames of seven calls fit the 1 KB of stack
/// that a thread has by default. From there on it walks the same tree with sums of its own on a stack.
inline constexpr std::int64_t recursive_tokens = 2048;
/// The most tokens, and the largest `in`, of `legacy` on a GPU: blocks of 16 along a grid's second side.
inline constexpr std::int64_t naive_side = grid_y * 16;
/// Device memory that `cublas` takes as its workspace for each stream: what the vendor advises for Hopper.
inline constexpr std::size_t cublas_workspace_bytes = 32 << 20;

/// Which kernel `new` runs.
enum class Path { tiled, tensor_core, legacy };
Path path_of(const Shape& shape);

/// A leaf of the K-tree over [0, tokens), and how many inner nodes are complete as soon as it is, and were
/// not before: whoever adds up the leaves in order on a stack takes that many sums off it.
struct Leaf {
  std::int64_t first;
  std::int64_t last;
  int sums_after;
};

/// The leaf that token `t` belongs to.
constexpr Leaf leaf_of(std::int64_t t, std::int64_t tokens) {
  Leaf leaf{0, tokens, 0};
  while (leaf.last - leaf.first > leaf_tokens) {
    const std::int64_t mid = leaf.first + (leaf.last - leaf.first) / 2;
    if (t < mid) {
      leaf.last = mid;
      leaf.sums_after = 0;
    } else {
      leaf.first = mid;
      ++leaf.sums_after;  // the nodes from the last turn to the left on end where this one does
    }
  }
  return leaf;
}

/// Throws std::invalid_argument unless sizes are positive, x, dy and dw neither null nor misaligned, all
/// within 64-bit addresses, and dw apart from both.
void validate(const Args& args);
/// The same for x_transposed, of the variants that use it.
void validate_transposed(const Args& args);

/// What the sum over tokens splits at: `tokens` is the K-tree. `tiles` keeps whole tiles of 32 tokens
/// together, as the tensor-core path does; the two are one where tokens are at most 32 or 32 * 2^n.
enum class Tree { tokens, tiles };

/// The definition as plain loops, whole output rows [out_first, out_last) only, so that callers may share
/// the work among threads. x: [tokens, in], dy: [tokens, out]; dw: all of [out, in].
void oracle(const Shape& shape, const std::vector<Bf16>& x, const std::vector<Bf16>& dy,
            std::int64_t out_first, std::int64_t out_last, Bf16* dw, Tree tree = Tree::tokens);

void naive_recursive(const Args& args, Stream stream);      // CUDA: transpose, 16x16 blocks, recursive K-tree
void naive_loop(const Args& args, Stream stream);           // CUDA: the same with a loop for the leaf
void tiled_outer_product(const Args& args, Stream stream);  // CUDA: 128x128 tiles, tokens staged once
void by_token_count(const Args& args, Stream stream);       // CUDA: the kernel of path_of(shape)
void register_tiles(const Args& args, Stream stream);       // CUDA: products fused where that is exact
void stream_rows(const Args& args, Stream stream);          // CUDA: the same for up to streamed_tokens
/// CUDA: the vendor's library, in its own order. The first call on a stream makes a handle and a workspace
/// for it, which stay, and must not be captured (std::runtime_error if it is); streams do not disturb each
/// other.
void cublas(const Args& args, Stream stream);
void cpu_naive(const Args& args, Stream stream);           // CPU: transpose, one element at a time
void cpu_tiled(const Args& args, Stream stream);           // CPU: 128x128 tiles of fp32 accumulators
void cpu_by_token_count(const Args& args, Stream stream);  // CPU: as by_token_count

inline constexpr Variant<Args> variants[] = {
#ifdef STRICTBENCH_HAS_CUDA
    {"legacy", Device::cuda, naive_recursive},
    {"legacy_loop", Device::cuda, naive_loop},  // up to leaf_tokens
    {"new", Device::cuda, by_token_count},
    {"tuned", Device::cuda, register_tiles},
#endif
#ifdef STRICTBENCH_HAS_CUBLAS
    {"cublas", Device::cuda, cublas},
#endif
    {"legacy", Device::cpu, cpu_naive},
    {"new", Device::cpu, cpu_by_token_count},
};

}  // namespace strictbench::dw_gemm
