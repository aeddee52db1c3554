/// row_fold: out[c] = ((+0 + rows[0][c]) + rows[1][c]) + ... + rows[R-1][c], each sum rounded to fp32.
///
/// The reduction inside RMSNorm's weight gradient. The order is the definition: nothing is reassociated, no
/// atomics, no trees. [1e20, 1, -1e20, 1] gives exactly 1. Rows may have any number of dimensions, which are
/// flattened to columns c, the last one fastest; bf16 and fp16 are widened to fp32 before they are added.
/// Source of the definition and the pair: RL-Align/RL-Kernel pull request 350.
#pragma once
#include <vector>

#include "kernels/common/variant.h"
#include "kernels/row_fold/layout.h"

namespace strictbench::row_fold {

struct Args {
  Layout rows;  ///< [R, ...] in any element type and with any strides
  float* out;   ///< [C], C the product of the sizes of rows but the first
};

/// Throws std::invalid_argument unless the layout makes sense, no needed pointer is null or misaligned, and
/// out shares no byte with rows.
void validate(const Args& args);

/// The definition as plain loops, on rows in host memory.
std::vector<float> oracle(const Layout& rows);

void launch_per_row(const Args& args, Stream stream);    // CUDA: one elementwise add kernel per row
void one_launch(const Args& args, Stream stream);        // CUDA: one thread per column walks the rows
void strips(const Args& args, Stream stream);            // CUDA: a warp folds 32 columns, others copy ahead
void cpu_pass_per_row(const Args& args, Stream stream);  // CPU: out is read and written once per row
void cpu_one_pass(const Args& args, Stream stream);      // CPU: a strip of columns stays in registers

inline constexpr Variant<Args> variants[] = {
#ifdef STRICTBENCH_HAS_CUDA
    {"legacy", Device::cuda, launch_per_row},         {"new", Device::cuda, one_launch},
    {"tuned", Device::cuda, strips},
#endif
    {"legacy", Device::cpu, cpu_pass_per_row},        {"new", Device::cpu, cpu_one_pass},
};

}  // namespace strictbench::row_fold
