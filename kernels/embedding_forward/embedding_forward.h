/// embedding_forward: out[i] = weight[ids[i]], a copy of rows, in the weight's type or widened to fp32.
///
/// No bit is lost: the widened output is the widening of the native one, and a token's row depends on nothing
/// but its id, whatever the batch, slice or padding around it. An id outside [0, vocab) reads nothing: every
/// element of its row is NaN, so that an id that no host validated shows in whatever is computed from it.
/// Source of the definition and the pair: RL-Align/RL-Kernel pull request 169.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/common/typed.h"
#include "kernels/common/variant.h"

namespace strictbench::embedding_forward {

struct Shape {
  std::int64_t tokens;
  std::int64_t vocab;
  std::int64_t hidden;
};

struct Args {
  Shape shape;
  TypedIds ids;       ///< [tokens]; ids of more dimensions come flattened
  TypedInput weight;  ///< [vocab, hidden]
  TypedOutput out;    ///< [tokens, hidden], of the weight's type or fp32
  float* table_fp32;  ///< [vocab, hidden], scratch of legacy where the weight is not fp32; null elsewhere
};

/// Throws std::invalid_argument, naming the argument, unless sizes are not negative, types fit, no needed
/// pointer is null or misaligned and out lies apart from what is read.
void validate(const Args& args);
/// The same and the scratch that legacy needs.
void validate_legacy(const Args& args);

/// For ids in host memory. Throws std::invalid_argument for the first one outside [0, vocab): its position,
/// its value and the range.
void validate_ids(const Shape& shape, const TypedIds& ids);

/// Bytes of Args::table_fp32 that legacy needs: four for each element of a table that is not fp32 already.
/// Throws std::invalid_argument where they pass 2^63, or a size is negative.
std::size_t legacy_scratch_bytes(const Shape& shape, Dtype weight);

/// Every element of the row of an id outside the range; widened, as any other.
template <class T>
constexpr T missing() {
  return rounded<T>(std::bit_cast<float>(0x7fffffffu));
}

/// The definition as plain loops, in the weight's type T (float, Bf16 or Fp16). weight: [vocab, hidden].
template <class T>
std::vector<T> oracle(const Shape& shape, const std::vector<std::int64_t>& ids,
                      const std::vector<T>& weight) {
  std::vector<T> out;
  for (const std::int64_t id : ids)
    for (std::int64_t h = 0; h < shape.hidden; ++h)
      out.push_back(id >= 0 && id < shape.vocab ? weight[static_cast<std::size_t>(id * shape.hidden + h)]
                                                : missing<T>());
  return out;
}

/// Its widened form.
template <class T>
std::vector<float> widened(const std::vector<T>& values) {
  std::vector<float> wide;
  for (const T value : values) wide.push_back(to_float(value));
  return wide;
}

void widen_table(const Args& args, Stream stream);            // CUDA: the whole table to fp32, then gathers
void gather_then_widen(const Args& args, Stream stream);      // CUDA: gathers, and widens what it gathered
void stream_rows(const Args& args, Stream stream);            // CUDA: the same, rows marked as used once
void cpu_widen_table(const Args& args, Stream stream);        // CPU: the whole table to fp32, then gathers
void cpu_gather_then_widen(const Args& args, Stream stream);  // CPU: gathers, and widens what it gathered

inline constexpr Variant<Args> variants[] = {
#ifdef STRICTBENCH_HAS_CUDA
    {"legacy", Device::cuda, widen_table},
    {"new", Device::cuda, gather_then_widen},
    {"tuned", Device::cuda, stream_rows},
#endif
    {"legacy", Device::cpu, cpu_widen_table},
    {"new", Device::cpu, cpu_gather_then_widen},
};

}  // namespace strictbench::embedding_forward
