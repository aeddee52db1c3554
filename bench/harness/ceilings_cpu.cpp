/// What a CPU can do at best, by one thread, as its variants have, for the target that they are compiled for. Optimized
/// in every build (bench/CMakeLists.txt).
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>

#include "bench/harness/backends.h"

namespace strictbench {
namespace {

#if defined(__AVX512F__)
constexpr int lane_bytes = 64;
#elif defined(__AVX__)
constexpr int lane_bytes = 32;
#else
constexpr int lane_bytes = 16;
#endif
using Lanes = float __attribute__((vector_size(lane_bytes)));
using Words = std::uint64_t __attribute__((vector_size(lane_bytes), may_alias));
constexpr std::size_t independent = 8;  // chains: what two units of a latency of four keep busy

void load_add_store(float* memory) {
  memory[1] = memory[0] + 1.0f;
  benchmark::ClobberMemory();
}

void read_all(const Words* words, std::size_t count) {
  Words bits[independent] = {};
  std::size_t i = 0;
  for (; i + independent <= count; i += independent)
    for (std::size_t k = 0; k < independent; ++k) bits[k] |= words[i + k];
  for (; i < count; ++i) bits[0] |= words[i];
  Words all{};  // the one that must be seen: what is looked at itself would be stored in every round
  for (std::size_t k = 0; k < independent; ++k) all |= bits[k];
  benchmark::DoNotOptimize(all);
}

void add_in_a_chain(const float* memory, std::size_t adds) {
  float x = *memory;
  benchmark::DoNotOptimize(x);
  float sum = 0;
  for (std::size_t i = 0; i < adds; ++i) sum += x;
  benchmark::DoNotOptimize(sum);
}

/// Additions, which are the fastest there is: without a fused instruction a multiply-add is two.
void add_side_by_side(const float* memory, std::size_t rounds) {
  Lanes x{};
  x += *memory;
  Lanes sums[independent] = {};
  benchmark::DoNotOptimize(x);
  for (std::size_t i = 0; i < rounds; ++i)
    for (Lanes& sum : sums) sum += x;
  Lanes all{};
  for (const Lanes& sum : sums) all += sum;
  benchmark::DoNotOptimize(all);
}

}  // namespace

ProbeCalls cpu_probe(Probe probe, void* memory, double amount) {
  auto* const floats = static_cast<float*>(memory);
  const auto count = static_cast<std::size_t>(amount);
  switch (probe) {
    case Probe::blocks:
      return {{[](Stream) {}}, 1};
    case Probe::load_add_store:
      return {{[floats](Stream) { load_add_store(floats); }}, 1};
    case Probe::chain:
      return {{[floats, count](Stream) { add_in_a_chain(floats, count); }}, amount};
    case Probe::instructions: {
      constexpr std::size_t a_round = independent * lane_bytes / sizeof(float);
      const std::size_t rounds = count / a_round + 1;
      return {{[floats, rounds](Stream) { add_side_by_side(floats, rounds); }},
              static_cast<double>(rounds * a_round)};
    }
    case Probe::read: {
      const std::size_t words = (count + lane_bytes - 1) / lane_bytes;
      return {{[from = static_cast<const Words*>(memory), words](Stream) { read_all(from, words); }}, amount};
    }
    case Probe::write:
      return {{[memory, count](Stream) {
                std::memset(memory, 0x5a, count);
                benchmark::ClobberMemory();
              }},
              amount};
    case Probe::copy:
      return {{[from = static_cast<const char*>(memory), half = (count + 1) / 2](Stream) {
                constexpr std::size_t alignment = 256;
                char* const to = const_cast<char*>(from) + (half + alignment - 1) / alignment * alignment;
                std::memcpy(to, from, half);
                benchmark::ClobberMemory();
              }},
              amount};
  }
  throw std::invalid_argument("no such probe");
}

}  // namespace strictbench
