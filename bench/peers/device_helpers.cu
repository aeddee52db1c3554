#include "bench/peers/device_helpers.h"
#include "kernels/common/cuda_error.h"
#include "kernels/common/random.h"
#include "kernels/common/require.h"

namespace strictbench::peers {
namespace {

constexpr int threads = 256;

template <class T>
__global__ void __launch_bounds__(threads) wide_values(T* to, std::size_t count, std::uint64_t key) {
  const std::size_t i = std::size_t{blockIdx.x} * threads + threadIdx.x;
  if (i >= count) return;
  const float scale = random_below(~key, i, 2) == 0 ? 0x1p-9f : 0x1p12f;
  to[i] = rounded<T>(random_normal(key, i) * scale);
}

__global__ void __launch_bounds__(threads)
    transpose_elements(float* to, const float* from, std::int64_t rows, std::int64_t cols) {
  const std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (i < rows * cols) to[(i % cols) * rows + i / cols] = from[i];
}

unsigned blocks_for(std::size_t count) { return static_cast<unsigned>((count + threads - 1) / threads); }

}  // namespace

void fill_wide(void* to, Dtype dtype, std::size_t count, std::uint64_t key, Stream stream) {
  with_type(dtype, [&]<class T>() {
    wide_values<<<blocks_for(count), threads, 0, stream>>>(static_cast<T*>(to), count, key);
  });
  check_launch();
}

void transpose(float* to, const float* from, std::int64_t rows, std::int64_t cols, Stream stream) {
  transpose_elements<<<blocks_for(static_cast<std::size_t>(rows * cols)), threads, 0, stream>>>(to, from,
                                                                                                rows, cols);
  check_launch();
}

}  // namespace strictbench::peers
