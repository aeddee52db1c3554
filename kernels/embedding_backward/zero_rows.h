/// The rows of the table that no id names become zeros, by bulk stores out of shared memory. Included by *.cu
/// only.
///
/// What bounds it is memory, if few rows are written at once, and the search for each block's rows among the
/// ids is hidden behind other blocks' stores; what is left of the launch before fills the gaps.
///
/// Tried and did not pay (H200, bf16, us of the whole backward of 32,768 ids, 151,936 x 4096; here 369 where
/// they are distinct, 382 where they are equal):
/// - as blocks of the launch that adds: 367 and 396, equal ids' reads being few and far between in writes;
///   there with 16 KB of the table a block 408, with 64 KB 370 and 434, with plain stores instead of bulk
///   ones 20 and 5 more, marked as evicted first 373;
/// - begun when all long runs are added, not when the last block before begins: 369 and 386, and then with
///   as many blocks a multiprocessor as fit 373 and 396, and 285 instead of 275 for 512 ids;
/// - blocks of 16 KB of the table: 391 and 381, since its searches are no longer hidden;
/// - stores awaited to the end: no faster;
/// - a part of the table beside the sort, by a memset on another stream: 64 MB 10 us slower, all of it 66;
/// - a search for every row: its reads outweigh the writes.
#pragma once
#include <algorithm>

#include "kernels/common/cuda_error.h"
#include "kernels/embedding_backward/runs.h"

namespace strictbench::embedding_backward {
namespace {

constexpr int zeroing_threads = 128;
constexpr std::int64_t zeroed_bytes = std::int64_t{24} << 10;  // of the table, by one block
constexpr int most_zeroed_rows = 32;
constexpr int bulk_bytes = 8 << 10;  // of one store, at most
/// Keeps all but five blocks from a multiprocessor: the fewer rows are written at once, the faster memory is
/// (512 ids: 275 us, without this 285).
constexpr int kept_away_bytes = 32 << 10;

/// Lets the kernel that is launched to follow closely begin when all blocks are past this or at their end.
__device__ void may_be_followed() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/// Returns when the kernel that this one follows closely is done.
__device__ void wait_for_the_one_before() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// Zeroes those of `rows` rows from `to` on, each `row_bytes`, that are not used: by bulk stores of zeros in
/// shared memory where there are any.
__device__ void zero_rows(unsigned char* to, std::int64_t row_bytes, int rows, const bool* used) {
#if __CUDA_ARCH__ >= 900
  __shared__ alignas(16) uint4 zeros[bulk_bytes / 16];
  for (int i = static_cast<int>(threadIdx.x); i < bulk_bytes / 16; i += zeroing_threads)
    zeros[i] = uint4{0, 0, 0, 0};
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  const int r = static_cast<int>(threadIdx.x);
  if (r >= rows || used[r]) return;
  for (std::int64_t done = 0; done < row_bytes; done += bulk_bytes)
    asm volatile(
        "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to + r * row_bytes + done),
        "r"(strip::shared_address(zeros)),
        "r"(static_cast<int>(min(row_bytes - done, std::int64_t{bulk_bytes})))
        : "memory");
  asm volatile("cp.async.bulk.commit_group;\n cp.async.bulk.wait_group.read 0;" ::: "memory");
#else
  for (int r = 0; r < rows; ++r) {
    if (used[r]) continue;
    auto* const row = reinterpret_cast<uint4*>(to + r * row_bytes);
    for (std::int64_t i = threadIdx.x; i < row_bytes / 16; i += zeroing_threads) row[i] = uint4{0, 0, 0, 0};
  }
#endif
}

/// ids: sorted, [tokens]. A block for `rows` rows of `row_bytes` each.
template <class Index>
__global__ void __launch_bounds__(zeroing_threads)
    zero_unused(const __grid_constant__ Shape shape, const Index* ids, unsigned char* dweight,
                std::int64_t row_bytes, int rows) {
  __shared__ int range[2];  // of places, where the ids of these rows could stand
  __shared__ bool used[most_zeroed_rows];
  const std::int64_t first = std::int64_t{blockIdx.x} * rows;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  if (warp < 2) {
    const std::int64_t row = warp == 0 ? first : first + rows;
    const int place = first_not<2>(ids, 0, static_cast<int>(shape.tokens),
                                   [&](Index id) { return static_cast<std::int64_t>(id) < row; });
    if (threadIdx.x % 32 == 0) range[warp] = place;
  }
  __syncthreads();
  if (static_cast<int>(threadIdx.x) < rows) {
    const std::int64_t row = first + threadIdx.x;
    int low = range[0];
    int high = range[1];
    while (low < high) {
      const int mid = low + (high - low) / 2;
      if (static_cast<std::int64_t>(ids[mid]) < row)
        low = mid + 1;
      else
        high = mid;
    }
    used[threadIdx.x] = low < range[1] && static_cast<std::int64_t>(ids[low]) == row;
  }
  __syncthreads();
  zero_rows(dweight + first * row_bytes, row_bytes,
            static_cast<int>(min(shape.vocab - first, std::int64_t{rows})), used);
  wait_for_the_one_before();
}

/// From compute capability 9.0 on; and graphs hold such a launch from CUDA 12.3 on.
bool may_follow_closely() {
  constexpr int in_graphs = 12030;
  int driver = 0;
  int device = 0;
  int major = 0;
  cuda_check(cudaDriverGetVersion(&driver));
  cuda_check(cudaGetDevice(&device));
  cuda_check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  return CUDART_VERSION >= in_graphs && driver >= in_graphs && major >= 9;
}

/// Begins on the heels of the launch before. shape.vocab: at most grid_x.
template <class Weight, class Index>
void zero_unused_rows(const Shape& shape, const Index* ids, Weight* dweight, Stream stream) {
  const std::int64_t row_bytes = shape.hidden * static_cast<std::int64_t>(sizeof(Weight));
  const auto rows = static_cast<int>(std::clamp<std::int64_t>(zeroed_bytes / row_bytes, 1, most_zeroed_rows));
  cudaLaunchAttribute closely{};
  closely.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  closely.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(ceil_div(shape.vocab, rows)));
  config.blockDim = dim3(zeroing_threads);
  config.dynamicSmemBytes = kept_away_bytes;
  config.stream = stream;
  config.attrs = &closely;
  config.numAttrs = may_follow_closely() ? 1 : 0;
  cuda_check(cudaLaunchKernelEx(&config, zero_unused<Index>, shape, ids,
                                reinterpret_cast<unsigned char*>(dweight), row_bytes, rows));
}

}  // namespace
}  // namespace strictbench::embedding_backward
