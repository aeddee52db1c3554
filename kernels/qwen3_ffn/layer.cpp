#include "kernels/qwen3_ffn/layer.h"

#include <algorithm>
#include <string>
#include <vector>

#include "kernels/common/require.h"

namespace strictbench::qwen3_ffn {
namespace {

/// Where the intermediate results lie in Args::scratch.
struct Scratch {
  Bf16* g;
  Bf16* u;
  Bf16* a;
  Bf16* da;
  Bf16* dg;
  Bf16* du;
  Bf16* dx_gate;
  Bf16* dx_up;
  Bf16* transposed;  // of the weight gradients
  std::int64_t elements;
};

Scratch carve(Bf16* from, const Shape& shape, Direction direction) {
  const std::int64_t wide = padded_tokens(shape) * shape.intermediate;
  const std::int64_t narrow = padded_tokens(shape) * shape.hidden;
  std::int64_t used = 0;
  const auto take = [&](std::int64_t count) {
    Bf16* const at = from == nullptr ? nullptr : from + used;
    used += count;
    return at;
  };
  Scratch s{};
  s.g = take(wide);
  s.u = take(wide);
  s.a = take(wide);
  if (direction == Direction::forward_backward) {
    s.da = take(wide);
    s.dg = take(wide);
    s.du = take(wide);
    s.dx_gate = take(narrow);
    s.dx_up = take(narrow);
    s.transposed = take(std::max(wide, narrow));
  }
  s.elements = used;
  return s;
}

// What passes validate() fits every step.
static_assert(max_side % 64 == 0 && max_side <= tile_tree_gemm::max_k && max_side <= dw_gemm::naive_side &&
              padded_tokens({.tokens = max_side, .hidden = 0, .intermediate = 0}) <= tile_tree_gemm::max_m &&
              max_side <= tile_tree_gemm::max_n && max_activations == grid_x * 256);

void validate(const Shape& shape, Direction direction) {
  const auto& [tokens, hidden, intermediate] = shape;
  require(tokens > 0, "qwen3_ffn: shape.tokens must be positive");
  require(hidden > 0 && hidden % 64 == 0, "qwen3_ffn: shape.hidden must be a positive multiple of 64");
  require(intermediate > 0 && intermediate % 64 == 0,
          "qwen3_ffn: shape.intermediate must be a positive multiple of 64");
  require(tokens <= max_side, "qwen3_ffn: shape.tokens must be at most 1048512");
  require(hidden <= max_side, "qwen3_ffn: shape.hidden must be at most 1048512");
  require(intermediate <= max_side, "qwen3_ffn: shape.intermediate must be at most 1048512");
  // From here on no product of two sizes, and no sum of ten such products, passes 2^44.
  require(padded_tokens(shape) * hidden <= max_activations,
          "qwen3_ffn: padded tokens * shape.hidden must be at most 549755813632");
  require(padded_tokens(shape) * intermediate <= max_activations,
          "qwen3_ffn: padded tokens * shape.intermediate must be at most 549755813632");
  require(direction == Direction::forward || direction == Direction::forward_backward,
          "qwen3_ffn: direction must be forward or forward_backward");
}

tile_tree_gemm::Operand row_major(const Bf16* data, std::int64_t cols) { return {data, cols, 1}; }
/// The transpose of a row-major matrix of `cols` columns.
tile_tree_gemm::Operand transposed(const Bf16* data, std::int64_t cols) { return {data, 1, cols}; }

}  // namespace

std::int64_t scratch_elements(const Shape& shape, Direction direction) {
  validate(shape, direction);
  return carve(nullptr, shape, direction).elements;
}

void validate(const Args& args) {
  validate(args.shape, args.direction);
  const auto& [tokens, hidden, intermediate] = args.shape;
  const bool backward = args.direction == Direction::forward_backward;

  struct Buffer {
    std::string name;
    const Bf16* data;
    std::int64_t elements;
    bool written;
  };
  const std::int64_t activations = padded_tokens(args.shape) * hidden;
  const std::int64_t weights = intermediate * hidden;
  std::vector<Buffer> buffers{{"x", args.x, activations, false},
                              {"gate", args.gate, weights, false},
                              {"up", args.up, weights, false},
                              {"down", args.down, weights, false},
                              {"y", args.y, activations, true},
                              {"scratch", args.scratch, scratch_elements(args.shape, args.direction), true}};
  if (backward)
    for (Buffer& buffer : std::vector<Buffer>{{"dy", args.dy, activations, false},
                                              {"dx", args.dx, activations, true},
                                              {"dgate", args.dgate, weights, true},
                                              {"dup", args.dup, weights, true},
                                              {"ddown", args.ddown, weights, true}})
      buffers.push_back(std::move(buffer));
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const auto& [name, data, elements, written] = buffers[i];
    require(data != nullptr, ("qwen3_ffn: " + name + " must not be null").c_str());
    require_aligned(data, 16, ("qwen3_ffn: " + name + " must be aligned to 16 bytes").c_str());
    for (std::size_t j = 0; j < i; ++j) {
      if (!written && !buffers[j].written) continue;
      const std::string rule = "qwen3_ffn: " + name + " and " + buffers[j].name + " must not overlap";
      require_apart({data, static_cast<std::size_t>(elements) * sizeof(Bf16)},
                    {buffers[j].data, static_cast<std::size_t>(buffers[j].elements) * sizeof(Bf16)},
                    rule.c_str());
    }
  }
}

void run_layer(const Args& args, const Steps& steps, Stream stream) {
  validate(args);
  const auto& [tokens, hidden, intermediate] = args.shape;
  const std::int64_t rows = padded_tokens(args.shape);
  const std::int64_t wide = rows * intermediate;
  const Scratch s = carve(args.scratch, args.shape, args.direction);

  const auto to_intermediate = [&](tile_tree_gemm::Operand a, tile_tree_gemm::Operand b, Bf16* c) {
    steps.gemm({.m = rows, .n = intermediate, .k = hidden, .a = a, .b = b, .c = c}, stream);
  };
  const auto to_hidden = [&](tile_tree_gemm::Operand a, tile_tree_gemm::Operand b, Bf16* c) {
    steps.gemm({.m = rows, .n = hidden, .k = intermediate, .a = a, .b = b, .c = c}, stream);
  };
  const auto weight_gradient = [&](const Bf16* x, std::int64_t in, const Bf16* dy, std::int64_t out,
                                   Bf16* dw) {
    steps.weight_gradient({.shape = {.tokens = tokens, .in = in, .out = out},
                           .x = x,
                           .dy = dy,
                           .dw = dw,
                           .x_transposed = s.transposed},
                          stream);
  };

  to_intermediate(row_major(args.x, hidden), transposed(args.gate, hidden), s.g);
  to_intermediate(row_major(args.x, hidden), transposed(args.up, hidden), s.u);
  steps.activate({.count = wide, .g = s.g, .u = s.u, .a = s.a}, stream);
  to_hidden(row_major(s.a, intermediate), transposed(args.down, intermediate), args.y);
  if (args.direction == Direction::forward) return;

  weight_gradient(s.a, intermediate, args.dy, hidden, args.ddown);
  to_intermediate(row_major(args.dy, hidden), row_major(args.down, intermediate), s.da);
  steps.activate_gradient({.count = wide, .g = s.g, .u = s.u, .da = s.da, .dg = s.dg, .du = s.du}, stream);
  weight_gradient(args.x, hidden, s.dg, intermediate, args.dgate);
  weight_gradient(args.x, hidden, s.du, intermediate, args.dup);
  to_hidden(row_major(s.dg, intermediate), row_major(args.gate, hidden), s.dx_gate);
  to_hidden(row_major(s.du, intermediate), row_major(args.up, hidden), s.dx_up);
  steps.add({.count = rows * hidden, .left = s.dx_gate, .right = s.dx_up, .sum = args.dx}, stream);
}

}  // namespace strictbench::qwen3_ffn
