/// What the tuned kernels share: eight bf16 numbers at a time, which products may be fused, and their launch.
/// Included by *.cu only.
#pragma once
#include <cuda_bf16.h>

#include <cstddef>
#include <cstdint>

#include "kernels/common/cuda_error.h"
#include "kernels/common/require.h"
#include "kernels/dw_gemm/dw_gemm.h"

namespace strictbench::dw_gemm {
namespace {

constexpr int run = 8;  // neighbouring elements of a thread: 16 bytes of bf16

/// `n` bf16 numbers side by side.
template <int n>
struct alignas(2 * n) Pack {
  std::uint32_t pairs[n / 2];
};
using Eight = Pack<8>;

__device__ float low(std::uint32_t pair) { return __uint_as_float(pair << 16); }
__device__ float high(std::uint32_t pair) { return __uint_as_float(pair & 0xffff0000u); }

// Which products are exact -------------------------------------------------------------------------------

/// The least and the greatest magnitude, as bf16 bits, of what is not zero. Kept for the two halves of words
/// apart, and the least less one, so that a zero wraps around and is no minimum.
struct Range {
  unsigned least_less_one = 0xffffffff;
  unsigned most = 0;

  template <int n>
  __device__ void add(const Pack<n>& pack) {
#pragma unroll
    for (int i = 0; i < n / 2; ++i) {
      const unsigned magnitudes = pack.pairs[i] & 0x7fff7fffu;
      least_less_one = __viaddmin_u16x2(magnitudes, 0xffffffffu, least_less_one);
      most = __vmaxu2(magnitudes, most);
    }
  }
  /// By whole warps, into shared memory; there both halves are the same.
  __device__ void add_to(Range& shared) const {
    const unsigned low = min(least_less_one & 0xffffu, least_less_one >> 16);
    const unsigned high = max(most & 0xffffu, most >> 16);
    atomicMin(&shared.least_less_one, __reduce_min_sync(0xffffffffu, low) * 0x10001u);
    atomicMax(&shared.most, __reduce_max_sync(0xffffffffu, high) * 0x10001u);
  }
  /// Exponents, as they stand in bf16 numbers. 0 is that of subnormal numbers.
  __device__ unsigned least_exponent() const {
    return (min(least_less_one & 0xffffu, least_less_one >> 16) + 1) >> 7;
  }
  __device__ unsigned most_exponent() const { return max(most & 0xffffu, most >> 16) >> 7; }
};

/// Whether every product of the two is exact: below 2^128, and no bit of it under 2^-149. An exponent e
/// stands for 2^(e - 127), the last bit of its number for 2^(e - 134), and subnormal numbers count as out of
/// range.
__device__ bool products_are_exact(const Range& x, const Range& dy) {
  return x.least_exponent() > 0 && dy.least_exponent() > 0 && x.most_exponent() + dy.most_exponent() <= 380 &&
         x.least_exponent() + dy.least_exponent() >= 119;
}

// Loads and roundings ------------------------------------------------------------------------------------

/// Eight bf16 numbers, zeros from `count` on. `vectors`: they are aligned, and there are eight or none.
template <bool vectors>
__device__ Eight load_eight(const std::uint16_t* from, std::int64_t count) {
  Eight eight{};
  if constexpr (vectors) {
    if (count > 0) eight = *reinterpret_cast<const Eight*>(from);
  } else {
#pragma unroll
    for (int i = 0; i < 8; ++i)
      if (i < count) eight.pairs[i / 2] |= std::uint32_t{from[i]} << (16 * (i % 2));
  }
  return eight;
}

__device__ std::uint32_t rounded_pair(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const std::uint32_t*>(&pair);
}

// Launches -----------------------------------------------------------------------------------------------

/// Whether all rows may be loaded and stored by 16 bytes.
bool takes_vectors(const Args& args) {
  const auto aligned = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p) % sizeof(Eight) == 0; };
  return args.shape.in % run == 0 && args.shape.out % run == 0 && aligned(args.x) && aligned(args.dy) &&
         aligned(args.dw);
}

template <class Kernel>
void launch(Kernel kernel, dim3 grid, int block, std::size_t shared_bytes, const Args& args, Stream stream) {
  kernel<<<grid, block, shared_bytes, stream>>>(args.shape, reinterpret_cast<const std::uint16_t*>(args.x),
                                                reinterpret_cast<const std::uint16_t*>(args.dy),
                                                reinterpret_cast<std::uint16_t*>(args.dw));
  check_launch();
}

}  // namespace
}  // namespace strictbench::dw_gemm
