/// embedding_backward: dweight[v] = ((+0 + grad[t0]) + grad[t1]) + ... over the positions t0 < t1 < ... with
/// ids[t] == v, each sum rounded to fp32, then one rounding to the output type.
///
/// Rows of ids that do not occur are +0. No id is special; an id outside [0, vocab) is dropped. In the
/// canonical form each row has a key: rows go in ascending order of key, equal keys in order of position, and
/// rows with a negative key are dropped, so any permutation or chunking of the same keyed rows gives the same
/// bits. Source of the definition and the pair: RL-Align/RL-Kernel pull requests 343 and 349.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "kernels/common/typed.h"
#include "kernels/common/variant.h"

namespace strictbench::embedding_backward {

struct Shape {
  std::int64_t tokens;
  std::int64_t vocab;
  std::int64_t hidden;
};

/// The ids in ascending order with their positions: equal ids in order of position, or of key and then
/// position.
struct SortedIds {
  std::int64_t* ids;        ///< [tokens]
  std::int64_t* positions;  ///< [tokens]
  void* workspace;          ///< sort_workspace_bytes(tokens), of the CUDA sorts only
  std::size_t workspace_bytes;
};

struct Args {
  Shape shape;
  TypedIds ids;              ///< [tokens]; ids of more dimensions come flattened
  TypedInput grad;           ///< [tokens, hidden]
  std::int64_t grad_stride;  ///< elements from one row of grad to the next, at least hidden
  TypedOutput dweight;       ///< [vocab, hidden], of any type whatever grad's is
  SortedIds sorted;          ///< read by the segment variants, written by the sorts
};

/// Throws std::invalid_argument, naming the argument, unless sizes are not negative, types are known, the
/// stride fits, no needed pointer is null or misaligned and dweight lies apart from what is read.
void validate(const Args& args);
/// The same and `sorted`, which the segment variants read.
void validate_sorted(const Args& args);
/// The same for a sort, which writes `sorted`. `keys` may be null.
void validate_sort(const Args& args, const std::int64_t* keys);

/// For ids in host memory. Throws std::invalid_argument for the first one outside [0, vocab): its position,
/// its value and the range.
void validate_ids(const Shape& shape, const TypedIds& ids);

/// Rows of dweight by id, before the one rounding to the output type (`rounded<T>`); all others are +0.
using Sums = std::map<std::int64_t, std::vector<float>>;

/// The definition as plain loops. ids: [tokens], grad: [tokens, hidden] contiguous, widened to fp32.
Sums oracle(const Shape& shape, const std::vector<std::int64_t>& ids, const std::vector<float>& grad);

/// A second definition, which the grid variants follow as published: tokens are taken in steps of 64, the
/// matching rows of a step are summed as a tree (strides 32, 16, ... 1, +0 where ids differ), and the steps'
/// sums are added in order.
Sums oracle_step_tree(const Shape& shape, const std::vector<std::int64_t>& ids,
                      const std::vector<float>& grad);

/// Whether both definitions give the same bits: no id with more than two hits in its first step of 64, or
/// more than one in any later step.
bool orders_agree(const Shape& shape, const std::vector<std::int64_t>& ids);

/// The canonical form's order: the positions whose key is not negative, by key, equal keys by position.
std::vector<std::int64_t> canonical_order(const std::vector<std::int64_t>& keys);

inline constexpr std::int64_t step_tokens = 64;

void vocab_grid(const Args& args, Stream stream);  // CUDA: a block per output element scans all tokens
void sorted_segments(const Args& args,
                     Stream stream);  // CUDA: walks runs of equal ids; unused rows untouched
void hot_and_cold_runs(const Args& args, Stream stream);  // CUDA: long runs by strips, short ones by warps
void cpu_vocab_grid(const Args& args, Stream stream);     // CPU: every output row scans all tokens
void cpu_sorted_segments(const Args& args,
                         Stream stream);  // CPU: walks runs of equal ids; unused rows untouched

/// Fills args.sorted. The segment variants need it before, and dweight zeroed.
void sort_ids(const Args& args, Stream stream);      // CUDA
void cpu_sort_ids(const Args& args, Stream stream);  // CPU
/// The same by the canonical form. keys: [tokens], any int64. Ids of dropped rows become -1.
void sort_ids_by_key(const Args& args, const std::int64_t* keys, Stream stream);      // CUDA
void cpu_sort_ids_by_key(const Args& args, const std::int64_t* keys, Stream stream);  // CPU
/// Bytes of SortedIds::workspace for the CUDA sorts. Throws std::invalid_argument for a number of tokens that
/// is negative or that they do not take.
std::size_t sort_workspace_bytes(std::int64_t tokens);

/// The same order in 32 bits, where tokens and vocab fit them.
struct NarrowOrder {
  const std::uint32_t* ids;        ///< [tokens]; those outside [0, vocab) are `vocab`, and last
  const std::uint32_t* positions;  ///< [tokens]
};
/// CUDA: sorts by the bits alone that ids in [0, vocab) have. What it returns lies in args.sorted, which
/// holds no order of int64 then. Throws std::invalid_argument unless tokens and vocab are below 2^31 and 2^32
/// - 1.
NarrowOrder sort_ids_narrow(const Args& args, Stream stream);

void hot_and_cold_whole(const Args& args, Stream stream);  // CUDA: sorts, adds runs and zeroes other rows
void sorted_whole(const Args& args, Stream stream);        // CUDA: zeroes dweight, sorts, walks the runs
void cpu_sorted_whole(const Args& args, Stream stream);    // CPU: the same

/// The backward kernel alone, as published: what it needs sorted and zeroed comes from outside.
inline constexpr Variant<Args> variants[] = {
#ifdef STRICTBENCH_HAS_CUDA
    {"legacy", Device::cuda, vocab_grid},       {"new", Device::cuda, sorted_segments},
    {"tuned", Device::cuda, hot_and_cold_runs},
#endif
    {"legacy", Device::cpu, cpu_vocab_grid},    {"new", Device::cpu, cpu_sorted_segments},
};

/// The whole backward, from ids and gradients to every element of dweight.
inline constexpr Variant<Args> whole_variants[] = {
#ifdef STRICTBENCH_HAS_CUDA
    {"legacy", Device::cuda, vocab_grid},        {"new", Device::cuda, sorted_whole},
    {"tuned", Device::cuda, hot_and_cold_whole},
#endif
    {"legacy", Device::cpu, cpu_vocab_grid},     {"new", Device::cpu, cpu_sorted_whole},
};

}  // namespace strictbench::embedding_backward
