/// qwen3_ffn: the feed-forward layer y = (silu(X Wg^T) * (X Wu^T)) Wd^T and its gradients, bf16 at every
/// stage.
///
/// Forward:  g = X Wg^T, u = X Wu^T, a = silu(g) * u, y = a Wd^T.
/// Backward: dWd = dW(a, dy); da = dy Wd; with s = 1 / (1 + exp(-g)): du = da * (g * s),
///           dg = (da * u) * (s * (1 + g * (1 - s))); dWg = dW(X, dg); dWu = dW(X, du); dX = dg Wg + du Wu.
/// Elementwise steps are fp32 inside and rounded once. Six of the nine matrix products take the same
/// tensor-core path in every variant (tile_tree_gemm); the variants differ in the three weight gradients
/// alone. Source of the definition and the pair: RL-Align/RL-Kernel pull request 351.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "kernels/common/dtype.h"
#include "kernels/common/variant.h"

namespace strictbench::qwen3_ffn {

struct Shape {
  std::int64_t tokens;        ///< at most max_side
  std::int64_t hidden;        ///< a multiple of 64, at most max_side
  std::int64_t intermediate;  ///< a multiple of 64, at most max_side
};

/// What every step of every variant takes on every device: a multiple of 64 within the grid of the naive
/// weight gradient, whose blocks are 16 wide.
inline constexpr std::int64_t max_side = 1048512;
/// The most elements of a matrix of activations, padding included: one thread each, in blocks of 256.
inline constexpr std::int64_t max_activations = 549755813632;

enum class Direction { forward, forward_backward };

/// Rows of activations: tokens, padded to the tensor-core path's multiple of 128.
constexpr std::int64_t padded_tokens(const Shape& shape) { return (shape.tokens + 127) / 128 * 128; }

struct Args {
  Shape shape;
  Direction direction;
  const Bf16* x;     ///< [padded, hidden], rows from `tokens` on are zero
  const Bf16* gate;  ///< Wg [intermediate, hidden]
  const Bf16* up;    ///< Wu [intermediate, hidden]
  const Bf16* down;  ///< Wd [hidden, intermediate]
  Bf16* y;           ///< [padded, hidden]; padding rows come out as zero
  Bf16* scratch;     ///< scratch_elements(shape, direction)
  // Of forward_backward only:
  const Bf16* dy;  ///< [padded, hidden], rows from `tokens` on are zero
  Bf16* dx;        ///< [padded, hidden]
  Bf16* dgate;     ///< [intermediate, hidden]
  Bf16* dup;       ///< [intermediate, hidden]
  Bf16* ddown;     ///< [hidden, intermediate]
};

/// How many bf16 elements Args::scratch holds. Throws std::invalid_argument for a shape or a direction that
/// validate() would refuse.
std::int64_t scratch_elements(const Shape& shape, Direction direction);

/// Throws std::invalid_argument unless sizes are positive, multiples and at most as above, pointers that the
/// direction needs are there and aligned to 16 bytes, and no output overlaps anything else. What passes, no
/// step refuses: there is no half of a layer.
void validate(const Args& args);

/// The results of a layer: y and, of forward_backward, the gradients. Activations without padding rows.
struct Results {
  std::vector<Bf16> y;      ///< [tokens, hidden]
  std::vector<Bf16> dx;     ///< [tokens, hidden]
  std::vector<Bf16> dgate;  ///< [intermediate, hidden]
  std::vector<Bf16> dup;    ///< [intermediate, hidden]
  std::vector<Bf16> ddown;  ///< [hidden, intermediate]
};

struct Inputs {
  std::vector<Bf16> x;     ///< [tokens, hidden]
  std::vector<Bf16> dy;    ///< [tokens, hidden]
  std::vector<Bf16> gate;  ///< [intermediate, hidden]
  std::vector<Bf16> up;    ///< [intermediate, hidden]
  std::vector<Bf16> down;  ///< [hidden, intermediate]
};

/// Calls its second argument on ranges [first, last) that together are [0, n), perhaps at the same time.
using ForRanges = std::function<void(std::int64_t n, const std::function<void(std::int64_t, std::int64_t)>&)>;

/// The definition as plain loops. Variants are held to a relative error against it: exp and the order of
/// addition inside one tensor-core instruction are the hardware's.
Results oracle(const Shape& shape, Direction direction, const Inputs& inputs, const ForRanges& for_ranges);

void legacy(const Args& args, Stream stream);  // CUDA: weight gradients by the naive kernel under 32 tokens
void tiled(const Args& args, Stream stream);   // CUDA: weight gradients by the tiled kernel under 32 tokens
void cpu_legacy(const Args& args, Stream stream);  // CPU: the same, on the operators' CPU variants
void cpu_tiled(const Args& args, Stream stream);

inline constexpr Variant<Args> variants[] = {
#ifdef STRICTBENCH_HAS_CUDA
    {"legacy", Device::cuda, legacy},
    {"new", Device::cuda, tiled},
#endif
    {"legacy", Device::cpu, cpu_legacy},
    {"new", Device::cpu, cpu_tiled},
};

}  // namespace strictbench::qwen3_ffn
