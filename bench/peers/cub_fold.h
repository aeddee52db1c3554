/// What CUB offers for the sum of each column of a matrix: a segmented reduction, a segment per column. Its
/// order of addition is its own. (Its reduction by key, which the sorted ids of an embedding's backward call
/// for, sums scalars: a call for each of the hidden columns. Nobody would pick that, so it is not here.)
#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/common/variant.h"

namespace strictbench::peers {

/// A fold of [rows, cols] fp32 to out [cols]. With `temporary` null it stores the bytes that it needs there
/// in `bytes` and launches nothing.
using CubFold = void (*)(void* temporary, std::size_t& bytes, const float* in, std::int64_t rows,
                         std::int64_t cols, float* out, Stream stream);

/// `in` has the columns side by side, as row_fold takes it: an iterator strides through them.
void cub_strided(void* temporary, std::size_t& bytes, const float* in, std::int64_t rows, std::int64_t cols,
                 float* out, Stream stream);
/// `in` is already transposed, [cols, rows], which is not timed: the layout that suits CUB.
void cub_transposed(void* temporary, std::size_t& bytes, const float* in, std::int64_t rows,
                    std::int64_t cols, float* out, Stream stream);

}  // namespace strictbench::peers
