/// What the segment variants read: ids in ascending order with their positions, by CUB's stable radix sort.
///
/// Small inputs are bounded by launches (CUB sorts up to a few thousand pairs in one), large ones by a
/// pass for each byte of an id: eight over 16 bytes a token, or of the narrow order those that the vocabulary
/// has, over 8. Up to 65,536 ids of fewer than 2^19 rows go by chunks instead in the narrow order
/// (chunk_sort.h).
#include <algorithm>
#include <bit>
#include <cub/device/device_radix_sort.cuh>
#include <limits>

#include "kernels/common/cuda_error.h"
#include "kernels/common/require.h"
#include "kernels/embedding_backward/chunk_sort.h"
#include "kernels/embedding_backward/embedding_backward.h"

namespace strictbench::embedding_backward {
namespace {

constexpr int threads = 256;

__device__ std::int64_t element() { return std::int64_t{blockIdx.x} * threads + threadIdx.x; }

__global__ void __launch_bounds__(threads) count_up(std::int64_t* to, std::int64_t n) {
  const std::int64_t i = element();
  if (i < n) to[i] = i;
}

/// The same beside the ids as int64.
__global__ void __launch_bounds__(threads)
    count_up_and_widen(std::int64_t* to, std::int64_t* wide_ids, const std::int32_t* ids, std::int64_t n) {
  const std::int64_t i = element();
  if (i >= n) return;
  to[i] = i;
  wide_ids[i] = ids[i];
}

/// The same in 32 bits; ids outside [0, vocab) become `vocab`.
template <class Id>
__global__ void __launch_bounds__(threads)
    count_up_and_clamp(std::uint32_t* to, std::uint32_t* clamped, const Id* ids, std::int64_t n,
                       std::int64_t vocab) {
  const std::int64_t i = element();
  if (i >= n) return;
  to[i] = static_cast<std::uint32_t>(i);
  const std::int64_t id = ids[i];
  clamped[i] = static_cast<std::uint32_t>(id >= 0 && id < vocab ? id : vocab);
}

/// Rows in order of key: their ids, -1 where the key is negative, and their positions.
template <class Id>
__global__ void __launch_bounds__(threads)
    gather_ids(const std::int64_t* sorted_keys, const std::int64_t* order, const Id* ids, std::int64_t n,
               std::int64_t* ordered_ids, std::int64_t* ordered_positions) {
  const std::int64_t i = element();
  if (i >= n) return;
  const std::int64_t t = order[i];
  ordered_ids[i] = sorted_keys[i] < 0 ? std::int64_t{-1} : std::int64_t{ids[t]};
  ordered_positions[i] = t;
}

/// The workspace holds two arrays of int64 first, each [tokens], then CUB's own space.
std::size_t array_bytes(std::int64_t tokens) {
  return static_cast<std::size_t>(ceil_div(tokens * static_cast<std::int64_t>(sizeof(std::int64_t)), 256) *
                                  256);
}

template <class Key>
std::size_t cub_bytes(std::int64_t tokens) {
  std::size_t bytes = 0;
  const Key* in = nullptr;
  Key* out = nullptr;
  cuda_check(cub::DeviceRadixSort::SortPairs(nullptr, bytes, in, out, in, out, tokens));
  return bytes;
}

/// Of the wide and of the narrow sort, whichever needs more.
std::size_t cub_bytes(std::int64_t tokens) {
  return std::max(cub_bytes<std::int64_t>(tokens), cub_bytes<std::uint32_t>(tokens));
}

struct Workspace {
  std::int64_t* first;
  std::int64_t* second;
  void* cub;
  std::size_t cub_bytes;
};

Workspace divide(const Args& args) {
  const std::int64_t tokens = args.shape.tokens;
  const std::size_t needed = cub_bytes(tokens);
  require(args.sorted.workspace != nullptr && args.sorted.workspace_bytes >= 2 * array_bytes(tokens) + needed,
          "embedding_backward: sorted.workspace must hold sort_workspace_bytes(shape.tokens)");
  require_aligned(args.sorted.workspace, sizeof(std::int64_t),
                  "embedding_backward: sorted.workspace must be aligned to 8 bytes");
  auto* const bytes = static_cast<std::byte*>(args.sorted.workspace);
  return {.first = reinterpret_cast<std::int64_t*>(bytes),
          .second = reinterpret_cast<std::int64_t*>(bytes + array_bytes(tokens)),
          .cub = bytes + 2 * array_bytes(tokens),
          .cub_bytes = needed};
}

unsigned blocks_for(std::int64_t tokens) {
  return grid_blocks(tokens, threads, grid_x, "embedding_backward: shape.tokens must fit a grid");
}

/// Stable, ascending.
void sort_pairs(const Args& args, Workspace space, const std::int64_t* keys, const std::int64_t* values,
                Stream stream) {
  cuda_check(cub::DeviceRadixSort::SortPairs(space.cub, space.cub_bytes, keys, args.sorted.ids, values,
                                             args.sorted.positions, args.shape.tokens, 0,
                                             8 * sizeof(std::int64_t), stream));
}

/// Stable, ascending, by the lowest `bits` bits.
template <class Id>
void sort_pairs_narrow(const Args& args, Workspace space, Order order, int bits, Stream stream) {
  const std::int64_t tokens = args.shape.tokens;
  auto* const counted = reinterpret_cast<std::uint32_t*>(space.first);
  auto* const clamped = reinterpret_cast<std::uint32_t*>(space.second);
  count_up_and_clamp<<<blocks_for(tokens), threads, 0, stream>>>(counted, clamped, args.ids.as<Id>(), tokens,
                                                                 args.shape.vocab);
  check_launch();
  cuda_check(cub::DeviceRadixSort::SortPairs(space.cub, space.cub_bytes, clamped, order.ids, counted,
                                             order.positions, tokens, 0, bits, stream));
}

/// The same by chunks. tokens: at most most_merged; an id and a place in its chunk fit a word.
template <class Chunk, class Id>
void merge_sort(const Args& args, Workspace space, Order order, int bits, Stream stream) {
  const auto tokens = static_cast<int>(args.shape.tokens);
  const int chunks = ceil_div(tokens, Chunk::ids);
  auto* const words = reinterpret_cast<std::uint32_t*>(space.first);  // whole chunks of them fit
  sort_chunks<Chunk><<<static_cast<unsigned>(chunks), Chunk::threads, 0, stream>>>(
      args.ids.as<Id>(), tokens, static_cast<std::uint32_t>(args.shape.vocab), bits, words, order);
  check_launch();
  if (chunks == 1) return;
  merge_chunks<Chunk><<<static_cast<unsigned>(ceil_div(tokens, Chunk::threads)), Chunk::threads, 0, stream>>>(
      words, tokens, chunks, order);
  check_launch();
}

template <class Id>
void launch_gather(const Args& args, const Workspace& space, Stream stream) {
  gather_ids<<<blocks_for(args.shape.tokens), threads, 0, stream>>>(args.sorted.ids, args.sorted.positions,
                                                                    args.ids.as<Id>(), args.shape.tokens,
                                                                    space.first, space.second);
  check_launch();
}

}  // namespace

std::size_t sort_workspace_bytes(std::int64_t tokens) {
  require(tokens >= 0, "embedding_backward: shape.tokens must not be negative");
  blocks_for(tokens);  // at most 2^39, so that no product below comes near 2^63
  return 2 * array_bytes(tokens) + cub_bytes(tokens);
}

void sort_ids(const Args& args, Stream stream) {
  validate_sort(args, nullptr);
  const std::int64_t tokens = args.shape.tokens;
  if (tokens == 0) return;
  const unsigned blocks = blocks_for(tokens);
  const Workspace space = divide(args);
  if (args.ids.type == IdType::int64) {
    count_up<<<blocks, threads, 0, stream>>>(space.first, tokens);
    check_launch();
    sort_pairs(args, space, args.ids.as<std::int64_t>(), space.first, stream);
  } else {
    count_up_and_widen<<<blocks, threads, 0, stream>>>(space.first, space.second, args.ids.as<std::int32_t>(),
                                                       tokens);
    check_launch();
    sort_pairs(args, space, space.second, space.first, stream);
  }
}

NarrowOrder sort_ids_narrow(const Args& args, Stream stream) {
  validate_sort(args, nullptr);
  const std::int64_t tokens = args.shape.tokens;
  require(tokens < (std::int64_t{1} << 31) && args.shape.vocab < std::numeric_limits<std::uint32_t>::max(),
          "embedding_backward: the narrow sort takes shape.tokens below 2^31 and shape.vocab below 2^32 - 1");
  const Order order{.ids = reinterpret_cast<std::uint32_t*>(args.sorted.ids),
                    .positions = reinterpret_cast<std::uint32_t*>(args.sorted.positions)};
  if (tokens == 0) return {order.ids, order.positions};
  const Workspace space = divide(args);
  const int bits = std::bit_width(static_cast<std::uint64_t>(args.shape.vocab));
  with_type(args.ids.type, [&]<class Id>() {
    if (tokens > most_merged || bits + place_bits >= 32)
      sort_pairs_narrow<Id>(args, space, order, bits, stream);
    else if (tokens <= most_small)
      merge_sort<SmallChunks, Id>(args, space, order, bits, stream);
    else
      merge_sort<LargeChunks, Id>(args, space, order, bits, stream);
  });
  return {order.ids, order.positions};
}

void sort_ids_by_key(const Args& args, const std::int64_t* keys, Stream stream) {
  require(keys != nullptr || args.shape.tokens == 0, "embedding_backward: keys must not be null");
  validate_sort(args, keys);
  const std::int64_t tokens = args.shape.tokens;
  if (tokens == 0) return;
  const unsigned blocks = blocks_for(tokens);
  const Workspace space = divide(args);
  count_up<<<blocks, threads, 0, stream>>>(space.first, tokens);
  check_launch();
  sort_pairs(args, space, keys, space.first, stream);  // sorted.ids holds the keys for now
  with_type(args.ids.type, [&]<class Id>() { launch_gather<Id>(args, space, stream); });
  sort_pairs(args, space, space.first, space.second, stream);
}

}  // namespace strictbench::embedding_backward
