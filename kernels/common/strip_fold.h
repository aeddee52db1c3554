/// Adds rows in order, a strip of 32 columns per warp, while other warps copy the rows that come next.
///
/// The order is the definition, so a column's sum is a chain of adds of 4 cycles each, and no memory answers
/// within 4 cycles. Copying warps keep a ring of rows in shared memory full; the folding warp reads a
/// batch of rows while it adds the one before. What is left is the chain itself, or the memory where many
/// strips run at once. Included by *.cu only. Compute capability 8.0 and later.
#pragma once
#include <cstdint>
#include <utility>

#include "kernels/common/dtype.h"

namespace strictbench::strip {

inline constexpr int columns = 32;  // of a strip: a warp, one column a thread
inline constexpr int piece_bytes = 16;

__device__ inline std::uint32_t shared_address(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}

/// A barrier in shared memory that counts arrivals, phase after phase.
struct Barrier {
  std::uint64_t word;

  __device__ void init(int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&word)), "r"(arrivals));
  }
  __device__ void end() {
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(shared_address(&word)) : "memory");
  }
  __device__ void arrive() {
    asm volatile(
        "{\n .reg .b64 state;\n mbarrier.arrive.shared::cta.b64 state, [%0];\n}" ::"r"(shared_address(&word))
        : "memory");
  }
  /// Arrives when all copies that this thread has begun are there.
  __device__ void arrive_after_copies() {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(shared_address(&word))
                 : "memory");
  }
  /// Whether the phase of this parity is over.
  __device__ bool test(std::uint32_t parity) const {
    std::uint32_t over;
    asm volatile(
        "{\n .reg .pred p;\n mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\n selp.u32 %0, 1, 0, "
        "p;\n}"
        : "=r"(over)
        : "r"(shared_address(&word)), "r"(parity)
        : "memory");
    return over != 0;
  }
  /// Returns when the phase of this parity is over.
  __device__ void wait(std::uint32_t parity) {
    const std::uint32_t address = shared_address(&word);
    std::uint32_t over = 0;
    while (!over) {
#if __CUDA_ARCH__ >= 900
      asm volatile(
          "{\n .reg .pred p;\n mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n selp.u32 %0, 1, 0, "
          "p;\n}"
          : "=r"(over)
          : "r"(address), "r"(parity)
          : "memory");
#else
      asm volatile(
          "{\n .reg .pred p;\n mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\n selp.u32 %0, 1, 0, "
          "p;\n}"
          : "=r"(over)
          : "r"(address), "r"(parity)
          : "memory");
#endif
    }
  }
};

/// Begins to copy 16 bytes to shared memory; zeros, and nothing is read, where `there` is false.
__device__ inline void copy_piece(void* to, const void* from, bool there) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from),
               "r"(there ? piece_bytes : 0)
               : "memory");
}

/// The ring: `stages` times `batches` times `batch` rows of the block's strips. A stage is handed over at
/// once; a batch is read while the one before it is added.
template <class T, int folders, int stages, int batches, int batch>
struct Ring {
  static constexpr int stage_rows = batches * batch;
  T rows[stages][stage_rows][folders * columns];
  Barrier full[stages];
  Barrier empty[stages];

  /// By all threads of the block, before any of them copies or folds.
  __device__ void init() {
    if (threadIdx.x < stages) {
      full[threadIdx.x].init(32);
      empty[threadIdx.x].init(folders);
    }
    __syncthreads();
  }
  /// By all threads, when all rows are folded: the ring may be begun anew.
  __device__ void end() {
    __syncthreads();
    if (threadIdx.x < stages) {
      full[threadIdx.x].end();
      empty[threadIdx.x].end();
    }
  }
};

/// What copying warp `copier` does: every `copiers`-th stage, each row r from
/// source.address(source.place(r)), its first column of this block. Columns from `cols` on, and rows from
/// `rows` on, become zeros: an accumulator that began at +0 never is -0, and +0 added to anything else
/// changes nothing.
template <int copiers, class T, int folders, int stages, int batches, int batch, class Index, class Source>
__device__ void copy_rows(Ring<T, folders, stages, batches, batch>& ring, int copier, Index rows, int cols,
                          const Source& source) {
  static_assert(copiers <=
                stages);  // or one could meet a barrier two rounds behind, whose parity is the same
  constexpr int elements = piece_bytes / static_cast<int>(sizeof(T));
  constexpr int pieces = folders * columns / elements;  // of a row
  static_assert(32 % pieces == 0 || pieces % 32 == 0);
  constexpr int rows_at_once = pieces >= 32 ? 1 : 32 / pieces;
  constexpr int stage_rows = batches * batch;
  constexpr int steps = stage_rows / rows_at_once;
  constexpr int pieces_per_lane = pieces >= 32 ? pieces / 32 : 1;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int piece = lane % (pieces >= 32 ? 32 : pieces);
  const int first_row = pieces >= 32 ? 0 : lane / pieces;

  // Where rows lie is looked up two of this warp's stages ahead, a lane for each of 32 rows at a time.
  constexpr int places = stage_rows / 32;
  struct Places {
    Index of[places];
  };
  const auto look_up = [&](Index stage) {
    Places found;
#pragma unroll
    for (int i = 0; i < places; ++i) {
      const Index r = stage * stage_rows + i * 32 + lane;
      found.of[i] = r < rows ? source.place(r) : 0;
    }
    return found;
  };
  Places now = look_up(copier);
  Places next = look_up(copier + copiers);
  for (Index stage = copier; stage * stage_rows < rows; stage += copiers) {
    const Places after = look_up(stage + 2 * copiers);
    const int slot = static_cast<int>(stage % stages);
    const Index round = stage / stages;
    if (round > 0) ring.empty[slot].wait(static_cast<std::uint32_t>(round - 1) & 1u);
#pragma unroll
    for (int i = 0; i < steps; ++i) {
      const int r = i * rows_at_once + first_row;
      const Index place = __shfl_sync(0xffffffffu, now.of[i * rows_at_once / 32], r % 32);
      const bool row_there = stage * stage_rows + r < rows;
#pragma unroll
      for (int k = 0; k < pieces_per_lane; ++k) {
        const int c = (piece + k * 32) * elements;
        copy_piece(&ring.rows[slot][r][c], source.address(place) + (c < cols ? c : 0), row_there && c < cols);
      }
    }
    ring.full[slot].arrive_after_copies();
    now = next;
    next = after;
  }
}

/// A read that stays among the adds where it is written: `volatile`, or the compiler would let it sink to the
/// add that needs it, and the chain would wait.
template <class T>
__device__ T read_in_turn(std::uint32_t from) {
  T to;
  if constexpr (sizeof(T) == 4)
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(to) : "r"(from));
  else
    asm volatile("ld.shared.u16 %0, [%1];" : "=h"(to.bits) : "r"(from));
  return to;
}

/// What folding warp `folder` does: the sum of this thread's column over all rows, of which there is one at
/// least, from +0 on.
template <class T, int folders, int stages, int batches, int batch, class Index>
__device__ float fold_rows(Ring<T, folders, stages, batches, batch>& ring, int folder, Index rows) {
  constexpr int pitch = folders * columns * static_cast<int>(sizeof(T));
  const int lane = static_cast<int>(threadIdx.x) % 32;
  Index left = (rows + batch - 1) / batch;  // batches
  const std::uint32_t begin = shared_address(&ring.rows[0][0][folder * columns + lane]);
  float acc = 0.0f;
  T now[batch];
  ring.full[0].wait(0);
#pragma unroll
  for (int i = 0; i < batch; ++i) now[i] = ring.rows[0][i][folder * columns + lane];
  static_assert((stages & (stages - 1)) == 0);  // so that a stage's slot and parity are bits of its number
  const auto slot_of = [](unsigned stage) { return stage % stages; };
  const auto parity_of = [](unsigned stage) { return stage / stages % 2; };
  unsigned stage = 0;
  int in_stage = batches;  // from the one in registers on
  std::uint32_t from = begin;
  bool next_is_full = false;  // asked a stage early, for nothing to wait for the answer
#pragma unroll 1
  for (; left > 1; --left) {
    from += batch * pitch;
    if (--in_stage == 0) {
      __syncwarp();
      if (lane == 0) ring.empty[slot_of(stage)].arrive();
      ++stage;
      if (!next_is_full) ring.full[slot_of(stage)].wait(parity_of(stage));
      next_is_full = ring.full[slot_of(stage + 1)].test(parity_of(stage + 1));
      if (slot_of(stage) == 0) from = begin;
      in_stage = batches;
    }
    T next[batch];
#pragma unroll
    for (int i = 0; i < batch; ++i) next[i] = read_in_turn<T>(from + i * pitch);
#pragma unroll
    for (int i = 0; i < batch; ++i) acc = __fadd_rn(acc, to_float(now[i]));
#pragma unroll
    for (int i = 0; i < batch; ++i) now[i] = next[i];
  }
#pragma unroll
  for (int i = 0; i < batch; ++i) acc = __fadd_rn(acc, to_float(now[i]));
  return acc;
}

}  // namespace strictbench::strip
