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
  int long_run;  // more rows than these are a long run

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

/// A warp's search among sorted ids: the first place in [low, high) whose id is not `before`, or high. At
/// most 2^30 ids. 32 `looks` places are looked at at once, since each look takes as long as memory does: the
/// first `near` ones after `low`, for a place that is probably near, and others over all the rest.
template <int looks, int near = 0, class Index, class Before>
__device__ int first_not(const Index* ids, int low, int high, Before before) {
  static_assert(near < 32 * looks);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  while (low < high) {
    // So that the looks part all answers into shares of at most `step`.
    const int step = max(high - low - near, 0) / (32 * looks - near + 1) + 1;
    const auto behind = [&](int look) { return look <= near ? look : near + (look - near) * step; };
    Index seen[looks];
#pragma unroll
    for (int i = 0; i < looks; ++i)  // no branch, or one would wait for the other
      seen[i] = ids[min(low + behind(i * 32 + lane + 1), high) - 1];
    int passed = 0;
#pragma unroll
    for (int i = 0; i < looks; ++i)
      passed +=
          __popc(__ballot_sync(0xffffffffu, low + behind(i * 32 + lane + 1) <= high && before(seen[i])));
    high = min(high, low + behind(passed + 1) - 1);
    low += behind(passed);
  }
  return low;
}

}  // namespace
}  // namespace strictbench::embedding_backward
