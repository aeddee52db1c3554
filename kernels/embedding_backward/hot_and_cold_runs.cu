/// tuned: one launch of three kinds of blocks. Long runs of equal ids go strip by strip of 32 columns through
/// a ring in shared memory (kernels/common/strip_fold.h); short ones go a block at a time, 16 bytes a load,
/// what comes next under way; for the whole backward the rest of the blocks zero the rows that no id names.
///
/// A hot id is a chain of adds of 4 cycles each, so it must be spread over the chip and kept fed; all other
/// rows are bounded by memory. No row is written twice: zeroing leaves out what a run will store. The sort
/// looks at the bits that an id of this vocabulary can have, instead of all 64.
#include <algorithm>

#include "kernels/common/cuda_error.h"
#include "kernels/common/require.h"
#include "kernels/common/strip_fold.h"
#include "kernels/embedding_backward/dispatch.h"

namespace strictbench::embedding_backward {
namespace {

constexpr int threads = 128;
constexpr int long_run = 16;              // rows from which a run is long
constexpr int windows = 32;               // of `long_run` tokens, looked at by one block
constexpr std::int64_t zeroed_rows = 16;  // of the table, by one block

template <class Grad>
inline constexpr int piece = strip::piece_bytes / static_cast<int>(sizeof(Grad));  // elements

constexpr int batch = 32;  // more would not fit the registers that short runs leave
template <class Grad>
inline constexpr int batches = sizeof(Grad) == 2 ? 4 : 2;  // of a stage
template <class Grad>
inline constexpr int stages = 32768 /
                              (batches<Grad> * batch * strip::columns * static_cast<int>(sizeof(Grad)));

template <class Grad>
using Ring = strip::Ring<Grad, 1, stages<Grad>, batches<Grad>, batch>;

template <class Grad, class Weight>
struct Job {
  Shape shape;
  const std::int64_t* ids;  // sorted
  const std::int64_t* positions;
  const Grad* grad;
  std::int64_t grad_stride;
  Weight* dweight;

  __device__ bool in_range(std::int64_t id) const { return id >= 0 && id < shape.vocab; }
};

/// `n` elements as one store.
template <class Weight, int n>
struct alignas(n * sizeof(Weight) < 16 ? n * sizeof(Weight) : 16) Several {
  Weight elements[n];
};

// Long runs ----------------------------------------------------------------------------------------------

/// The rows of a run, wherever they lie.
template <class Grad>
struct RunRows {
  const std::int64_t* positions;  // of the run's first row
  const Grad* grad;               // the block's first column
  std::int64_t stride;

  __device__ int place(int r) const { return static_cast<int>(positions[r]); }  // below 2^31, as tokens are
  __device__ const Grad* address(int position) const { return grad + position * stride; }
};

/// Where the run that `inside` belongs to ends: a warp's search, whose lanes look at 32 places at once.
__device__ std::int64_t end_of_run(const std::int64_t* ids, std::int64_t inside, std::int64_t tokens) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t id = ids[inside];
  std::int64_t last = inside;  // known to be of the run; `tokens` or what stands before it is not
  std::int64_t end = tokens;
  while (end - last > 1) {
    const std::int64_t step = (end - last - 1 + 31) / 32;
    const std::int64_t at = last + (lane + 1) * step;
    const int same = __popc(__ballot_sync(0xffffffffu, at < end && ids[at] == id));
    end = min(end, last + (same + 1) * step);
    last += same * step;
  }
  return end;
}

/// Block (strip, group) folds its strip of every long run whose first window boundary lies in its group of
/// windows. A run is long where its id stands `long_run` places behind its start too; such a run holds a
/// boundary.
template <class Grad, class Weight>
__device__ void fold_long_runs(const Job<Grad, Weight>& job, Ring<Grad>& ring, std::int64_t strip_index,
                               std::int64_t group) {
  __shared__ std::int64_t starts[windows];
  __shared__ int lengths[windows];
  __shared__ int found;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (warp == 0) {
    const std::int64_t boundary = (group * windows + lane) * long_run;
    bool mine = false;
    std::int64_t start = boundary;
    if (boundary < job.shape.tokens) {
      const std::int64_t id = job.ids[boundary];
      const bool first_boundary = boundary == 0 || job.ids[boundary - long_run] != id;
      if (job.in_range(id) && first_boundary) {
#pragma unroll
        for (int i = 1; i < long_run; ++i)  // all at once: ids are in order
          if (boundary >= i && job.ids[boundary - i] == id) --start;
        mine = start + long_run < job.shape.tokens && job.ids[start + long_run] == id;
      }
    }
    const unsigned all = __ballot_sync(0xffffffffu, mine);
    if (mine) starts[__popc(all & ((1u << lane) - 1))] = start;
    if (lane == 0) found = __popc(all);
  }
  __syncthreads();
  for (int k = warp; k < found; k += threads / 32) {
    const std::int64_t end = end_of_run(job.ids, starts[k] + long_run, job.shape.tokens);
    if (lane == 0) lengths[k] = static_cast<int>(end - starts[k]);
  }
  const std::int64_t first = strip_index * strip::columns;
  const int width = static_cast<int>(min(job.shape.hidden - first, std::int64_t{strip::columns}));
  for (int k = 0; k < found; ++k) {
    ring.init();  // and lengths are there
    const int rows = lengths[k];
    const std::int64_t start = starts[k];
    if (warp > 0) {
      strip::copy_rows<threads / 32 - 1>(
          ring, warp - 1, rows, width,
          RunRows<Grad>{job.positions + start, job.grad + first, job.grad_stride});
    } else {
      const float sum = strip::fold_rows(ring, 0, rows);
      if (lane < width) job.dweight[job.ids[start] * job.shape.hidden + first + lane] = rounded<Weight>(sum);
    }
    ring.end();
  }
}

// Short runs ---------------------------------------------------------------------------------------------

/// What tells whether a short run starts at a place. All of it is under way at once.
struct Start {
  std::int64_t position;
  std::int64_t id;
  std::int64_t before;
  std::int64_t next;
  std::int64_t far;
};

template <class Grad, class Weight>
__device__ Start look_at(const Job<Grad, Weight>& job, std::int64_t first) {
  const std::int64_t tokens = job.shape.tokens;
  if (first >= tokens) return {0, -1, -1, -1, -1};
  return {.position = job.positions[first],
          .id = job.ids[first],
          .before = first > 0 ? job.ids[first - 1] : -1,
          .next = first + 1 < tokens ? job.ids[first + 1] : -1,
          .far = first + long_run < tokens ? job.ids[first + long_run] : -1};
}

/// Adds the short runs that start at `first` and every `step` places behind. Each thread holds `pieces`
/// pieces of a row from `column` on, and has the run's next row, and what it must know of the next run, under
/// way.
template <int pieces, class Grad, class Weight>
__device__ void add_short_runs(const Job<Grad, Weight>& job, std::int64_t first, std::int64_t step,
                               std::int64_t column) {
  constexpr int n = piece<Grad>;
  const std::int64_t h = column + std::int64_t{threadIdx.x} * n;
  const auto load = [&](Several<Grad, n>(&to)[pieces], std::int64_t position) {
#pragma unroll
    for (int k = 0; k < pieces; ++k)
      if (h + k * threads * n < job.shape.hidden)
        to[k] = *reinterpret_cast<const Several<Grad, n>*>(job.grad + position * job.grad_stride + h +
                                                           k * threads * n);
  };
  Start start = look_at(job, first);
  for (; first < job.shape.tokens; first += step) {
    const Start run = start;
    start = look_at(job, first + step);
    if (!job.in_range(run.id) || run.before == run.id || run.far == run.id) continue;
    float acc[pieces][n] = {};
    Several<Grad, n> row[pieces];
    load(row, run.position);
    const auto add = [&] {
#pragma unroll
      for (int k = 0; k < pieces; ++k)
#pragma unroll
        for (int i = 0; i < n; ++i) acc[k][i] = __fadd_rn(acc[k][i], to_float(row[k].elements[i]));
    };
    if (run.next == run.id) {
      for (std::int64_t i = first + 1; i < job.shape.tokens && job.ids[i] == run.id; ++i) {
        Several<Grad, n> after[pieces];
        load(after, job.positions[i]);
        add();
#pragma unroll
        for (int k = 0; k < pieces; ++k) row[k] = after[k];
      }
    }
    add();
#pragma unroll
    for (int k = 0; k < pieces; ++k) {
      if (h + k * threads * n >= job.shape.hidden) break;
      Several<Weight, n> out;
#pragma unroll
      for (int i = 0; i < n; ++i) out.elements[i] = rounded<Weight>(acc[k][i]);
      *reinterpret_cast<Several<Weight, n>*>(job.dweight + run.id * job.shape.hidden + h + k * threads * n) =
          out;
    }
  }
}

// Rows that no id names ----------------------------------------------------------------------------------

/// Zeroes those of rows [first, first + zeroed_rows) of dweight.
template <class Grad, class Weight>
__device__ void zero_unused_rows(const Job<Grad, Weight>& job, std::int64_t first) {
  __shared__ bool used[zeroed_rows];
  if (threadIdx.x < zeroed_rows) {
    const std::int64_t id = first + threadIdx.x;
    std::int64_t low = 0;
    std::int64_t high = job.shape.tokens;
    while (low < high) {
      const std::int64_t mid = low + (high - low) / 2;
      if (job.ids[mid] < id)
        low = mid + 1;
      else
        high = mid;
    }
    used[threadIdx.x] = low < job.shape.tokens && job.ids[low] == id;
  }
  __syncthreads();
  const std::int64_t row_pieces = job.shape.hidden * static_cast<std::int64_t>(sizeof(Weight)) / 16;
  for (int r = 0; r < zeroed_rows && first + r < job.shape.vocab; ++r) {
    if (used[r]) continue;
    uint4* const row = reinterpret_cast<uint4*>(job.dweight + (first + r) * job.shape.hidden);
    for (std::int64_t i = threadIdx.x; i < row_pieces; i += threads) row[i] = uint4{0, 0, 0, 0};
  }
}

// The launch ---------------------------------------------------------------------------------------------

/// How many blocks of each kind; long runs first, since they may take longest.
struct Blocks {
  std::int64_t strips;      // of a row
  std::int64_t long_runs;   // strips x groups of windows
  std::int64_t short_runs;  // places x columns' parts
  std::int64_t parts;
};

template <int pieces, class Grad, class Weight>
__global__ void __launch_bounds__(threads, 5)
    add_runs(const __grid_constant__ Job<Grad, Weight> job, const __grid_constant__ Blocks blocks) {
  __shared__ __align__(16) Ring<Grad> ring;
  std::int64_t block = blockIdx.x;
  if (block < blocks.long_runs)
    return fold_long_runs(job, ring, block % blocks.strips, block / blocks.strips);
  block -= blocks.long_runs;
  if (block < blocks.short_runs)
    return add_short_runs<pieces>(job, block / blocks.parts, blocks.short_runs / blocks.parts,
                                  block % blocks.parts * (pieces * threads * piece<Grad>));
  zero_unused_rows(job, (block - blocks.short_runs) * zeroed_rows);
}

template <int pieces, class Grad, class Weight>
void launch_blocks(const Job<Grad, Weight>& job, bool zero_rest, Stream stream) {
  const auto& [tokens, vocab, hidden] = job.shape;
  Blocks blocks{};
  blocks.strips = ceil_div(hidden, strip::columns);
  blocks.long_runs = blocks.strips * ceil_div(tokens, windows * long_run);
  blocks.parts = ceil_div(hidden, pieces * threads * piece<Grad>);
  int device = 0;
  int multiprocessors = 0;
  cuda_check(cudaGetDevice(&device));
  cuda_check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  blocks.short_runs = std::min<std::int64_t>(tokens, 10 * multiprocessors) * blocks.parts;
  const std::int64_t all =
      blocks.long_runs + blocks.short_runs + (zero_rest ? ceil_div(vocab, zeroed_rows) : 0);
  add_runs<pieces>
      <<<grid_blocks(all, 1, grid_x, "embedding_backward: tokens, vocab and hidden must fit a grid"), threads,
         0, stream>>>(job, blocks);
  check_launch();
}

template <class Grad, class Weight>
bool cuts_evenly(const Args& args) {
  const auto aligned = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p) % 16 == 0; };
  constexpr std::int64_t n = std::max(piece<Grad>, static_cast<int>(16 / sizeof(Weight)));
  return args.shape.hidden % n == 0 && args.grad_stride % n == 0 && aligned(args.grad.data) &&
         aligned(args.dweight.data);
}

template <class Grad, class Weight>
void launch(const Args& args, bool zero_rest, Stream stream) {
  const Job<Grad, Weight> job{.shape = args.shape,
                              .ids = args.sorted.ids,
                              .positions = args.sorted.positions,
                              .grad = args.grad.as<Grad>(),
                              .grad_stride = args.grad_stride,
                              .dweight = args.dweight.as<Weight>()};
  const std::int64_t thread_pieces = ceil_div(args.shape.hidden, threads * piece<Grad>);
  if (thread_pieces <= 1) return launch_blocks<1>(job, zero_rest, stream);
  if (thread_pieces <= 2) return launch_blocks<2>(job, zero_rest, stream);
  launch_blocks<4>(job, zero_rest, stream);
}

/// Whether hidden and addresses allow 16-byte pieces; else the plain walk does it.
bool takes_pieces(const Args& args) {
  bool evenly = false;
  with_types(args, [&]<class Id, class Grad, class Weight>() { evenly = cuts_evenly<Grad, Weight>(args); });
  return evenly && args.shape.tokens < (std::int64_t{1} << 31);
}

}  // namespace

void hot_and_cold_runs(const Args& args, Stream stream) {
  validate_sorted(args);
  const auto& [tokens, vocab, hidden] = args.shape;
  if (tokens == 0 || vocab == 0 || hidden == 0) return;
  if (!takes_pieces(args)) return sorted_segments(args, stream);
  with_types(args, [&]<class Id, class Grad, class Weight>() { launch<Grad, Weight>(args, false, stream); });
}

void hot_and_cold_whole(const Args& args, Stream stream) {
  validate_sort(args, nullptr);
  const auto& [tokens, vocab, hidden] = args.shape;
  if (tokens == 0 || vocab == 0 || hidden == 0 || !takes_pieces(args)) return sorted_whole(args, stream);
  sort_ids_in_vocab(args, stream);
  with_types(args, [&]<class Id, class Grad, class Weight>() { launch<Grad, Weight>(args, true, stream); });
}

}  // namespace strictbench::embedding_backward
