/// tuned: strips of 32 columns, each folded by one warp from a ring in shared memory that others keep full;
/// few rows at once through shared memory or, where they lie elsewhere than side by side, from registers.
///
/// The chain of adds bounds narrow matrices (4 cycles a row), memory the wide ones. A strip is one warp wide,
/// so that 128 columns already spread over four SMs, and 4096 over 128. The warp reads by `ldmatrix`, 4 rows
/// of fp32 or 8 of 16 bits an instruction: what is left to issue beside an add are the conversion and a
/// quarter of a read, and fewer instructions than cycles.
///
/// Few rows feel what comes before the first add: so both copying warps work on each stage, and the first one
/// is under way before the ring's barriers are made.
///
/// Tried and did not pay (H200; us of 16,384 x 128 in fp32, 35.7 as it is): 64 rows a stage 46.6; 256
/// rows 35.8, but 1,024 x 128 then takes 3.57 instead of 3.41; the next stage's first reads behind a
/// predicate, not a branch 37.0; rows read in batches of 128, each while the one before is added, 40.7.
/// Beside such batches in bf16 (41): one `ld.shared` a row 56; three or four copying warps 44, 42.
#include <type_traits>
#include <utility>

#include "kernels/common/cuda_error.h"
#include "kernels/common/require.h"
#include "kernels/common/strip_fold.h"
#include "kernels/row_fold/columns.h"
#include "kernels/row_fold/row_fold.h"

namespace strictbench::row_fold {
namespace {

// Few rows, or any layout --------------------------------------------------------------------------------

/// All loads of a column under way at once: past the last row they read it again, and nobody adds it. Rows
/// lie `stride` bytes apart, in 32 bits, so that an address is one instruction.
template <int most, class T, class Columns>
__global__ void fold_few(const T* rows, int row_count, std::int64_t cols, std::uint32_t stride, float* out,
                         const __grid_constant__ Columns columns) {
  const std::int64_t c = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (c >= cols) return;
  const char* const from = reinterpret_cast<const char*>(rows + columns.offset(c));
  T held[most];
#pragma unroll
  for (int i = 0; i < most; ++i)
    held[i] = *reinterpret_cast<const T*>(from + std::uint64_t{static_cast<unsigned>(min(i, row_count - 1))} *
                                                     stride);
  float acc = 0.0f;
#pragma unroll
  for (int i = 0; i < most; ++i) acc = __fadd_rn(acc, i < row_count ? to_float(held[i]) : 0.0f);
  out[c] = acc;
}

/// The same through shared memory, 16 bytes a load: a quarter of the instructions or less, which at this size
/// take longer to fetch than the rows do. A warp a block.
template <int most, class T>
__global__ void __launch_bounds__(32)
    fold_few_pieces(const T* rows, int row_count, std::int64_t cols, std::int64_t stride, float* out) {
  __shared__ __align__(16) T held[most][strip::columns];
  constexpr int elements = strip::piece_bytes / static_cast<int>(sizeof(T));
  constexpr int pieces = strip::columns / elements;
  const int lane = static_cast<int>(threadIdx.x);
  const std::int64_t first = std::int64_t{blockIdx.x} * strip::columns;
  const int c = lane % pieces * elements;
  const bool inside = first + c < cols;
  const T* from = rows + first + c + lane / pieces * stride;
#pragma unroll
  for (int r = 0; r < most; r += 32 / pieces) {
    strip::copy_piece(&held[r + lane / pieces][c], from, inside && r + lane / pieces < row_count);
    from += 32 / pieces * stride;
  }
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncwarp();
  const std::uint32_t begin = strip::shared_address(&held[0][0]) + strip::piece_of_lane<T>(sizeof(held[0]));
  strip::Words words[most / strip::rows_at_once<T>];
#pragma unroll
  for (int i = 0; i < most / strip::rows_at_once<T>; ++i)
    words[i] = strip::read_rows<T>(begin + i * strip::rows_at_once<T> * static_cast<int>(sizeof(held[0])));
  float acc = 0.0f;
#pragma unroll
  for (int i = 0; i < most / strip::rows_at_once<T>; ++i) acc = strip::added<T>(acc, words[i]);
  const std::int64_t to = first + strip::column_of_lane<T>();
  if (to < cols) out[to] = acc;
}

/// Any number of rows, 32 loads at a time.
template <class T, class Columns>
__global__ void fold_in_batches(const T* rows, std::int64_t row_count, std::int64_t cols, std::int64_t stride,
                                float* out, const __grid_constant__ Columns columns) {
  constexpr int batch = 32;
  const std::int64_t c = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (c >= cols) return;
  const T* from = rows + columns.offset(c);
  float acc = 0.0f;
  std::int64_t left = row_count;
  for (; left >= batch; left -= batch, from += batch * stride) {
    T held[batch];
#pragma unroll
    for (int i = 0; i < batch; ++i) held[i] = from[i * stride];
#pragma unroll
    for (int i = 0; i < batch; ++i) acc = __fadd_rn(acc, to_float(held[i]));
  }
  for (; left > 0; --left, from += stride) acc = __fadd_rn(acc, to_float(*from));
  out[c] = acc;
}

// Many rows ----------------------------------------------------------------------------------------------

constexpr int copiers = 2;

template <int folders>
inline constexpr int stage_rows = folders <= 2 ? 128 : 64;
/// 128 KB.
template <class T, int folders>
using Ring =
    strip::Ring<T, folders,
                131072 / (stage_rows<folders> * strip::columns * folders * static_cast<int>(sizeof(T))),
                stage_rows<folders>>;

template <class T, int folders>
__global__ void __launch_bounds__(32 * (folders + copiers), 1)
    fold_strips(const T* rows, std::int64_t row_count, std::int64_t cols, std::int64_t stride, float* out) {
  extern __shared__ __align__(strip::line_bytes) unsigned char memory[];
  auto& ring = *reinterpret_cast<Ring<T, folders>*>(memory);
  const std::int64_t first = std::int64_t{blockIdx.x} * (folders * strip::columns);
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int width = static_cast<int>(min(cols - first, std::int64_t{folders * strip::columns}));
  strip::RowCopier<copiers, T, Ring<T, folders>> copier(ring, warp - folders, row_count, width, rows + first,
                                                        stride);
  if (warp >= folders) copier.begin();
  if (threadIdx.x == 0) ring.init(copiers);
  __syncthreads();
  if (warp >= folders) return copier.copy_rest();
  typename Ring<T, folders>::Turn turn;
  const float sum = strip::fold_rows<T>(ring, warp, turn, row_count);
  const std::int64_t c = first + warp * strip::columns + strip::column_of_lane<T>();
  if (c < cols) out[c] = sum;
}

template <int folders, class T>
void launch_strips(const T* rows, const Flattened& shape, float* out, Stream stream) {
  constexpr int bytes = sizeof(Ring<T, folders>);
  const auto kernel = fold_strips<T, folders>;
  cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  const unsigned blocks = grid_blocks(shape.cols, folders * strip::columns, grid_x,
                                      "row_fold: the columns of rows must fit a grid");
  kernel<<<blocks, 32 * (folders + copiers), bytes, stream>>>(rows, shape.rows, shape.cols, shape.row_stride,
                                                              out);
  check_launch();
}

int attribute(cudaDeviceAttr which) {
  int device = 0;
  int value = 0;
  cuda_check(cudaGetDevice(&device));
  cuda_check(cudaDeviceGetAttribute(&value, which, device));
  return value;
}

/// Whether a block may have the ring: not on every GPU of these compute capabilities.
bool ring_fits() { return attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) >= 132 * 1024; }

/// Whether every row is cut evenly into pieces that can be copied.
template <class T>
bool cuts_evenly(const T* rows, const Flattened& shape) {
  constexpr std::int64_t elements = strip::piece_bytes / sizeof(T);
  return shape.cols % elements == 0 && shape.row_stride % elements == 0 &&
         reinterpret_cast<std::uintptr_t>(rows) % strip::piece_bytes == 0;
}

constexpr std::int64_t few_rows = 64;  // at most

}  // namespace

void strips(const Args& args, Stream stream) {
  validate(args);
  const Flattened shape = flattened(args.rows);
  if (shape.cols == 0) return;
  with_elements(args.rows, shape.columns, [&]<class T, class Columns>(const T* rows, const Columns& columns) {
    if constexpr (std::is_same_v<Columns, AdjacentColumns>) {
      if (shape.rows > few_rows && cuts_evenly(rows, shape) && ring_fits()) {
        const std::int64_t strips_in_all = ceil_div(shape.cols, strip::columns);
        const int sms = attribute(cudaDevAttrMultiProcessorCount);
        if (strips_in_all <= sms) return launch_strips<1>(rows, shape, args.out, stream);
        if (strips_in_all <= 2 * sms) return launch_strips<2>(rows, shape, args.out, stream);
        return launch_strips<4>(rows, shape, args.out, stream);
      }
      if (shape.rows > 0 && shape.rows <= few_rows && cuts_evenly(rows, shape)) {
        const auto few = [&]<int most>() {
          const unsigned blocks = grid_blocks(shape.cols, strip::columns, grid_x,
                                              "row_fold: the columns of rows must fit a grid");
          fold_few_pieces<most><<<blocks, 32, 0, stream>>>(rows, static_cast<int>(shape.rows), shape.cols,
                                                           shape.row_stride, args.out);
          check_launch();
        };
        if (shape.rows <= 8) return few.template operator()<8>();
        if (shape.rows <= 16) return few.template operator()<16>();
        if (shape.rows <= 32) return few.template operator()<32>();
        return few.template operator()<64>();
      }
    }
    const int threads = shape.cols <= 8192 ? 32 : 128;
    const unsigned blocks =
        grid_blocks(shape.cols, threads, grid_x, "row_fold: the columns of rows must fit a grid");
    const std::int64_t stride = shape.row_stride * static_cast<std::int64_t>(sizeof(T));
    const auto few = [&]<int most>() {
      fold_few<most><<<blocks, threads, 0, stream>>>(rows, static_cast<int>(shape.rows), shape.cols,
                                                     static_cast<std::uint32_t>(stride), args.out, columns);
    };
    if (shape.rows == 0 || shape.rows > few_rows || !std::in_range<std::uint32_t>(stride))
      fold_in_batches<<<blocks, threads, 0, stream>>>(rows, shape.rows, shape.cols, shape.row_stride,
                                                      args.out, columns);
    else if (shape.rows == 1)
      few.template operator()<1>();
    else if (shape.rows <= 8)
      few.template operator()<8>();
    else if (shape.rows <= 16)
      few.template operator()<16>();
    else if (shape.rows <= 32)
      few.template operator()<32>();
    else
      few.template operator()<64>();
    check_launch();
  });
}

}  // namespace strictbench::row_fold
