/// A stable sort of up to `most_merged` ids in at most two launches: a block sorts each chunk, then every id
/// counts how many ids of the other chunks come before it. Included by *.cu only.
///
/// What bounds it is latency: of launches and of loads that wait for each other, not bytes. An id and its
/// place in the chunk share a word, so the sort moves one array; the search for a place goes to memory
/// for its last four steps alone, among 16 ids, and sees samples in shared memory before.
///
/// Tried and did not pay (H200, us by ten launches in a graph, 151,936 ids, uniform): CUB's device-wide sort
/// of pairs takes 34.1 for 32,768 ids and 6.6 for 512, this 13.5 and 2.8; searching in global memory alone
/// 21.7; eight chunks at a time instead of four 15.4; chunks of 4,096 12.9, but 10.1 instead of 7.7 for 8,192
/// ids; 4 or 5 bits a pass instead of 6, for 512 ids 3.3 and 3.0.
#pragma once
#include <cstdint>
#include <cub/block/block_radix_sort.cuh>

namespace strictbench::embedding_backward {
namespace {

constexpr int place_bits = 12;  // of an id's word: its place in the chunk
constexpr int sample = 16;      // ids, of which the search sees the last one first
constexpr int most_chunks = 32;
constexpr int at_once = 4;  // chunks

/// A chunk is what a block sorts: `items` ids a thread.
template <int threads_, int items_>
struct Chunks {
  static constexpr int threads = threads_;
  static constexpr int items = items_;
  static constexpr int ids = threads * items;
  static_assert(ids <= 1 << place_bits && ids % sample == 0);
};
using SmallChunks = Chunks<128, 4>;
using LargeChunks = Chunks<256, 8>;
constexpr std::int64_t most_small = 8 * SmallChunks::ids;
constexpr std::int64_t most_merged = most_chunks * LargeChunks::ids;

struct Order {
  std::uint32_t* ids;
  std::uint32_t* positions;
};

/// Sorts each chunk; ids outside [0, vocab) become `vocab`. What it finds goes to `words`, whole chunks of
/// them, each an id and its place, or, where there is one chunk, straight to `order`.
template <class Chunk, class Id>
__global__ void __launch_bounds__(Chunk::threads)
    sort_chunks(const Id* ids, int tokens, std::uint32_t vocab, int id_bits, std::uint32_t* words,
                Order order) {
  using Sort = cub::BlockRadixSort<std::uint32_t, Chunk::threads, Chunk::items, cub::NullType, 6>;
  __shared__ typename Sort::TempStorage storage;
  const int thread = static_cast<int>(threadIdx.x);
  const int first = static_cast<int>(blockIdx.x) * Chunk::ids;
  std::uint32_t found[Chunk::items];
#pragma unroll
  for (int i = 0; i < Chunk::items; ++i) {
    const int place = thread * Chunk::items + i;
    found[i] = ~0u;  // behind all
    if (first + place >= tokens) continue;
    const std::int64_t id = ids[first + place];
    found[i] = (id >= 0 && id < vocab ? static_cast<std::uint32_t>(id) : vocab) << place_bits |
               static_cast<std::uint32_t>(place);
  }
  Sort(storage).SortBlockedToStriped(found, place_bits, place_bits + id_bits);
#pragma unroll
  for (int i = 0; i < Chunk::items; ++i) {
    const int at = first + i * Chunk::threads + thread;
    if (gridDim.x > 1) {
      words[at] = found[i];
    } else if (at < tokens) {
      order.ids[at] = found[i] >> place_bits;
      order.positions[at] = found[i] & ((1u << place_bits) - 1);
    }
  }
}

/// A thread takes one id to its place in the whole order: behind the smaller ones of every chunk, and behind
/// its equals of the chunks before its own.
template <class Chunk>
__global__ void __launch_bounds__(Chunk::threads)
    merge_chunks(const std::uint32_t* words, int tokens, int chunks, Order order) {
  constexpr int samples = Chunk::ids / sample;  // of a chunk
  __shared__ std::uint32_t sampled[most_chunks * samples];
  for (int i = static_cast<int>(threadIdx.x); i < chunks * samples; i += Chunk::threads)
    sampled[i] = words[i * sample + sample - 1];
  __syncthreads();
  const int at = static_cast<int>(blockIdx.x * Chunk::threads + threadIdx.x);
  if (at >= tokens) return;
  const int own = at / Chunk::ids;
  const std::uint32_t word = words[at];
  const std::uint32_t id = word >> place_bits;
  int place = at % Chunk::ids;
  for (int first = 0; first < chunks; first += at_once) {  // several under way at once
    std::uint32_t end[at_once];                            // words below this one come before
    int before[at_once] = {};
    int chunk[at_once];
#pragma unroll
    for (int k = 0; k < at_once; ++k) {
      chunk[k] = min(first + k, chunks - 1);
      const bool other = first + k < chunks && first + k != own;
      end[k] = other ? id + (first + k < own ? 1 : 0) << place_bits : 0;
    }
#pragma unroll
    for (int step = samples / 2; step > 0; step /= 2)
#pragma unroll
      for (int k = 0; k < at_once; ++k)
        if (sampled[chunk[k] * samples + before[k] + step - 1] < end[k]) before[k] += step;
#pragma unroll
    for (int k = 0; k < at_once; ++k)
      before[k] = sample * (before[k] + (sampled[chunk[k] * samples + before[k]] < end[k] ? 1 : 0));
#pragma unroll
    for (int step = sample / 2; step > 0; step /= 2)
#pragma unroll
      for (int k = 0; k < at_once; ++k) {
        const int seen = before[k] + step - 1;
        if (seen < Chunk::ids && words[chunk[k] * Chunk::ids + seen] < end[k]) before[k] += step;
      }
#pragma unroll
    for (int k = 0; k < at_once; ++k) place += before[k];
  }
  order.ids[place] = id;
  order.positions[place] = static_cast<std::uint32_t>(own) * Chunk::ids + (word & ((1u << place_bits) - 1));
}

}  // namespace
}  // namespace strictbench::embedding_backward
