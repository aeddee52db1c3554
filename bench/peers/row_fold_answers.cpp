/// row_fold: a column's sum must not depend on how many columns there are, nor on rows of zeros behind.
#include "bench/peers/answers.h"
#include "bench/peers/cub_fold.h"
#include "bench/peers/device_helpers.h"
#include "kernels/common/random.h"
#include "kernels/row_fold/row_fold.h"

namespace strictbench::peers {
namespace {

std::size_t size(std::int64_t a, std::int64_t b) { return static_cast<std::size_t>(a * b); }

/// One matrix three times: as it is, with as many columns again beside it, with as many rows of +0 behind it.
struct Inputs {
  Inputs(Backend& backend, const CaseName& name, std::int64_t r, std::int64_t c)
      : rows(r),
        cols(c),
        wide(backend, Dtype::fp32, size(r, 2 * c)),
        alone(backend, Dtype::fp32, size(r, c)),
        padded(backend, Dtype::fp32, size(2 * r, c)),
        other(backend, Dtype::fp32, size(2 * r, 2 * c)) {
    fill_wide(wide.as(), Dtype::fp32, wide.count(), random_key(name.text + "/bits"), backend.stream());
    copy_columns(backend, alone, wide, r, 2 * c, c);
    padded.zero();
    backend.copy(padded.as(), alone.as(), alone.bytes());
  }

  std::int64_t rows;
  std::int64_t cols;
  Tensor wide;
  Tensor alone;
  Tensor padded;
  Tensor other;  ///< for a layout that an implementation wants instead
};

/// A fold of [rows, cols] to out.
using Fold = std::function<void(const float* in, std::int64_t rows, std::int64_t cols, float* out, Stream)>;

void ask_bits(Backend& backend, const Inputs& in, const Fold& fold,
              const std::function<const float*(const Tensor&, std::int64_t, std::int64_t)>& laid_out,
              Answer& answer) {
  const auto [r, c] = std::pair(in.rows, in.cols);
  const auto folded = [&](const Tensor& from, std::int64_t rows, std::int64_t cols, Tensor& out) -> Call {
    return [=, &fold, &out, data = laid_out(from, rows, cols)](Stream s) {
      fold(data, rows, cols, out.as<float>(), s);
    };
  };
  Tensor alone(backend, Dtype::fp32, size(1, c));
  Tensor padded(backend, Dtype::fp32, size(1, c));
  Tensor wide(backend, Dtype::fp32, size(1, 2 * c));
  answer.repeatable = repeats(backend, alone, folded(in.alone, r, c, alone));
  run_once(backend, padded, folded(in.padded, 2 * r, c, padded));
  run_once(backend, wide, folded(in.wide, r, 2 * c, wide));
  answer.batch_invariant = padded.compare(alone).count == 0 &&
                           backend.compare(wide.as(), alone.as(), Dtype::fp32, alone.count()).count == 0;
}

/// CUB's, with what it needs in between made for the largest of the inputs.
void ask_cub(Backend& backend, const CaseName& name, const Inputs& in, CubFold cub, bool transposed,
             Answer& answer) {
  std::size_t bytes = 0;
  for (const auto& [rows, cols] : {std::pair(in.rows, 2 * in.cols), std::pair(2 * in.rows, in.cols)}) {
    std::size_t needed = 0;
    cub(nullptr, needed, in.wide.as<float>(), rows, cols, nullptr, backend.stream());
    bytes = std::max(bytes, needed);
  }
  const Memory temporary(backend, bytes);
  const Fold fold = [&](const float* rows, std::int64_t r, std::int64_t c, float* out, Stream stream) {
    std::size_t size_there = std::max<std::size_t>(bytes, 1);
    cub(temporary.as(), size_there, rows, r, c, out, stream);
  };
  const auto laid_out = [&](const Tensor& from, std::int64_t rows, std::int64_t cols) {
    if (!transposed) return static_cast<const float*>(from.as<float>());
    transpose(in.other.as<float>(), from.as<float>(), rows, cols, backend.stream());
    return static_cast<const float*>(in.other.as<float>());
  };
  ask_bits(backend, in, fold, laid_out, answer);
  Tensor timed(backend, Dtype::fp32, in.alone.count());
  Tensor out(backend, Dtype::fp32, size(1, in.cols));
  timed.fill_random(random_key(name.text + "/rows"));  // any layout of them is as good
  answer.samples_us = time_by_graph(
      backend, [&](Stream s) { fold(timed.as<float>(), in.rows, in.cols, out.as<float>(), s); });
}

}  // namespace

void ask_row_fold(Backend& backend, const CaseName& name, std::vector<Answer>& answers) {
  if (name.word("dtype") != "fp32")
    throw std::invalid_argument("case '" + name.text + "': dtype must be fp32");
  const Inputs in(backend, name, name.number("rows"), name.number("cols"));
  for (const auto& variant : row_fold::variants) {
    if (variant.device != Device::cuda || variant.name == "legacy") continue;
    const Fold fold = [&](const float* rows, std::int64_t r, std::int64_t c, float* out, Stream stream) {
      variant.launch({.rows = row_fold::matrix(Dtype::fp32, rows, r, c), .out = out}, stream);
    };
    const auto as_it_is = [](const Tensor& from, std::int64_t, std::int64_t) {
      return static_cast<const float*>(from.as<float>());
    };
    answers.push_back(ask(backend, name, variant.name,
                          [&](Answer& answer) { ask_bits(backend, in, fold, as_it_is, answer); }));
  }
  answers.push_back(ask(backend, name, "cub_strided",
                        [&](Answer& answer) { ask_cub(backend, name, in, cub_strided, false, answer); }));
  answers.push_back(ask(backend, name, "cub_transposed",
                        [&](Answer& answer) { ask_cub(backend, name, in, cub_transposed, true, answer); }));
}

}  // namespace strictbench::peers
