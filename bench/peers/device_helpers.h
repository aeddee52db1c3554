/// Small kernels that the questions to the peers need on the GPU.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/common/dtype.h"
#include "kernels/common/variant.h"

namespace strictbench::peers {

/// Element i becomes random_normal(key, i) times 2^-9 or 2^12 by chance, rounded to dtype (fp32 or bf16):
/// what is added to a large number loses bits that come back when another large one cancels it, so the order
/// of a sum shows in its bits. bench/peers/pytorch.py makes the same bits.
void fill_wide(void* to, Dtype dtype, std::size_t count, std::uint64_t key, Stream stream);

/// to[c * rows + r] = from[r * cols + c].
void transpose(float* to, const float* from, std::int64_t rows, std::int64_t cols, Stream stream);

}  // namespace strictbench::peers
