/// rmsnorm_dweight: the gradient of RMSNorm's weight. With
///   contribution[r][c] = ((dy[r][c] * x[r][c]) * rstd[r]) * mask[r]
/// dweight[c] = ((+0 + contribution[0][c]) + contribution[1][c]) + ..., the row_fold of the contributions.
///
/// Each product and each sum is rounded to fp32 on its own, nothing is fused; bf16 and fp16 are widened
/// first. The mask is the last factor, one more rounding, and not a choice of rows: a NaN or an infinity in a
/// row whose mask is 0 makes its columns NaN. Without a mask there is no such factor. Source of the
/// definition and the pair: RL-Align/RL-Kernel pull request 350.
#pragma once
#include <cstdint>
#include <vector>

#include "kernels/common/dtype.h"
#include "kernels/common/variant.h"

namespace strictbench::rmsnorm_dweight {

struct Shape {
  std::int64_t rows;
  std::int64_t cols;
};

struct Args {
  Shape shape;
  Dtype dtype;             ///< of dy and x
  const void* dy;          ///< [rows, cols]
  std::int64_t dy_stride;  ///< elements from one row of dy to the next, at least cols
  const void* x;           ///< [rows, cols]
  std::int64_t x_stride;   ///< as dy_stride
  const float* rstd;       ///< [rows], one over the root mean square of each row of x
  const float* mask;       ///< [rows], or null for none
  float* contributions;    ///< scratch, [rows, cols]
  float* dweight;          ///< [cols]
};

/// Throws std::invalid_argument unless sizes are not negative and strides fit, no needed pointer is null or
/// misaligned, and what is written shares no byte with anything else.
void validate(const Args& args);

/// The definition as plain loops, on inputs in host memory. Uses neither contributions nor dweight of args.
std::vector<float> oracle(const Args& args);

// Each writes the contributions and folds them, the CUDA ones as row_fold's namesakes do.
void with_launch_per_row(const Args& args, Stream stream);    // CUDA: legacy
void with_one_launch(const Args& args, Stream stream);        // CUDA: new
void cpu_with_pass_per_row(const Args& args, Stream stream);  // CPU: legacy
void cpu_with_one_pass(const Args& args, Stream stream);      // CPU: new

inline constexpr Variant<Args> variants[] = {
#ifdef STRICTBENCH_HAS_CUDA
    {"legacy", Device::cuda, with_launch_per_row},
    {"new", Device::cuda, with_one_launch},
#endif
    {"legacy", Device::cpu, cpu_with_pass_per_row},
    {"new", Device::cpu, cpu_with_one_pass},
};

}  // namespace strictbench::rmsnorm_dweight
