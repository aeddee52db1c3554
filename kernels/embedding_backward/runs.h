/// Runs of equal ids in a sorted order, as the tuned kernel's blocks see them. Included by *.cu only.
#pragma once
#include <cstdint>
#include <iterator>

#include "kernels/common/store_words.h"
#include "kernels/common/strip_fold.h"
#include "kernels/embedding_backward/embedding_backward.h"

namespace strictbench::embedding_backward {
namespace {

constexpr int threads = 128;  // of a block of any kind
constexpr int long_run = 96;  // more rows than these are a long run

template <class Grad>
inline constexpr int piece = strip::piece_bytes / static_cast<int>(sizeof(Grad));  // elements
template <class Grad>
inline constexpr int warp_columns = 32 * piece<Grad>;

template <class Grad, class Weight, class Index>
struct Job {
  Shape shape;
  const Index* ids;  // sorted
  const Index* positions;
  const Grad* grad;
  std::int64_t grad_stride;
  Weight* dweight;
  std::int64_t zeroed;  // so many rows of dweight are zeros already

  /// A negative id is a large one.
  __device__ bool in_range(Index id) const {
    return static_cast<std::uint64_t>(id) < static_cast<std::uint64_t>(shape.vocab);
  }
};

/// `n` elements as one load.
template <class Element, int n>
struct alignas(n * sizeof(Element) < 16 ? n * sizeof(Element) : 16) Several {
  Element elements[n];
};

/// Rounds `n` sums to the type of `to`, aligned to a lane's piece of its row, and stores them.
template <class Weight, int n>
__device__ void store_rounded(Weight* to, const float (&sums)[n]) {
  std::uint32_t words[n * sizeof(Weight) / sizeof(std::uint32_t)];
#pragma unroll
  for (int i = 0; i < static_cast<int>(std::size(words)); ++i) {
    if constexpr (sizeof(Weight) == 4)
      words[i] = __float_as_uint(rounded<Weight>(sums[i]));
    else
      words[i] = rounded<Weight>(sums[2 * i]).bits | std::uint32_t{rounded<Weight>(sums[2 * i + 1]).bits}
                                                         << 16;
  }
  store_words(to, words);
}

/// A warp's search among sorted ids: the first place in [low, high) whose id is not `before`, or high.
/// 32 `looks` places are looked at at once, since each look takes as long as memory does.
template <int looks, class Index, class Before>
__device__ std::int64_t first_not(const Index* ids, std::int64_t low, std::int64_t high, Before before) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  while (low < high) {
    const std::int64_t step = (high - low + 32 * looks) / (32 * looks + 1);
    Index seen[looks];
#pragma unroll
    for (int i = 0; i < looks; ++i)  // no branch, or one would wait for the other
      seen[i] = ids[min(low + (i * 32 + lane + 1) * step, high) - 1];
    int passed = 0;
#pragma unroll
    for (int i = 0; i < looks; ++i)
      passed +=
          __popc(__ballot_sync(0xffffffffu, low + (i * 32 + lane + 1) * step <= high && before(seen[i])));
    high = min(high, low + (passed + 1) * step - 1);
    low += passed * step;
  }
  return low;
}

}  // namespace
}  // namespace strictbench::embedding_backward
