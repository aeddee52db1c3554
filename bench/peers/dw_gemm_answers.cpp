/// dw_gemm: a part of dW must not depend on how many other outputs or inputs there are beside it. (More
/// tokens are another sum: its tree splits elsewhere.)
#include "bench/peers/answers.h"
#include "bench/peers/device_helpers.h"
#include "kernels/common/random.h"
#include "kernels/dw_gemm/dw_gemm.h"

namespace strictbench::peers {
namespace {

std::size_t size(std::int64_t a, std::int64_t b) { return static_cast<std::size_t>(a * b); }

}  // namespace

void ask_dw_gemm(Backend& backend, const CaseName& name, std::vector<Answer>& answers) {
  const dw_gemm::Shape whole{name.number("tokens"), name.number("in"), name.number("out")};
  const auto [tokens, in, out] = whole;
  const dw_gemm::Shape half_out{tokens, in, out / 2};
  const dw_gemm::Shape half_in{tokens, in / 2, out};
  const auto tensor = [&](std::int64_t a, std::int64_t b) {
    return Tensor(backend, Dtype::bf16, size(a, b));
  };
  const Tensor x = tensor(tokens, in);
  const Tensor dy = tensor(tokens, out);
  Tensor x_half = tensor(tokens, in / 2);
  Tensor dy_half = tensor(tokens, out / 2);
  const Tensor x_transposed = tensor(tokens, in);
  fill_wide(x.as(), Dtype::bf16, x.count(), random_key(name.text + "/bits/x"), backend.stream());
  fill_wide(dy.as(), Dtype::bf16, dy.count(), random_key(name.text + "/bits/dy"), backend.stream());
  copy_columns(backend, x_half, x, tokens, in, in / 2);
  copy_columns(backend, dy_half, dy, tokens, out, out / 2);
  Tensor dw = tensor(out, in);
  Tensor part = tensor(out / 2, in);
  Tensor side = tensor(out, in / 2);
  Tensor cut = tensor(out, in / 2);
  for (const auto& variant : dw_gemm::variants) {
    if (variant.device != Device::cuda || variant.name.starts_with("legacy")) continue;
    const auto call = [&](const dw_gemm::Shape& shape, const Tensor& xs, const Tensor& dys,
                          const Tensor& to) -> Call {
      const dw_gemm::Args args{.shape = shape,
                               .x = xs.as<Bf16>(),
                               .dy = dys.as<Bf16>(),
                               .dw = to.as<Bf16>(),
                               .x_transposed = x_transposed.as<Bf16>()};
      return [&variant, args](Stream s) { variant.launch(args, s); };
    };
    answers.push_back(ask(backend, name, variant.name, [&](Answer& answer) {
      answer.repeatable = repeats(backend, dw, call(whole, x, dy, dw));
      run_once(backend, part, call(half_out, x, dy_half, part));
      run_once(backend, side, call(half_in, x_half, dy, side));
      copy_columns(backend, cut, dw, out, in, in / 2);
      answer.batch_invariant = backend.compare(dw.as(), part.as(), Dtype::bf16, part.count()).count == 0 &&
                               side.compare(cut).count == 0;
    }));
  }
}

}  // namespace strictbench::peers
