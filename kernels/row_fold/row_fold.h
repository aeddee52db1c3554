/// row_fold: out[c] = ((+0 + rows[0][c]) + rows[1][c]) + ... + rows[R-1][c], each sum rounded to fp32.
///
/// The reduction inside RMSNorm's weight gradient. The order is the definition: nothing is reassociated, no
/// atomics, no trees. [1e20, 1, -1e20, 1] gives exactly 1.
/// Source of the definition and the pair: RL-Align/RL-Kernel pull request 350.
#pragma once
#include <cstdint>
#include <vector>

#include "kernels/common/variant.h"

namespace strictbench::row_fold {

struct Shape {
  std::int64_t rows;
  std::int64_t cols;
};

struct Args {
  Shape shape;
  const float* rows;        ///< [rows, cols]
  std::int64_t row_stride;  ///< elements from one row to the next, at least cols
  float* out;               ///< [cols]
};

/// Throws std::invalid_argument unless sizes are not negative, the stride fits and no needed pointer is null.
void validate(const Args& args);

/// The definition as plain loops. rows: [rows, cols] contiguous.
std::vector<float> oracle(const Shape& shape, const std::vector<float>& rows);

void launch_per_row(const Args& args, Stream stream);    // CUDA: one elementwise add kernel per row
void one_launch(const Args& args, Stream stream);        // CUDA: one thread per column walks the rows
void cpu_pass_per_row(const Args& args, Stream stream);  // CPU: out is read and written once per row
void cpu_one_pass(const Args& args, Stream stream);      // CPU: a strip of columns stays in registers

inline constexpr Variant<Args> variants[] = {
#ifdef STRICTBENCH_HAS_CUDA
    {"legacy", Device::cuda, launch_per_row},
    {"new", Device::cuda, one_launch},
#endif
    {"legacy", Device::cpu, cpu_pass_per_row},
    {"new", Device::cpu, cpu_one_pass},
};

}  // namespace strictbench::row_fold
