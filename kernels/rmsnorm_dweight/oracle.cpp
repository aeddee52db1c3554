#include <stdexcept>
#include <string>

#include "kernels/common/require.h"
#include "kernels/common/typed.h"
#include "kernels/rmsnorm_dweight/rmsnorm_dweight.h"
#include "kernels/row_fold/layout.h"

namespace strictbench::rmsnorm_dweight {
namespace {

/// The bytes of one array among the arguments, once it is found to fit.
Extent checked(const char* name, const row_fold::Layout& layout) {
  const auto must = [name](bool holds, const char* rule) {
    if (!holds) throw std::invalid_argument("rmsnorm_dweight: " + std::string(name) + " must " + rule);
  };
  const auto extent = row_fold::extent(layout);
  must(extent.has_value(), "stay within 64-bit addresses");
  must(layout.data != nullptr || extent->bytes == 0, "not be null");
  must(reinterpret_cast<std::uintptr_t>(layout.data) % size_of(layout.dtype) == 0,
       "be aligned to its elements");
  return *extent;
}

}  // namespace

void validate(const Args& args) {
  const auto [rows, cols] = args.shape;
  require(rows >= 0, "rmsnorm_dweight: shape.rows must not be negative");
  require(cols >= 0, "rmsnorm_dweight: shape.cols must not be negative");
  require(known(args.dtype), "rmsnorm_dweight: dtype must be fp32, bf16 or fp16");
  require(args.dy_stride >= cols, "rmsnorm_dweight: dy_stride must be at least shape.cols");
  require(args.x_stride >= cols, "rmsnorm_dweight: x_stride must be at least shape.cols");
  const auto matrix = [&](Dtype dtype, const void* data, std::int64_t stride) {
    return row_fold::matrix(dtype, data, rows, cols, stride);
  };
  const auto contributions = matrix(Dtype::fp32, args.contributions, cols);
  require(row_fold::count(contributions, 0).has_value(),
          "rmsnorm_dweight: shape.rows * shape.cols must fit 64 bits");
  const auto per_row = [&](const float* data) {
    return row_fold::matrix(Dtype::fp32, data, 1, cols == 0 ? 0 : rows);  // no columns, no row is read
  };
  const Extent inputs[] = {checked("dy", matrix(args.dtype, args.dy, args.dy_stride)),
                           checked("x", matrix(args.dtype, args.x, args.x_stride)),
                           checked("rstd", per_row(args.rstd)),
                           args.mask == nullptr ? Extent{} : checked("mask", per_row(args.mask))};
  const Extent scratch = checked("contributions", contributions);
  const Extent output = checked("dweight", row_fold::matrix(Dtype::fp32, args.dweight, 1, cols));
  for (const Extent& input : inputs) {
    require_apart(scratch, input, "rmsnorm_dweight: contributions must not overlap an input");
    require_apart(output, input, "rmsnorm_dweight: dweight must not overlap an input");
  }
  require_apart(output, scratch, "rmsnorm_dweight: dweight must not overlap contributions");
}

std::vector<float> oracle(const Args& args) {
  std::vector<float> dweight;
  with_type(args.dtype, [&]<class T>() {
    const auto* const dy = static_cast<const T*>(args.dy);
    const auto* const x = static_cast<const T*>(args.x);
    for (std::int64_t c = 0; c < args.shape.cols; ++c) {
      float acc = +0.0f;
      for (std::int64_t r = 0; r < args.shape.rows; ++r) {
        const float product = to_float(dy[r * args.dy_stride + c]) * to_float(x[r * args.x_stride + c]);
        float contribution = product * args.rstd[r];
        if (args.mask != nullptr) contribution = contribution * args.mask[r];
        acc = acc + contribution;
      }
      dweight.push_back(acc);
    }
  });
  return dweight;
}

}  // namespace strictbench::rmsnorm_dweight
