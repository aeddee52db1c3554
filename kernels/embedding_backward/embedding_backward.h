/// embedding_backward: dweight[v] = ((+0 + grad[t0]) + grad[t1]) + ... over the positions t0 < t1 < ... with
/// ids[t] == v, each sum rounded to fp32, then one rounding to the output type.
///
/// Rows of ids that do not occur are +0. No id is special; an id outside [0, vocab) is dropped.
/// Source of the definition and the pair: RL-Align/RL-Kernel pull requests 343 and 349.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "kernels/common/dtype.h"
#include "kernels/common/variant.h"

namespace strictbench::embedding_backward {

struct Shape {
  std::int64_t tokens;
  std::int64_t vocab;
  std::int64_t hidden;
};

/// The ids in ascending order with their positions, equal ids in order of position.
struct SortedIds {
  std::int64_t* ids;        ///< [tokens]
  std::int64_t* positions;  ///< [tokens]
  void* workspace;          ///< sort_workspace_bytes(tokens), of the CUDA sort only
  std::size_t workspace_bytes;
};

struct Args {
  Shape shape;
  const std::int64_t* ids;   ///< [tokens]
  const Bf16* grad;          ///< [tokens, hidden]
  std::int64_t grad_stride;  ///< elements from one row of grad to the next, at least hidden
  Bf16* dweight;             ///< [vocab, hidden]
  SortedIds sorted;          ///< read by the segment variants, written by sort_ids
};

/// Throws std::invalid_argument unless sizes are not negative, the stride fits and no needed pointer is null.
void validate(const Args& args);

/// Throws std::invalid_argument for the first id outside [0, vocab): its position, its value and the range.
void validate_ids(const Shape& shape, const std::vector<std::int64_t>& ids);

/// The rows of dweight whose id occurs, by id; all others are +0.
using Rows = std::map<std::int64_t, std::vector<Bf16>>;

/// The definition as plain loops. ids: [tokens], grad: [tokens, hidden] contiguous.
Rows oracle(const Shape& shape, const std::vector<std::int64_t>& ids, const std::vector<Bf16>& grad);

/// A second definition, which the grid variants follow as published: tokens are taken in steps of 64, the
/// matching rows of a step are summed as a tree (strides 32, 16, ... 1, +0 where ids differ), and the steps'
/// sums are added in order.
Rows oracle_step_tree(const Shape& shape, const std::vector<std::int64_t>& ids,
                      const std::vector<Bf16>& grad);

/// Whether both definitions give the same bits: no id with more than two hits in its first step of 64, or
/// more than one in any later step.
bool orders_agree(const Shape& shape, const std::vector<std::int64_t>& ids);

inline constexpr std::int64_t step_tokens = 64;

void vocab_grid(const Args& args, Stream stream);  // CUDA: a block per output element scans all tokens
void sorted_segments(const Args& args,
                     Stream stream);                   // CUDA: walks runs of equal ids; unused rows untouched
void cpu_vocab_grid(const Args& args, Stream stream);  // CPU: every output row scans all tokens
void cpu_sorted_segments(const Args& args,
                         Stream stream);  // CPU: walks runs of equal ids; unused rows untouched

/// Fills args.sorted. The segment variants need it before, and dweight zeroed.
void sort_ids(const Args& args, Stream stream);      // CUDA
void cpu_sort_ids(const Args& args, Stream stream);  // CPU
/// Bytes of SortedIds::workspace for the CUDA sort.
std::size_t sort_workspace_bytes(std::int64_t tokens);

inline constexpr Variant<Args> variants[] = {
#ifdef STRICTBENCH_HAS_CUDA
    {"legacy", Device::cuda, vocab_grid},
    {"new", Device::cuda, sorted_segments},
#endif
    {"legacy", Device::cpu, cpu_vocab_grid},
    {"new", Device::cpu, cpu_sorted_segments},
};

}  // namespace strictbench::embedding_backward
