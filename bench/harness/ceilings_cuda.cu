/// What a GPU can do at best: kernels that do one thing each, and nothing beside it.
#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "bench/harness/backends.h"
#include "kernels/common/cuda_error.h"

namespace strictbench {
namespace {

__global__ void nothing() {}

__global__ void load_add_store(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x] + 1.0f; }

/// Each thread has four loads of 16 bytes in flight.
__global__ void __launch_bounds__(512) read_all(const uint4* in, std::size_t count, uint4* never) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  uint4 bits{};
  const auto take = [&](const uint4& v) {
    bits.x |= v.x;
    bits.y |= v.y;
    bits.z |= v.z;
    bits.w |= v.w;
  };
  for (; i + 3 * step < count; i += 4 * step) {
    const uint4 a = in[i], b = in[i + step], c = in[i + 2 * step], d = in[i + 3 * step];
    take(a), take(b), take(c), take(d);
  }
  for (; i < count; i += step) take(in[i]);
  // Random data has all bits set soon; the compiler does not know that what is left is false.
  if (bits.x == 1 && bits.y == 2 && bits.z == 3 && bits.w == 4) *never = bits;
}

constexpr unsigned copy_threads = 256;
constexpr unsigned pieces = 4;  // of 16 bytes a thread

__global__ void __launch_bounds__(copy_threads) write_all(uint4* out, std::size_t count) {
  const std::size_t i = std::size_t{blockIdx.x} * (pieces * copy_threads) + threadIdx.x;
  const uint4 value{0x3f800000u, 0xbf123456u, 0x40490fdbu, 0x3eaaaaabu};
#pragma unroll
  for (unsigned k = 0; k < pieces; ++k)
    if (i + k * copy_threads < count) out[i + k * copy_threads] = value;
}

__global__ void __launch_bounds__(copy_threads) copy_all(const uint4* in, uint4* out, std::size_t count) {
  const std::size_t i = std::size_t{blockIdx.x} * (pieces * copy_threads) + threadIdx.x;
  uint4 values[pieces];
#pragma unroll
  for (unsigned k = 0; k < pieces; ++k)
    if (i + k * copy_threads < count) values[k] = in[i + k * copy_threads];
#pragma unroll
  for (unsigned k = 0; k < pieces; ++k)
    if (i + k * copy_threads < count) out[i + k * copy_threads] = values[k];
}

constexpr int unrolled = 32;

__global__ void add_in_a_chain(const float* in, float* out, int rounds) {
  const float x = in[threadIdx.x];
  float sum = 0.0f;
  for (int i = 0; i < rounds; ++i) {
#pragma unroll
    for (int k = 0; k < unrolled; ++k) sum = __fadd_rn(sum, x);
  }
  out[threadIdx.x] = sum;
}

constexpr int independent = 8;  // chains a thread
constexpr unsigned busy_threads = 1024;
constexpr unsigned busy_blocks = 2;  // an SM

__global__ void __launch_bounds__(busy_threads) multiply_add(const float* in, float* never, int rounds) {
  float sums[independent];
#pragma unroll
  for (int k = 0; k < independent; ++k) sums[k] = static_cast<float>(threadIdx.x + k);
  const float factor = 1.0001f;
  const float x = *in;
  for (int i = 0; i < rounds; ++i) {
#pragma unroll
    for (int k = 0; k < independent; ++k) sums[k] = __fmaf_rn(sums[k], factor, x);
  }
  float all = 0.0f;
#pragma unroll
  for (int k = 0; k < independent; ++k) all += sums[k];
  if (all == 1.2345f) *never = all;
}

unsigned blocks_of(std::size_t count, std::size_t each) {
  return static_cast<unsigned>(std::max<std::size_t>(1, (count + each - 1) / each));
}

}  // namespace

ProbeCall cuda_probe(Probe probe, void* memory, double amount, int sms) {
  auto* const floats = static_cast<float*>(memory);
  auto* const words = static_cast<uint4*>(memory);
  const auto rounded_up = [](double all, double each) {
    return static_cast<std::size_t>((all + each - 1) / each);
  };
  switch (probe) {
    case Probe::blocks:
      return {[blocks = static_cast<unsigned>(amount)](Stream s) {
                nothing<<<blocks, 32, 0, s>>>();
                check_launch();
              },
              amount};
    case Probe::load_add_store:
      return {[floats](Stream s) {
                load_add_store<<<1, 128, 0, s>>>(floats, floats + 1024);
                check_launch();
              },
              1};
    case Probe::chain: {
      const auto rounds = static_cast<int>(rounded_up(amount, unrolled));
      return {[floats, rounds](Stream s) {
                add_in_a_chain<<<1, 32, 0, s>>>(floats, floats + 1024, rounds);
                check_launch();
              },
              static_cast<double>(rounds) * unrolled};
    }
    case Probe::instructions: {
      const unsigned blocks = busy_blocks * static_cast<unsigned>(sms);
      const double a_round = double{independent} * busy_threads * blocks;
      const auto rounds = static_cast<int>(rounded_up(amount, a_round));
      return {[floats, blocks, rounds](Stream s) {
                multiply_add<<<blocks, busy_threads, 0, s>>>(floats, floats + 1024, rounds);
                check_launch();
              },
              a_round * rounds};
    }
    case Probe::read: {
      constexpr unsigned threads = 512;
      const std::size_t count = rounded_up(amount, sizeof(uint4));
      const unsigned blocks = std::min(4 * static_cast<unsigned>(sms), blocks_of(count, threads));
      return {[words, count, blocks](Stream s) {
                read_all<<<blocks, threads, 0, s>>>(words, count, words);
                check_launch();
              },
              amount};
    }
    case Probe::write: {
      const std::size_t count = rounded_up(amount, sizeof(uint4));
      return {[words, count](Stream s) {
                write_all<<<blocks_of(count, pieces * copy_threads), copy_threads, 0, s>>>(words, count);
                check_launch();
              },
              amount};
    }
    case Probe::copy: {
      const std::size_t count = rounded_up(amount / 2, sizeof(uint4));
      constexpr std::size_t alignment = 256 / sizeof(uint4);
      uint4* const to = words + (count + alignment - 1) / alignment * alignment;
      return {[words, to, count](Stream s) {
                copy_all<<<blocks_of(count, pieces * copy_threads), copy_threads, 0, s>>>(words, to, count);
                check_launch();
              },
              amount};
    }
  }
  throw std::invalid_argument("no such probe");
}

}  // namespace strictbench
