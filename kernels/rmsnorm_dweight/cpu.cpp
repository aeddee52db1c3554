/// Both write the contributions and then fold them, as the CUDA variants do; they differ in the fold alone.
#include "kernels/rmsnorm_dweight/rmsnorm_dweight.h"
#include "kernels/row_fold/row_fold.h"

namespace strictbench::rmsnorm_dweight {
namespace {

void write_contributions(const Args& args) {
  const auto [rows, cols] = args.shape;
  if (cols == 0) return;  // else a walk over all rows, which may be any number
  with_type(args.dtype, [&]<class T>() {
    for (std::int64_t r = 0; r < rows; ++r) {
      const T* const dy = static_cast<const T*>(args.dy) + r * args.dy_stride;
      const T* const x = static_cast<const T*>(args.x) + r * args.x_stride;
      float* const to = args.contributions + r * cols;
      for (std::int64_t c = 0; c < cols; ++c) {
        const float product = to_float(dy[c]) * to_float(x[c]);
        to[c] = product * args.rstd[r];
        if (args.mask != nullptr) to[c] = to[c] * args.mask[r];
      }
    }
  });
}

row_fold::Args fold_of(const Args& args) {
  const auto [rows, cols] = args.shape;
  return {.rows = row_fold::matrix(Dtype::fp32, args.contributions, rows, cols), .out = args.dweight};
}

}  // namespace

void cpu_with_pass_per_row(const Args& args, Stream stream) {
  validate(args);
  write_contributions(args);
  row_fold::cpu_pass_per_row(fold_of(args), stream);
}

void cpu_with_one_pass(const Args& args, Stream stream) {
  validate(args);
  write_contributions(args);
  row_fold::cpu_one_pass(fold_of(args), stream);
}

}  // namespace strictbench::rmsnorm_dweight
