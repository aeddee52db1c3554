#include <bit>

#include "bench/harness/elements_cuda.h"
#include "kernels/common/cuda_error.h"
#include "kernels/common/random.h"

namespace strictbench {

struct CudaComparer::Tally {
  unsigned long long count;
  unsigned long long first_index;
};

struct CudaComparer::Squares {
  double difference;
  double expected;
  unsigned long long worst_part;  ///< bits of a double that is not negative, which order as the numbers do
};

namespace {

constexpr int threads = 256;

/// Enough blocks to fill any GPU; each kernel below strides over the rest.
constexpr int blocks = 4096;

__device__ std::size_t first_element() { return std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ std::size_t grid_threads() { return std::size_t{gridDim.x} * blockDim.x; }

template <class T>
__global__ void fill(T* to, std::size_t count, T value) {
  for (std::size_t i = first_element(); i < count; i += grid_threads()) to[i] = value;
}

template <class T>
__global__ void fill_with_random(T* to, std::size_t count, std::uint64_t key, float scale) {
  for (std::size_t i = first_element(); i < count; i += grid_threads())
    to[i] = rounded<T>(random_normal(key, i) * scale);
}

/// Each thread keeps its own tally, so that an output wrong throughout costs no more than a right one.
template <class T>
__global__ void compare_elements(const T* got, const T* expected, Dtype dtype, std::size_t count,
                                 CudaComparer::Tally* tally) {
  unsigned long long differ = 0;
  unsigned long long first = ~0ull;
  for (std::size_t i = first_element(); i < count; i += grid_threads())
    if (!same_bits(dtype, got[i], expected[i])) {
      if (differ++ == 0) first = i;
    }
  if (differ == 0) return;
  atomicAdd(&tally->count, differ);
  atomicMin(&tally->first_index, first);
}

template <class T>
__global__ void add_squares(const T* got, const T* expected, std::size_t count,
                            CudaComparer::Squares* squares) {
  double difference = 0;
  double norm = 0;
  for (std::size_t i = first_element(); i < count; i += grid_threads()) {
    const double e = to_float(expected[i]);
    const double d = to_float(got[i]) - e;
    difference += d * d;
    norm += e * e;
  }
  atomicAdd(&squares->difference, difference);
  atomicAdd(&squares->expected, norm);
}

/// Sum over a block of part_elements threads, in its first one.
__device__ double block_sum(double value) {
  __shared__ double sums[part_elements / 32];
  for (int stride = 16; stride > 0; stride /= 2) value += __shfl_down_sync(0xffffffffu, value, stride);
  __syncthreads();  // the sums before these have been read
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = value;
  __syncthreads();
  double sum = 0;
  if (threadIdx.x == 0)
    for (const double s : sums) sum += s;
  return sum;
}

/// A block for each part in turn; after add_squares.
template <class T>
__global__ void __launch_bounds__(part_elements)
    find_worst_part(const T* got, const T* expected, std::size_t count, CudaComparer::Squares* squares) {
  const std::size_t parts = (count + part_elements - 1) / part_elements;
  const double average = squares->expected / static_cast<double>(parts);
  for (std::size_t part = blockIdx.x; part < parts; part += gridDim.x) {
    const std::size_t i = part * part_elements + threadIdx.x;
    const double e = i < count ? to_float(expected[i]) : 0.0;
    const double d = i < count ? to_float(got[i]) - e : 0.0;
    const double difference = block_sum(d * d);
    const double norm = block_sum(e * e);
    if (threadIdx.x > 0) continue;
    const double error = difference == 0 ? 0 : sqrt(difference / fmax(norm, average));
    // Any NaN becomes the greatest of all patterns: worse than infinity.
    const double worst = error >= 0 ? error : __longlong_as_double(0x7fffffffffffffffll);
    atomicMax(&squares->worst_part, static_cast<unsigned long long>(__double_as_longlong(worst)));
  }
}

}  // namespace

void poison_elements(void* to, Dtype dtype, std::size_t count, cudaStream_t stream) {
  if (dtype == Dtype::fp32)
    fill<<<blocks, threads, 0, stream>>>(static_cast<std::uint32_t*>(to), count, poison32);
  else
    fill<<<blocks, threads, 0, stream>>>(static_cast<std::uint16_t*>(to), count, poison16);
  check_launch();
}

void fill_random_elements(void* to, Dtype dtype, std::size_t count, std::uint64_t key, float scale,
                          cudaStream_t stream) {
  with_type(dtype, [&]<class T>() {
    fill_with_random<<<blocks, threads, 0, stream>>>(static_cast<T*>(to), count, key, scale);
  });
  check_launch();
}

CudaComparer::CudaComparer(cudaStream_t stream) : stream_(stream) {
  cuda_check(cudaMalloc(&tally_, sizeof(Tally)));
  cuda_check(cudaMalloc(&squares_, sizeof(Squares)));
}

CudaComparer::~CudaComparer() {
  cudaFree(tally_);
  cudaFree(squares_);
}

template <class T>
Difference CudaComparer::compare_as(const void* got, const void* expected, Dtype dtype, std::size_t count) {
  const auto* const g = static_cast<const T*>(got);
  const auto* const e = static_cast<const T*>(expected);
  Tally tally{.count = 0, .first_index = ~0ull};
  cuda_check(cudaMemcpyAsync(tally_, &tally, sizeof tally, cudaMemcpyHostToDevice, stream_));
  compare_elements<<<blocks, threads, 0, stream_>>>(g, e, dtype, count, tally_);
  check_launch();
  cuda_check(cudaMemcpyAsync(&tally, tally_, sizeof tally, cudaMemcpyDeviceToHost, stream_));
  cuda_check(cudaStreamSynchronize(stream_));
  Difference difference{.count = tally.count, .first_index = tally.first_index};
  if (difference.count == 0) return {};
  T bits[2] = {};
  cuda_check(cudaMemcpy(&bits[0], g + tally.first_index, sizeof(T), cudaMemcpyDeviceToHost));
  cuda_check(cudaMemcpy(&bits[1], e + tally.first_index, sizeof(T), cudaMemcpyDeviceToHost));
  difference.got = bits[0];
  difference.expected = bits[1];
  return difference;
}

Difference CudaComparer::compare(const void* got, const void* expected, Dtype dtype, std::size_t count) {
  return dtype == Dtype::fp32 ? compare_as<std::uint32_t>(got, expected, dtype, count)
                              : compare_as<std::uint16_t>(got, expected, dtype, count);
}

RelativeError CudaComparer::relative_error(const void* got, const void* expected, Dtype dtype,
                                           std::size_t count) {
  Squares squares{};
  cuda_check(cudaMemcpyAsync(squares_, &squares, sizeof squares, cudaMemcpyHostToDevice, stream_));
  with_type(dtype, [&]<class T>() {
    const auto* const g = static_cast<const T*>(got);
    const auto* const e = static_cast<const T*>(expected);
    add_squares<<<blocks, threads, 0, stream_>>>(g, e, count, squares_);
    check_launch();
    find_worst_part<<<blocks, static_cast<unsigned>(part_elements), 0, stream_>>>(g, e, count, squares_);
    check_launch();
  });
  cuda_check(cudaMemcpyAsync(&squares, squares_, sizeof squares, cudaMemcpyDeviceToHost, stream_));
  cuda_check(cudaStreamSynchronize(stream_));
  return {.whole = relative_l2(squares.difference, squares.expected),
          .worst_part = std::bit_cast<double>(squares.worst_part)};
}

}  // namespace strictbench
