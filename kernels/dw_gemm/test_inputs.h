/// For tests: inputs, what each variant claims on a shape, and a run of it.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "kernels/common/random.h"
#include "kernels/common/test_array.h"
#include "kernels/dw_gemm/dw_gemm.h"

namespace strictbench::dw_gemm {

struct Inputs {
  std::vector<Bf16> x;
  std::vector<Bf16> dy;
};

/// Products whose sums show the order of addition: each three tokens share a row of dY, and X cancels.
inline Inputs cancelling_inputs(const Shape& shape) {
  const auto key = random_key("dy");
  Inputs inputs{.x = test::cancelling_rows("x", shape.tokens, shape.in), .dy = {}};
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

inline bool uses_transposed(const Variant<Args>& variant, const Shape& shape) {
  if (variant.name == "cublas") return false;
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
