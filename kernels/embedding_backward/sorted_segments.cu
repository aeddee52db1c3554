/// new: ids are sorted beforehand (stable, with their positions); grid tokens x ceil(hidden / 128).
///
/// The block at the start of a run of equal ids walks the run in order, one thread per hidden element, and
/// stores once; all other blocks leave at once. Work follows the tokens, not the vocabulary. A run is a chain
/// of dependent loads and adds, so one hot id bounds the whole kernel.
#include <cuda_bf16.h>

#include <cub/device/device_radix_sort.cuh>

#include "kernels/common/cuda_error.h"
#include "kernels/common/require.h"
#include "kernels/embedding_backward/embedding_backward.h"

namespace strictbench::embedding_backward {
namespace {

constexpr int threads = 128;

__global__ void __launch_bounds__(threads)
    walk_runs(Shape shape, const std::int64_t* sorted_ids, const std::int64_t* positions,
              const __nv_bfloat16* grad, std::int64_t grad_stride, __nv_bfloat16* dweight) {
  const std::int64_t first = blockIdx.x;
  const std::int64_t h = std::int64_t{blockIdx.y} * threads + threadIdx.x;
  const std::int64_t id = sorted_ids[first];
  if (first > 0 && sorted_ids[first - 1] == id) return;  // inside a run that another block walks
  if (id < 0 || id >= shape.vocab || h >= shape.hidden) return;
  float acc = 0.0f;
  for (std::int64_t i = first; i < shape.tokens && sorted_ids[i] == id; ++i)
    acc = __fadd_rn(acc, __bfloat162float(grad[positions[i] * grad_stride + h]));
  dweight[id * shape.hidden + h] = __float2bfloat16_rn(acc);
}

__global__ void count_up(std::int64_t* to, std::int64_t n) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) to[i] = i;
}

/// The workspace holds the unsorted positions first, then CUB's own space.
std::size_t positions_bytes(std::int64_t tokens) {
  return static_cast<std::size_t>(ceil_div(tokens * static_cast<std::int64_t>(sizeof(std::int64_t)), 256) *
                                  256);
}

std::size_t cub_bytes(std::int64_t tokens) {
  std::size_t bytes = 0;
  const std::int64_t* in = nullptr;
  std::int64_t* out = nullptr;
  cuda_check(cub::DeviceRadixSort::SortPairs(nullptr, bytes, in, out, in, out, tokens));
  return bytes;
}

}  // namespace

std::size_t sort_workspace_bytes(std::int64_t tokens) { return positions_bytes(tokens) + cub_bytes(tokens); }

void sort_ids(const Args& args, Stream stream) {
  validate(args);
  const std::int64_t tokens = args.shape.tokens;
  if (tokens == 0) return;
  const SortedIds& sorted = args.sorted;
  std::size_t bytes = cub_bytes(tokens);
  require(sorted.ids != nullptr && sorted.positions != nullptr && sorted.workspace != nullptr &&
              sorted.workspace_bytes >= positions_bytes(tokens) + bytes,
          "embedding_backward: sorted must have room for the ids, the positions and the sort's workspace");
  auto* const counted = static_cast<std::int64_t*>(sorted.workspace);
  constexpr int count_threads = 256;
  const unsigned count_blocks =
      grid_blocks(tokens, count_threads, grid_x, "embedding_backward: shape.tokens must fit a grid");
  count_up<<<count_blocks, count_threads, 0, stream>>>(counted, tokens);
  check_launch();
  void* const space = static_cast<char*>(sorted.workspace) + positions_bytes(tokens);
  cuda_check(cub::DeviceRadixSort::SortPairs(space, bytes, args.ids, sorted.ids, counted, sorted.positions,
                                             tokens, 0, static_cast<int>(8 * sizeof(std::int64_t)), stream));
}

void sorted_segments(const Args& args, Stream stream) {
  validate(args);
  const auto& [tokens, vocab, hidden] = args.shape;
  if (tokens == 0 || vocab == 0 || hidden == 0) return;
  require(args.sorted.ids != nullptr && args.sorted.positions != nullptr,
          "embedding_backward: the segment variants need sorted.ids and sorted.positions");
  const dim3 grid(grid_blocks(tokens, 1, grid_x, "embedding_backward: shape.tokens must fit a grid"),
                  grid_blocks(hidden, threads, grid_y, "embedding_backward: shape.hidden must fit a grid"));
  walk_runs<<<grid, threads, 0, stream>>>(args.shape, args.sorted.ids, args.sorted.positions,
                                          reinterpret_cast<const __nv_bfloat16*>(args.grad), args.grad_stride,
                                          reinterpret_cast<__nv_bfloat16*>(args.dweight));
  check_launch();
}

}  // namespace strictbench::embedding_backward
