/// What a GPU can do at best: kernels that do one thing each, and nothing beside it.
#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "bench/harness/backends.h"
#include "kernels/common/cuda_error.h"

namespace strictbench {
namespace {

__global__ void nothing() {}

__global__ void load_add_store(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x] + 1.0f; }

// Moving bytes: how many threads with how many pieces do it fastest depends on how many bytes there are, and
// on the GPU. So each is done in several ways, and the fastest is the ceiling.

__device__ void take(uint4& bits, const uint4& v) {
  bits.x |= v.x;
  bits.y |= v.y;
  bits.z |= v.z;
  bits.w |= v.w;
}

/// No data here comes to 1, 2, 3, 4; the compiler does not know that.
__device__ void pretend_to_store(const uint4& bits, uint4* never) {
  if (bits.x == 1 && bits.y == 2 && bits.z == 3 && bits.w == 4) *never = bits;
}

/// Each thread has four loads of 16 bytes in flight, as often as it takes.
__global__ void __launch_bounds__(512) read_in_turns(const uint4* in, std::size_t count, uint4* never) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  uint4 bits{};
  for (; i + 3 * step < count; i += 4 * step) {
    const uint4 a = in[i], b = in[i + step], c = in[i + 2 * step], d = in[i + 3 * step];
    take(bits, a), take(bits, b), take(bits, c), take(bits, d);
  }
  for (; i < count; i += step) take(bits, in[i]);
  pretend_to_store(bits, never);
}

/// `pieces` of 16 bytes a thread.
template <int threads, int pieces>
__global__ void __launch_bounds__(threads) read_once(const uint4* in, std::size_t count, uint4* never) {
  const std::size_t i = std::size_t{blockIdx.x} * (pieces * threads) + threadIdx.x;
  uint4 bits{};
#pragma unroll
  for (int k = 0; k < pieces; ++k)
    if (i + k * threads < count) take(bits, in[i + k * threads]);
  pretend_to_store(bits, never);
}

/// `streamed`: marked as used once.
template <bool streamed>
__device__ void put(uint4* to, const uint4& value) {
  if constexpr (streamed)
    __stcs(to, value);
  else
    *to = value;
}

template <int threads, int pieces, bool streamed>
__global__ void __launch_bounds__(threads) write_once(uint4* out, std::size_t count) {
  const std::size_t i = std::size_t{blockIdx.x} * (pieces * threads) + threadIdx.x;
  const uint4 value{0x3f800000u, 0xbf123456u, 0x40490fdbu, 0x3eaaaaabu};
#pragma unroll
  for (int k = 0; k < pieces; ++k)
    if (i + k * threads < count) put<streamed>(out + i + k * threads, value);
}

template <int threads, int pieces, bool streamed>
__global__ void __launch_bounds__(threads) copy_once(const uint4* in, uint4* out, std::size_t count) {
  const std::size_t i = std::size_t{blockIdx.x} * (pieces * threads) + threadIdx.x;
  uint4 values[pieces];
#pragma unroll
  for (int k = 0; k < pieces; ++k)
    if (i + k * threads < count) values[k] = streamed ? __ldcs(in + i + k * threads) : in[i + k * threads];
#pragma unroll
  for (int k = 0; k < pieces; ++k)
    if (i + k * threads < count) put<streamed>(out + i + k * threads, values[k]);
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

std::size_t pieces_of(double bytes) {
  return static_cast<std::size_t>((bytes + sizeof(uint4) - 1) / sizeof(uint4));
}

template <int threads, int pieces>
Call reader(uint4* words, std::size_t count) {
  return [=](Stream s) {
    read_once<threads, pieces><<<blocks_of(count, threads * pieces), threads, 0, s>>>(words, count, words);
    check_launch();
  };
}

template <int threads, int pieces, bool streamed>
Call writer(uint4* words, std::size_t count) {
  return [=](Stream s) {
    write_once<threads, pieces, streamed>
        <<<blocks_of(count, threads * pieces), threads, 0, s>>>(words, count);
    check_launch();
  };
}

template <int threads, int pieces, bool streamed>
Call copier(const uint4* from, uint4* to, std::size_t count) {
  return [=](Stream s) {
    copy_once<threads, pieces, streamed>
        <<<blocks_of(count, threads * pieces), threads, 0, s>>>(from, to, count);
    check_launch();
  };
}

std::vector<Call> readers(uint4* words, std::size_t count, int sms) {
  constexpr unsigned threads = 512;
  const unsigned blocks = std::min(4 * static_cast<unsigned>(sms), blocks_of(count, threads));
  return {[=](Stream s) {
            read_in_turns<<<blocks, threads, 0, s>>>(words, count, words);
            check_launch();
          },
          reader<256, 4>(words, count), reader<256, 1>(words, count), reader<64, 1>(words, count)};
}

std::vector<Call> writers(uint4* words, std::size_t count) {
  return {writer<256, 4, false>(words, count), writer<256, 4, true>(words, count),
          writer<256, 1, false>(words, count), writer<64, 1, false>(words, count),
          [=](Stream s) { cuda_check(cudaMemsetAsync(words, 0x5a, count * sizeof(uint4), s)); }};
}

std::vector<Call> copiers(uint4* words, std::size_t count) {
  constexpr std::size_t alignment = 256 / sizeof(uint4);
  uint4* const to = words + (count + alignment - 1) / alignment * alignment;
  return {copier<256, 4, false>(words, to, count),
          copier<256, 4, true>(words, to, count),
          copier<256, 1, false>(words, to, count),
          copier<128, 1, true>(words, to, count),
          copier<64, 1, false>(words, to, count),
          [=](Stream s) {
            cuda_check(cudaMemcpyAsync(to, words, count * sizeof(uint4), cudaMemcpyDeviceToDevice, s));
          }};
}

}  // namespace

ProbeCalls cuda_probe(Probe probe, void* memory, double amount, int sms) {
  auto* const floats = static_cast<float*>(memory);
  auto* const words = static_cast<uint4*>(memory);
  const auto rounded_up = [](double all, double each) { return static_cast<int>((all + each - 1) / each); };
  switch (probe) {
    case Probe::blocks:
      return {{[blocks = static_cast<unsigned>(amount)](Stream s) {
                nothing<<<blocks, 32, 0, s>>>();
                check_launch();
              }},
              amount};
    case Probe::load_add_store:
      return {{[floats](Stream s) {
                load_add_store<<<1, 128, 0, s>>>(floats, floats + 1024);
                check_launch();
              }},
              1};
    case Probe::chain: {
      const int rounds = rounded_up(amount, unrolled);
      return {{[floats, rounds](Stream s) {
                add_in_a_chain<<<1, 32, 0, s>>>(floats, floats + 1024, rounds);
                check_launch();
              }},
              static_cast<double>(rounds) * unrolled};
    }
    case Probe::instructions: {
      const unsigned blocks = busy_blocks * static_cast<unsigned>(sms);
      const double a_round = double{independent} * busy_threads * blocks;
      const int rounds = rounded_up(amount, a_round);
      return {{[floats, blocks, rounds](Stream s) {
                multiply_add<<<blocks, busy_threads, 0, s>>>(floats, floats + 1024, rounds);
                check_launch();
              }},
              a_round * rounds};
    }
    case Probe::read:
      return {readers(words, pieces_of(amount), sms), amount};
    case Probe::write:
      return {writers(words, pieces_of(amount)), amount};
    case Probe::copy:
      return {copiers(words, pieces_of(amount / 2)), amount};
  }
  throw std::invalid_argument("no such probe");
}

}  // namespace strictbench
