#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <cub/device/device_segmented_reduce.cuh>

#include "bench/peers/cub_fold.h"
#include "kernels/common/cuda_error.h"

namespace strictbench::peers {
namespace {

/// Element i of the columns one behind the other.
struct DownColumns {
  const float* in;
  std::int64_t rows;
  std::int64_t cols;
  __host__ __device__ float operator()(std::int64_t i) const { return in[(i % rows) * cols + i / rows]; }
};

/// Where column c begins.
struct ColumnStart {
  std::int64_t rows;
  __host__ __device__ std::int64_t operator()(std::int64_t c) const { return c * rows; }
};

template <class In>
void sum_columns(void* temporary, std::size_t& bytes, In in, std::int64_t rows, std::int64_t cols, float* out,
                 Stream stream) {
  const auto starts =
      thrust::make_transform_iterator(thrust::make_counting_iterator<std::int64_t>(0), ColumnStart{rows});
  cuda_check(cub::DeviceSegmentedReduce::Sum(temporary, bytes, in, out, static_cast<int>(cols), starts,
                                             starts + 1, stream));
}

}  // namespace

void cub_strided(void* temporary, std::size_t& bytes, const float* in, std::int64_t rows, std::int64_t cols,
                 float* out, Stream stream) {
  sum_columns(temporary, bytes,
              thrust::make_transform_iterator(thrust::make_counting_iterator<std::int64_t>(0),
                                              DownColumns{in, rows, cols}),
              rows, cols, out, stream);
}

void cub_transposed(void* temporary, std::size_t& bytes, const float* in, std::int64_t rows,
                    std::int64_t cols, float* out, Stream stream) {
  sum_columns(temporary, bytes, in, rows, cols, out, stream);
}

}  // namespace strictbench::peers
