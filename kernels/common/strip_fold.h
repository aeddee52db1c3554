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
      empty[threadIdx.x].init(32 * folders);
    }
    __syncthreads();
  }
};

/// How many stages of the ring so many rows take.
template <class T, int folders, int stages, int batches, int batch>
__device__ unsigned stages_of(const Ring<T, folders, stages, batches, batch>& ring, std::int64_t rows) {
  return static_cast<unsigned>((rows + ring.stage_rows - 1) / ring.stage_rows);
}

/// What copying warp `copier` does for rows that begin with stage `begin` of all that the ring ever held (0,
/// or behind the stages_of() the rows before): every `copiers`-th stage, each row r from
/// source.address(source.place(r)), its first column of this block (source.address(r), and each `stride`
/// elements behind the one before, if they lie at a stride). Columns from `cols` on, and rows from
/// `rows` on, become zeros: an accumulator that began at +0 never is -0, and +0 added to anything else
/// changes nothing.
template <int copiers, class T, int folders, int stages, int batches, int batch, class Index, class Source>
__device__ void copy_rows(Ring<T, folders, stages, batches, batch>& ring, int copier, unsigned begin,
                          Index rows, int cols, const Source& source) {
  static_assert(copiers <=
                stages);  // or one could meet a barrier two rounds behind, whose parity is the same
  constexpr int elements = piece_bytes / static_cast<int>(sizeof(T));
  constexpr int pieces = folders * columns / elements;  // of a row
  static_assert(32 % pieces == 0 || pieces % 32 == 0);
  constexpr int rows_a_step = pieces >= 32 ? 1 : 32 / pieces;
  constexpr int stage_rows = batches * batch;
  constexpr int steps = stage_rows / rows_a_step;
  constexpr int pieces_per_lane = pieces >= 32 ? pieces / 32 : 1;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int piece = lane % (pieces >= 32 ? 32 : pieces);
  const int first_row = pieces >= 32 ? 0 : lane / pieces;

  const int c = piece * elements;
  const auto copy = [&](int slot, int r, const T* from, bool row_there) {
#pragma unroll
    for (int k = 0; k < pieces_per_lane; ++k) {
      const int column = c + k * 32 * elements;
      copy_piece(&ring.rows[slot][r][column], from + (column < cols ? column : 0),
                 row_there && column < cols);
    }
  };
  /// The slot of a stage, when nobody reads it any more.
  const auto empty_slot = [&](Index stage) {
    const unsigned all = begin + static_cast<unsigned>(stage);
    const unsigned round = all / stages;
    if (round > 0) ring.empty[all % stages].wait((round - 1) & 1u);
    return static_cast<int>(all % stages);
  };
  // Stages of all the ring ever held take turns, so that runs of one stage do not all fall to one warp.
  const auto first_stage =
      static_cast<Index>((static_cast<unsigned>(copier) + copiers - begin % copiers) % copiers);

  if constexpr (Source::at_a_stride) {
    for (Index stage = first_stage; stage * stage_rows < rows; stage += copiers) {
      const int slot = empty_slot(stage);
      const T* from = source.address(stage * stage_rows + first_row);
#pragma unroll 4
      for (int i = 0; i < steps; ++i) {
        const int r = i * rows_a_step + first_row;
        copy(slot, r, from, stage * stage_rows + r < rows);
        from += rows_a_step * source.stride;
      }
      ring.full[slot].arrive_after_copies();
    }
  } else {
    // Where rows lie is looked up two of this warp's stages ahead, a lane for each of 32 rows at a time. Two
    // sets take turns: handing one on to the other would wait for it.
    constexpr int places = stage_rows / 32;
    struct Places {
      Index of[places];
    };
    const auto look_up = [&](Places& found, Index stage) {
#pragma unroll
      for (int i = 0; i < places; ++i) {
        const Index r = stage * stage_rows + i * 32 + lane;
        found.of[i] = 0;
        if (r < rows) found.of[i] = source.place(r);
      }
    };
    const auto copy_stage = [&](const Places& at, Index stage) {
      const int slot = empty_slot(stage);
#pragma unroll
      for (int i = 0; i < steps; ++i) {
        const int r = i * rows_a_step + first_row;
        const Index place = __shfl_sync(0xffffffffu, at.of[i * rows_a_step / 32], r % 32);
        copy(slot, r, source.address(place), stage * stage_rows + r < rows);
      }
      ring.full[slot].arrive_after_copies();
    };
    Places one;
    Places other;
    Index stage = first_stage;
    look_up(one, stage);
    look_up(other, stage + copiers);
    while (stage * stage_rows < rows) {
      copy_stage(one, stage);
      stage += copiers;
      look_up(one, stage + copiers);
      if (stage * stage_rows >= rows) break;
      copy_stage(other, stage);
      stage += copiers;
      look_up(other, stage + copiers);
    }
  }
}

/// Several rows of a strip in one instruction: of fp32 four, of 16-bit elements eight, two to a word. A lane
/// gets the elements of its own column. (`ldmatrix` hands the rows of 8 x 16-byte matrices out to lanes;
/// which 16 bytes make up a matrix is ours to say.) `volatile`, or the compiler would let it sink to the add
/// that needs it, and the chain would wait.
struct Words {
  std::uint32_t of[4];
};
template <class T>
inline constexpr int rows_at_once = 16 / static_cast<int>(sizeof(T));

template <class T>
__device__ Words read_rows(std::uint32_t from) {
  Words to;
  if constexpr (sizeof(T) == 4)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to.of[0]), "=r"(to.of[1]), "=r"(to.of[2]), "=r"(to.of[3])
                 : "r"(from));
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to.of[0]), "=r"(to.of[1]), "=r"(to.of[2]), "=r"(to.of[3])
                 : "r"(from));
  return to;
}

/// Which column of its strip a lane folds.
template <class T>
__device__ int column_of_lane() {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  return sizeof(T) == 4 ? lane : lane % 4 * 8 + lane / 4;
}

/// Where a lane's 16 bytes begin, for read_rows: of fp32 piece lane % 8 of row lane / 8; of 16-bit elements
/// one of the four pieces of an even row or of the odd one behind it.
template <class T>
__device__ std::uint32_t piece_of_lane(int pitch) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int row = sizeof(T) == 4 ? lane / 8 : lane / 8 * 2 + lane % 2;
  const int piece = sizeof(T) == 4 ? lane % 8 : lane % 8 / 2;
  return static_cast<std::uint32_t>(row * pitch + piece * piece_bytes);
}

template <class T>
__device__ float added(float acc, const Words& rows) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if constexpr (sizeof(T) == 4) {
      acc = __fadd_rn(acc, __uint_as_float(rows.of[i]));
    } else {
      acc = __fadd_rn(acc, to_float(T{static_cast<std::uint16_t>(rows.of[i])}));
      acc = __fadd_rn(acc, to_float(T{static_cast<std::uint16_t>(rows.of[i] >> 16)}));
    }
  }
  return acc;
}

/// What folding warp `folder` does for rows that begin with stage `stage`: the sum of this lane's column
/// (column_of_lane) over all of them, of which there is one at least, from +0 on.
template <class T, int folders, int stages, int batches, int batch, class Index>
__device__ float fold_rows(Ring<T, folders, stages, batches, batch>& ring, int folder, unsigned stage,
                           Index rows) {
  constexpr int pitch = folders * columns * static_cast<int>(sizeof(T));
  constexpr int step = rows_at_once<T>;
  constexpr int reads = batch / step;
  Index left = (rows + batch - 1) / batch;  // batches
  const std::uint32_t begin = shared_address(&ring.rows[0][0][folder * columns]) + piece_of_lane<T>(pitch);
  float acc = 0.0f;
  static_assert((stages & (stages - 1)) == 0);  // so that a stage's slot and parity are bits of its number
  const auto slot_of = [](unsigned of) { return of % stages; };
  const auto parity_of = [](unsigned of) { return of / stages % 2; };
  const auto address_of = [&](unsigned of) { return begin + slot_of(of) * (ring.stage_rows * pitch); };
  std::uint32_t from = address_of(stage);
  Words now[reads];
  ring.full[slot_of(stage)].wait(parity_of(stage));
#pragma unroll
  for (int i = 0; i < reads; ++i) now[i] = read_rows<T>(from + i * (step * pitch));
  int in_stage = batches;     // from the one in registers on
  bool next_is_full = false;  // asked a stage early, for nothing to wait for the answer
#pragma unroll 1
  for (; left > 1; --left) {
    from += batch * pitch;
    if (--in_stage == 0) {
      ring.empty[slot_of(stage)].arrive();
      ++stage;
      if (!next_is_full) ring.full[slot_of(stage)].wait(parity_of(stage));
      next_is_full = ring.full[slot_of(stage + 1)].test(parity_of(stage + 1));
      from = address_of(stage);
      in_stage = batches;
    }
    Words next[reads];
#pragma unroll
    for (int i = 0; i < reads; ++i) next[i] = read_rows<T>(from + i * (step * pitch));
#pragma unroll
    for (int i = 0; i < reads; ++i) acc = added<T>(acc, now[i]);
#pragma unroll
    for (int i = 0; i < reads; ++i) now[i] = next[i];
  }
  ring.empty[slot_of(stage)].arrive();
#pragma unroll
  for (int i = 0; i < reads; ++i) acc = added<T>(acc, now[i]);
  return acc;
}

}  // namespace strictbench::strip
