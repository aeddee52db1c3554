/// Adds rows in order, a strip of 32 columns per warp, while other warps copy the rows that come next.
///
/// The order is the definition, so a column's sum is a chain of adds of 4 cycles each, and no memory answers
/// within 4 cycles. Copying warps keep a ring of rows in shared memory full; the folding warp reads 16 or 32
/// rows ahead of those it adds. What is left is the chain itself (4.2 to 4.4 cycles an add on an H200), or
/// the memory where many strips run at once. Included by *.cu only. Compute capability 8.0 and later.
#pragma once
#include <cstdint>

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

/// A stage's turn in a ring of so many: which slot it lies in, and the parity of the phase that fills it.
template <int stages>
struct Turn {
  static_assert((stages & (stages - 1)) == 0);  // so that both are bits of its number
  unsigned number = 0;

  __device__ unsigned slot() const { return number % stages; }
  __device__ unsigned parity() const { return number / stages % 2; }
};

/// The ring: `stages` times `stage_rows` rows of the block's strips. A stage is handed over at once.
template <class T, int folders_, int stages_, int stage_rows_>
struct Ring {
  static constexpr int folders = folders_;
  static constexpr int stages = stages_;
  static constexpr int stage_rows = stage_rows_;
  using Turn = strip::Turn<stages>;
  T rows[stages][stage_rows][folders * columns];
  Barrier full[stages];
  Barrier empty[stages];

  /// By one thread of the block, before any other waits or arrives. So many warps copy each stage. (By one,
  /// or every barrier's turn takes 80 cycles on an H200: 600 in all.)
  __device__ void init(int copying) {
#pragma unroll
    for (int i = 0; i < stages; ++i) {
      full[i].init(32 * copying);
      empty[i].init(32 * folders);
    }
  }
  /// Returns when nobody reads what was in the slot; the first time at once.
  __device__ void wait_until_empty(const Turn& turn) { empty[turn.slot()].wait(turn.parity() ^ 1); }
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

/// What a copying warp of `copiers` does: its share of every stage's rows, which lie `stride` elements apart.
/// Columns from `cols` on, and rows from `rows` on, become zeros: an accumulator that began at +0 never is
/// -0, and +0 added to anything else changes nothing.
template <int copiers, class T, class Ring>
class RowCopier {
 public:
  __device__ RowCopier(Ring& ring, int copier, std::int64_t rows, int cols, const T* from,
                       std::int64_t stride)
      : ring_(ring),
        lanes_(cols),
        first_(copier * Lanes::rows_a_step + lanes_.row),
        left_(rows - first_),
        from_(from + first_ * stride),
        step_(share * stride) {}

  /// The first stage, which needs no barrier: they may be made meanwhile.
  __device__ void begin() { copy(0); }
  __device__ void copy_rest() {
    ring_.full[0].arrive_after_copies();
    typename Ring::Turn turn;
    for (++turn.number; left_ > -first_; ++turn.number) {
      ring_.wait_until_empty(turn);
      copy(turn.slot());
      ring_.full[turn.slot()].arrive_after_copies();
    }
  }

 private:
  using Lanes = Pieces<T, Ring::folders>;
  static constexpr int share = copiers * Lanes::rows_a_step;  // of rows, that all copiers copy in a step
  static_assert(Ring::stage_rows % share == 0);

  __device__ void copy(unsigned slot) {
#pragma unroll 4
    for (int r = 0; r < Ring::stage_rows; r += share) {
      lanes_.copy(ring_.rows[slot][first_ + r], from_, r < left_);
      from_ += step_;
    }
    left_ -= Ring::stage_rows;
  }

  Ring& ring_;
  Lanes lanes_;
  int first_;          // of its rows of a stage
  std::int64_t left_;  // rows from there on
  const T* from_;
  std::int64_t step_;
};

/// Several rows of a strip in one instruction: of fp32 four, of 16-bit elements eight, two to a word. A lane
/// gets the elements of its own column. (`ldmatrix` hands the rows of 8 x 16-byte matrices out to lanes;
/// which 16 bytes make up a matrix is ours to say.) `volatile`, or the compiler would let it sink to the add
/// that needs it, and the chain would wait; and what keeps it behind the barrier's wait and before its
/// arrival.
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

/// What folding warp `folder` does for rows that begin with a stage's turn, which goes on behind them: the
/// sum of this lane's column (column_of_lane) over all of them, of which there is one at least, from +0 on. A
/// few reads are always ahead of the adds: as soon as a read's rows are added, its registers take another's.
/// Behind the last row there must be zeros to a multiple of 4 reads, as the copying warps see to.
template <class T, class Ring, class Index>
__device__ float fold_rows(Ring& ring, int folder, typename Ring::Turn& turn, Index rows) {
  constexpr int pitch = Ring::folders * columns * static_cast<int>(sizeof(T));
  constexpr int step = rows_at_once<T>;
  constexpr int reads = Ring::stage_rows / step;
  constexpr int ahead = 4;                          // reads, of which each takes 33 cycles
  constexpr int asked = reads - ahead - 16 / step;  // when to ask whether the next stage is full
  static_assert(asked >= 0 && reads % ahead == 0);
  const std::uint32_t begin = shared_address(&ring.rows[0][0][folder * columns]) + piece_of_lane<T>(pitch);
  const auto address_of = [&](const auto& of) {
    return begin + of.slot() * static_cast<unsigned>(Ring::stage_rows * pitch);
  };
  std::uint32_t from = address_of(turn);
  float acc = 0.0f;
  Words held[ahead];
  ring.full[turn.slot()].wait(turn.parity());
#pragma unroll
  for (int i = 0; i < ahead; ++i) held[i] = read_rows<T>(from + i * (step * pitch));
#pragma unroll 1
  for (; rows > Ring::stage_rows; rows -= Ring::stage_rows) {
    const typename Ring::Turn next_turn{turn.number + 1};
    const std::uint32_t next = address_of(next_turn);
    bool next_is_full = false;
#pragma unroll
    for (int i = 0; i < reads; ++i) {
      // Of a warp that is together: all lanes are told the same, and stay together. (A vote on it, H200:
      // folds of 16-bit elements 2 to 3 % slower.)
      if (i == asked) next_is_full = ring.full[next_turn.slot()].test(next_turn.parity());
      if (i == reads - ahead) {
        ring.empty[turn.slot()].arrive();
        if (!next_is_full) ring.full[next_turn.slot()].wait(next_turn.parity());
      }
      acc = added<T>(acc, held[i % ahead]);
      held[i % ahead] = read_rows<T>(i < reads - ahead ? from + (i + ahead) * (step * pitch)
                                                       : next + (i + ahead - reads) * (step * pitch));
    }
    turn = next_turn;
    from = next;
  }
#pragma unroll 1
  for (int left = static_cast<int>(rows); left > ahead * step; left -= ahead * step) {
    from += ahead * (step * pitch);
#pragma unroll
    for (int i = 0; i < ahead; ++i) {
      acc = added<T>(acc, held[i]);
      held[i] = read_rows<T>(from + i * (step * pitch));
    }
  }
  ring.empty[turn.slot()].arrive();
  ++turn.number;
#pragma unroll
  for (int i = 0; i < ahead; ++i) acc = added<T>(acc, held[i]);
  return acc;
}

}  // namespace strictbench::strip
