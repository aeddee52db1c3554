/// Words side by side, stored by as few instructions as there can be. Included by *.cu only.
#pragma once
#include <cstdint>

namespace strictbench {

/// Stores `words`, 2 or a multiple of 4 of them, `to` being aligned to 8 or 16 bytes. An assignment of a
/// struct does not do: of words computed one by one the compiler makes 4-byte stores, each of which touches
/// every sector of the warp's stretch and fills a quarter of it.
template <int n>
__device__ inline void store_words(void* to, const std::uint32_t (&words)[n]) {
  static_assert(n == 2 || n % 4 == 0);
  if constexpr (n == 2) {
    __stwb(static_cast<uint2*>(to), uint2{words[0], words[1]});
  } else {
#pragma unroll
    for (int i = 0; i < n; i += 4)
      __stwb(static_cast<uint4*>(to) + i / 4, uint4{words[i], words[i + 1], words[i + 2], words[i + 3]});
  }
}

}  // namespace strictbench
