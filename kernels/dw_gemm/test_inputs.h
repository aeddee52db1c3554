/// For tests: inputs, what each variant claims on a shape, and a run of it.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "kernels/common/random.h"
#include "kernels/common/test_array.h"
#include "kernels/common/test_compare.h"
#include "kernels/dw_gemm/dw_gemm.h"
#include "kernels/tile_tree_gemm/test_matrix.h"

namespace strictbench::dw_gemm {

struct Inputs {
  std::vector<Bf16> x;
  std::vector<Bf16> dy;
};

/// Products whose sums show the order of addition: each three tokens share a row of dY, and X cancels.
inline Inputs cancelling_inputs(const Shape& shape, std::uint64_t key = random_key("dy")) {
  const std::string x = "x of " + std::to_string(key);
  Inputs inputs{.x = test::cancelling_rows(x.c_str(), shape.tokens, shape.in), .dy = {}};
  for (std::int64_t t = 0; t < shape.tokens; ++t)
    for (std::int64_t o = 0; o < shape.out; ++o)
      inputs.dy.push_back(to_bf16(random_normal(key, static_cast<std::uint64_t>(t / 3 * shape.out + o))));
  return inputs;
}

/// Products of like size: sums that are compared by tolerance keep their digits.
inline Inputs normal_inputs(const Shape& shape, std::uint64_t key = random_key("inputs")) {
  const auto some = [](std::uint64_t from, std::int64_t count) {
    std::vector<Bf16> values;
    for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(count); ++i)
      values.push_back(to_bf16(random_normal(from, i)));
    return values;
  };
  return {.x = some(key, shape.tokens * shape.in), .dy = some(mix(key), shape.tokens * shape.out)};
}

/// X and dY by row and column.
inline Inputs inputs_of(const Shape& shape, const tile_tree_gemm::Values& x,
                        const tile_tree_gemm::Values& dy) {
  Inputs inputs;
  for (std::int64_t t = 0; t < shape.tokens; ++t) {
    for (std::int64_t i = 0; i < shape.in; ++i) inputs.x.push_back(to_bf16(x(t, i)));
    for (std::int64_t o = 0; o < shape.out; ++o) inputs.dy.push_back(to_bf16(dy(t, o)));
  }
  return inputs;
}

/// Exact in any order inside a leaf or a tile, on tensor cores too; roundings and the tree show.
inline Inputs wide_integer_inputs(const Shape& shape, std::uint64_t key) {
  return inputs_of(shape, tile_tree_gemm::wide_integers(key), tile_tree_gemm::wide_integers(mix(key)));
}

/// NaN, infinities, zeros of both signs and, with a unit of 2^-133, subnormals; exact as above.
inline Inputs special_inputs(const Shape& shape, std::uint64_t key, float unit) {
  const auto one_in = static_cast<std::uint64_t>(2 * shape.tokens);
  return inputs_of(shape, tile_tree_gemm::special_values(key, unit, one_in),
                   tile_tree_gemm::special_values(mix(key), 1.0f, one_in));
}

inline std::vector<Bf16> whole_oracle(const Shape& shape, const Inputs& inputs, Tree tree = Tree::tokens) {
  std::vector<Bf16> dw(static_cast<std::size_t>(shape.out * shape.in));
  oracle(shape, inputs.x, inputs.dy, 0, shape.out, dw.data(), tree);
  return dw;
}

/// Whether this machine has the variant's device, and the variant takes so many tokens.
inline bool can_run(const Variant<Args>& variant, const Shape& shape) {
  const auto devices = test::devices();
  return std::find(devices.begin(), devices.end(), variant.device) != devices.end() &&
         (variant.name != "legacy_loop" || shape.tokens <= leaf_tokens);
}

/// Whether the variant has an oracle's bits on this shape: all but the vendor's and what tensor cores sum.
inline bool is_strict(const Variant<Args>& variant, const Shape& shape) {
  if (variant.name == "cublas") return false;
  return variant.name != "new" || variant.device == Device::cpu || path_of(shape) != Path::tensor_core;
}

/// The definition that a strict variant follows on this shape.
inline Tree tree(const Variant<Args>& variant, const Shape& shape) {
  return variant.name == "new" && path_of(shape) == Path::tensor_core ? Tree::tiles : Tree::tokens;
}

/// Tensor cores leave the sign of a zero to the hardware.
inline test::Zeros zeros(const Variant<Args>& variant, const Shape& shape) {
  return is_strict(variant, shape) ? test::Zeros::keep_their_sign : test::Zeros::are_one;
}

inline bool uses_transposed(const Variant<Args>& variant, const Shape& shape) {
  if (variant.name == "cublas" || variant.name == "tuned") return false;
  return variant.name != "new" || path_of(shape) == Path::legacy;
}

inline std::vector<Bf16> run(const Variant<Args>& variant, const Shape& shape, const Inputs& inputs) {
  test::Array<Bf16> x(variant.device, inputs.x);
  test::Array<Bf16> dy(variant.device, inputs.dy);
  test::Array<Bf16> dw(variant.device, static_cast<std::size_t>(shape.out * shape.in));
  test::Array<Bf16> transposed(variant.device, inputs.x.size());
  Bf16* const scratch = uses_transposed(variant, shape) ? transposed.data() : nullptr;
  variant.launch({shape, x.data(), dy.data(), dw.data(), scratch}, nullptr);
  return dw.values();
}

inline std::string text(const Variant<Args>& variant, const Shape& shape) {
  return std::string(variant.name) + " on " + test::text(variant.device) + ", " +
         std::to_string(shape.tokens) + " tokens, " + std::to_string(shape.in) + " x " +
         std::to_string(shape.out);
}

}  // namespace strictbench::dw_gemm
