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
/// What a ring in dynamic shared memory must be aligned to: where rows of 64 bytes straddle lines of 128, a
/// fold takes up to a fifth longer (H200).
inline constexpr int line_bytes = 128;

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

/// Begins to copy 16 bytes to shared memory; zeros, and nothing is read, where `there` is false. The L2 takes
/// the whole line of 128 bytes: the next strip's block soon asks for the rest of it.
__device__ inline void copy_piece(void* to, const void* from, bool there) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from),
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

  /// By all threads of the block, before any of them copies or folds. So many warps copy each stage.
  __device__ void init(int copying) {
    if (threadIdx.x < stages) {
      full[threadIdx.x].init(32 * copying);
      empty[threadIdx.x].init(32 * folders);
    }
    __syncthreads();
  }
  /// How many stages so many rows take.
  static __device__ unsigned stages_of(std::int64_t row_count) {
    return static_cast<unsigned>((row_count + stage_rows - 1) / stage_rows);
  }
  static_assert((stages & (stages - 1)) == 0);  // so that a stage's slot and parity are bits of its number
  static __device__ unsigned slot_of(unsigned stage) { return stage % stages; }
  static __device__ unsigned parity_of(unsigned stage) { return stage / stages % 2; }
  /// The slot of the `stage`-th stage that the ring holds, when nobody reads it any more.
  __device__ int empty_slot(unsigned stage) {
    const unsigned round = stage / stages;
    if (round > 0) empty[stage % stages].wait((round - 1) & 1u);
    return static_cast<int>(stage % stages);
  }
};

/// Which pieces of a strip's rows a copying warp's lane takes in one step.
template <class T, int folders>
struct Pieces {
  static constexpr int elements = piece_bytes / static_cast<int>(sizeof(T));
  static constexpr int of_row = folders * columns / elements;
  static_assert(32 % of_row == 0 || of_row % 32 == 0);
  static constexpr int rows_a_step = of_row >= 32 ? 1 : 32 / of_row;
  static constexpr int of_lane = of_row >= 32 ? of_row / 32 : 1;

  int column;  // the first one
  int row;     // of a step's
  int cols;    // from here on zeros, and nothing is read

  __device__ explicit Pieces(int cols_) : cols(cols_) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    column = lane % (of_row >= 32 ? 32 : of_row) * elements;
    row = of_row >= 32 ? 0 : lane / of_row;
  }
  /// A row's, or zeros where it is not `there`.
  template <class Row>
  __device__ void copy(Row& to, const T* from, bool there) const {
#pragma unroll
    for (int k = 0; k < of_lane; ++k) {
      const int c = column + k * 32 * elements;
      copy_piece(&to[c], from + (c < cols ? c : 0), there && c < cols);
    }
  }
};

/// What copying warp `copier` does: its share of every stage's rows, which lie `stride` elements apart from
/// `from` on. Columns from `cols` on, and rows from `rows` on, become zeros: an accumulator that began at +0
/// never is -0, and +0 added to anything else changes nothing.
template <int copiers, class T, int folders, int stages, int batches, int batch>
__device__ void copy_rows(Ring<T, folders, stages, batches, batch>& ring, int copier, std::int64_t rows,
                          int cols, const T* from, std::int64_t stride) {
  using Lanes = Pieces<T, folders>;
  const Lanes lanes(cols);
  constexpr int stage_rows = batches * batch;
  constexpr int share = copiers * Lanes::rows_a_step;  // of rows, that all copiers copy in a step
  static_assert(stage_rows % share == 0);
  const int first = copier * Lanes::rows_a_step + lanes.row;
  from += first * stride;
  unsigned stage = 0;
  for (std::int64_t done = 0; done < rows; done += stage_rows) {
    const int slot = ring.empty_slot(stage++);
#pragma unroll 4
    for (int r = first; r < stage_rows; r += share) {
      lanes.copy(ring.rows[slot][r], from, done + r < rows);
      from += share * stride;
    }
    ring.full[slot].arrive_after_copies();
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
  const auto address_of = [&](unsigned of) { return begin + ring.slot_of(of) * (ring.stage_rows * pitch); };
  std::uint32_t from = address_of(stage);
  Words now[reads];
  ring.full[ring.slot_of(stage)].wait(ring.parity_of(stage));
#pragma unroll
  for (int i = 0; i < reads; ++i) now[i] = read_rows<T>(from + i * (step * pitch));
  int in_stage = batches;     // from the one in registers on
  bool next_is_full = false;  // asked a stage early, for nothing to wait for the answer
#pragma unroll 1
  for (; left > 1; --left) {
    from += batch * pitch;
    if (--in_stage == 0) {
      ring.empty[ring.slot_of(stage)].arrive();
      ++stage;
      if (!next_is_full) ring.full[ring.slot_of(stage)].wait(ring.parity_of(stage));
      next_is_full = ring.full[ring.slot_of(stage + 1)].test(ring.parity_of(stage + 1));
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
  ring.empty[ring.slot_of(stage)].arrive();
#pragma unroll
  for (int i = 0; i < reads; ++i) acc = added<T>(acc, now[i]);
  return acc;
}

/// The same with a stage of one batch and half the registers: 64 with 128 rows of 16-bit elements. A batch is
/// read in halves, each while the other is added, and handed back as soon as it is read. gridDim.z: 1.
///
/// For kernels that leave a thread no more than a fourth of the registers: there fold_rows() is compiled to
/// read behind the adds (H200, 32,768 equal ids of embedding_backward at hidden 1024: 91 us, this way 83).
/// With all of them it is faster (16,384 x 128 in fp32: 40.7 us, this way 44.7).
template <class T, int stages, int batch>
__device__ float fold_rows_by_halves(Ring<T, 1, stages, 1, batch>& ring, unsigned stage, int rows) {
  constexpr int pitch = columns * static_cast<int>(sizeof(T));
  constexpr int step = rows_at_once<T>;
  constexpr int half = batch / step / 2;  // reads
  const std::uint32_t begin = shared_address(&ring.rows[0][0][0]) + piece_of_lane<T>(pitch);
  const auto address_of = [&](unsigned of) { return begin + ring.slot_of(of) * (batch * pitch); };
  float acc = 0.0f;
  Words first[half];
  Words second[half];
  unsigned one = gridDim.z;
  const auto read = [&](Words(&to)[half], std::uint32_t from) {
#pragma unroll
    for (int i = 0; i < half; ++i) to[i] = read_rows<T>(from + i * (step * pitch));
    // Never; but a branch ends a basic block, across which ptxas does not move the reads behind the adds.
    asm volatile("" : "+r"(one));
    if (one != 1) __trap();
  };
  const auto add = [&](const Words(&those)[half]) {
#pragma unroll
    for (int i = 0; i < half; ++i) acc = added<T>(acc, those[i]);
  };
  ring.full[ring.slot_of(stage)].wait(ring.parity_of(stage));
  read(first, address_of(stage));
  read(second, address_of(stage) + half * (step * pitch));
  ring.empty[ring.slot_of(stage)].arrive();
  bool next_is_full = false;  // asked a stage early, for nothing to wait for the answer
#pragma unroll 1
  for (int left = (rows + batch - 1) / batch; left > 1; --left) {
    add(first);
    ++stage;
    if (!next_is_full) ring.full[ring.slot_of(stage)].wait(ring.parity_of(stage));
    next_is_full = ring.full[ring.slot_of(stage + 1)].test(ring.parity_of(stage + 1));
    const std::uint32_t from = address_of(stage);
    read(first, from);
    add(second);
    read(second, from + half * (step * pitch));
    ring.empty[ring.slot_of(stage)].arrive();
  }
  add(first);
  add(second);
  return acc;
}

}  // namespace strictbench::strip
