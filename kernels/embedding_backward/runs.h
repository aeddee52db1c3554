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
/// first `near` ones after `low`, for a place that is probably near, and others over all the rest, up to the
/// last one: a run that ends the order is known at once.
template <int looks, int near = 0, class Index, class Before>
__device__ int first_not(const Index* ids, int low, int high, Before before) {
  static_assert(near < 32 * looks);
  constexpr int far = 32 * looks - near;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  while (low < high) {
    const int step = (max(high - low - near, 0) + far - 1) / far;
    // How many places the look-th look and those before it tell of, in ascending order; then it is `high`.
    const auto told = [&](int look) {
      return min(low + (look <= near ? look : near + (look - near) * step), high);
    };
    Index seen[looks];
#pragma unroll
    for (int i = 0; i < looks; ++i)  // no branch, or one would wait for the other
      seen[i] = ids[told(i * 32 + lane + 1) - 1];
    int passed = 0;
#pragma unroll
    for (int i = 0; i < looks; ++i) passed += __popc(__ballot_sync(0xffffffffu, before(seen[i])));
    if (passed == 32 * looks) return high;
    high = told(passed + 1) - 1;
    low = told(passed);
  }
  return low;
}

}  // namespace
}  // namespace strictbench::embedding_backward
