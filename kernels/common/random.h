/// Counter-based random numbers: value i of a tensor depends on its key and i alone, so every process,
/// device and variant sees the same bits in any order of evaluation.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace strictbench {

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014): each input bit moves about half of the output bits.
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// The key of a tensor, from what names it: "row_fold/rows:64/cols:128/dtype:fp32/rows".
constexpr std::uint64_t random_key(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return mix(hash);
}

/// Element `i`: approximately normal with mean 0 and standard deviation 1.15. A sum of four uniform 32-bit
/// integers, so that CPU and GPU agree to the last bit (logarithms and cosines do not), rounded once to
/// fp32: all 24 bits of the significand are in use, so the order of a sum shows in its bits.
constexpr float random_normal(std::uint64_t key, std::uint64_t i) {
  const std::uint64_t a = mix(key + 2 * i);
  const std::uint64_t b = mix(key + 2 * i + 1);
  const std::uint64_t sum = (a & 0xffffffffu) + (a >> 32) + (b & 0xffffffffu) + (b >> 32);
  const std::int64_t centred = static_cast<std::int64_t>(sum) - 2 * std::int64_t{0xffffffff};
  return static_cast<float>(centred) * 0x1p-31f;
}

/// Element `i`, uniform in [0, n). The bias of at most n / 2^64 does not matter here.
constexpr std::uint64_t random_below(std::uint64_t key, std::uint64_t i, std::uint64_t n) {
  return mix(key + i) % n;
}

/// `count` different values of [0, n), uniform, in random order. Throws std::invalid_argument if count > n.
std::vector<std::int64_t> random_distinct(std::uint64_t key, std::int64_t count, std::int64_t n);

/// `count` values of [0, n) by Zipf's law: value v with probability proportional to 1 / (v + 1), as word
/// frequencies are. Throws std::invalid_argument unless n is positive and count not negative.
std::vector<std::int64_t> random_zipf(std::uint64_t key, std::int64_t count, std::int64_t n);

}  // namespace strictbench
