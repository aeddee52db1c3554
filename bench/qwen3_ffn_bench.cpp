/// qwen3_ffn: the feed-forward layer of Qwen3-8B by the protocol of the published table (two events around
/// each call, 3 warm-ups, 20 samples forward and 10 forward + backward, variants in turn); a small layer on a
/// CPU.
#include <algorithm>

#include "bench/harness/in_threads.h"
#include "bench/harness/operator_bench.h"
#include "kernels/common/random.h"
#include "kernels/dw_gemm/dw_gemm.h"
#include "kernels/qwen3_ffn/qwen3_ffn.h"

namespace strictbench {
namespace {

using qwen3_ffn::Direction;
using qwen3_ffn::Shape;

// Shapes ------------------------------------------------------------------------------------------------

struct LayerCase {
  Shape shape;
  Direction direction;
  bool backward() const { return direction == Direction::forward_backward; }
};

std::vector<LayerCase> cases(Device device) {
  const bool gpu = device == Device::cuda;
  const std::int64_t hidden = gpu ? 4096 : 128;
  const std::int64_t intermediate = gpu ? 12288 : 384;
  const std::vector<std::int64_t> tokens =
      gpu ? std::vector<std::int64_t>{1, 8, 32, 128} : std::vector<std::int64_t>{1, 8, 32};
  std::vector<LayerCase> all;
  for (const std::int64_t t : tokens)
    for (const Direction direction : {Direction::forward, Direction::forward_backward})
      all.push_back({{.tokens = t, .hidden = hidden, .intermediate = intermediate}, direction});
  return all;
}

std::string keys(const LayerCase& c) {
  return "tokens:" + std::to_string(c.shape.tokens) +
         "/direction:" + (c.backward() ? "forward_backward" : "forward");
}

std::size_t size(std::int64_t a, std::int64_t b) { return static_cast<std::size_t>(a * b); }
std::size_t activations(const Shape& s) { return size(qwen3_ffn::padded_tokens(s), s.hidden); }
std::size_t weights(const Shape& s) { return size(s.intermediate, s.hidden); }
std::size_t scratch(const LayerCase& c) {
  return static_cast<std::size_t>(qwen3_ffn::scratch_elements(c.shape, c.direction));
}

// Inputs ------------------------------------------------------------------------------------------------

/// Standard deviation 0.02, as published; random_normal's is 1.1547.
constexpr float scale = 0.02f / 1.1547005f;

std::uint64_t key_of(const char* tensor) {
  return random_key(std::string("qwen3_ffn/seed:20260825/") + tensor);
}

std::vector<Bf16> on_host(const char* tensor, std::size_t count) {
  std::vector<Bf16> values(count);
  const std::uint64_t key = key_of(tensor);
  for (std::size_t i = 0; i < count; ++i) values[i] = to_bf16(random_normal(key, i) * scale);
  return values;
}

class Qwen3Ffn : public Problem {
 public:
  Qwen3Ffn(Backend& backend, const LayerCase& c)
      : case_(c),
        device_(backend.device()),
        x_(backend, Dtype::bf16, activations(c.shape)),
        dy_(backend, Dtype::bf16, activations(c.shape)),
        gate_(backend, Dtype::bf16, weights(c.shape)),
        up_(backend, Dtype::bf16, weights(c.shape)),
        down_(backend, Dtype::bf16, weights(c.shape)),
        scratch_(backend, Dtype::bf16, scratch(c)),
        y_(backend, Dtype::bf16, activations(c.shape)),
        dx_(backend, Dtype::bf16, c.backward() ? activations(c.shape) : 0),
        dgate_(backend, Dtype::bf16, c.backward() ? weights(c.shape) : 0),
        dup_(backend, Dtype::bf16, c.backward() ? weights(c.shape) : 0),
        ddown_(backend, Dtype::bf16, c.backward() ? weights(c.shape) : 0) {
    gate_.fill_random(key_of("gate"), scale);
    up_.fill_random(key_of("up"), scale);
    down_.fill_random(key_of("down"), scale);
    for (Tensor* padded : {&x_, &dy_}) {  // the tokens' rows are the first ones, the rest is zero
      padded->zero();
      const auto rows = on_host(padded == &x_ ? "x" : "dy", size(c.shape.tokens, c.shape.hidden));
      backend.upload(padded->as(), rows.data(), rows.size() * sizeof(Bf16));
    }
  }

  std::vector<Output> outputs() override {
    if (!case_.backward()) return {{"y", &y_}};
    return {{"y", &y_}, {"dx", &dx_}, {"dgate", &dgate_}, {"dup", &dup_}, {"ddown", &ddown_}};
  }

  /// The oracle's bits on a CPU. On a GPU exp and the order inside one tensor-core instruction are the
  /// hardware's: near the oracle, and new with the bits of legacy.
  Claim claim(std::string_view variant) const override {
    if (device_ == Device::cpu) return {.oracle = "layer"};
    return {.oracle = "layer",
            .tolerance = 0.001,
            .repeatable = true,
            .same_as = variant == "legacy" ? std::string_view{} : std::string_view("legacy")};
  }

  std::vector<Expected> oracle(std::string_view) const override {
    const std::size_t rows = size(case_.shape.tokens, case_.shape.hidden);
    const qwen3_ffn::Inputs inputs{.x = on_host("x", rows),
                                   .dy = on_host("dy", rows),
                                   .gate = on_host("gate", weights(case_.shape)),
                                   .up = on_host("up", weights(case_.shape)),
                                   .down = on_host("down", weights(case_.shape))};
    qwen3_ffn::Results results = qwen3_ffn::oracle(case_.shape, case_.direction, inputs, in_threads);
    results.y.resize(activations(case_.shape));  // padding rows are zero
    if (!case_.backward()) return {whole_output(results.y)};
    results.dx.resize(activations(case_.shape));
    return {whole_output(results.y), whole_output(results.dx), whole_output(results.dgate),
            whole_output(results.dup), whole_output(results.ddown)};
  }

  /// No variant may live on what another one left behind.
  void prepare(std::string_view) override { scratch_.poison(); }

  Call call(std::string_view variant) override {
    const qwen3_ffn::Args args{.shape = case_.shape,
                               .direction = case_.direction,
                               .x = x_.as<Bf16>(),
                               .gate = gate_.as<Bf16>(),
                               .up = up_.as<Bf16>(),
                               .down = down_.as<Bf16>(),
                               .y = y_.as<Bf16>(),
                               .scratch = scratch_.as<Bf16>(),
                               .dy = dy_.as<Bf16>(),
                               .dx = dx_.as<Bf16>(),
                               .dgate = dgate_.as<Bf16>(),
                               .dup = dup_.as<Bf16>(),
                               .ddown = ddown_.as<Bf16>()};
    return [args, launch = find_launch(qwen3_ffn::variants, variant, device_)](Stream s) { launch(args, s); };
  }

  std::size_t scratch_bytes(std::string_view) const override { return scratch_.bytes(); }

 private:
  LayerCase case_;
  Device device_;
  Tensor x_;
  Tensor dy_;
  Tensor gate_;
  Tensor up_;
  Tensor down_;
  Tensor scratch_;
  Tensor y_;
  Tensor dx_;
  Tensor dgate_;
  Tensor dup_;
  Tensor ddown_;
};

// Demand and memory -------------------------------------------------------------------------------------

/// Weights, x and dy are read once and each output is written once; intermediate results may stay on the
/// chip, and both directions may share one pass over the weights. Three matrix products forward and six
/// backward. Only the three weight gradients have an order of their own, and only where they do not take the
/// tensor cores; whatever else is in fp32 is too little to matter.
Demand demand(const LayerCase& c) {
  const auto& [tokens, hidden, intermediate] = c.shape;
  const auto of_weights = static_cast<double>(weights(c.shape));
  const double rows = c.backward() ? 2 : 1;
  const double activations = rows * static_cast<double>(tokens * hidden);
  const double products = static_cast<double>(tokens) * of_weights;
  const bool strict =
      c.backward() && path_of(dw_gemm::Shape{tokens, hidden, intermediate}) != dw_gemm::Path::tensor_core;
  return {.read = 2 * (3 * of_weights + activations),
          .written = 2 * ((c.backward() ? 3 * of_weights : 0) + activations),
          .chain = strict ? static_cast<double>(std::min(tokens, dw_gemm::leaf_tokens)) : 0,
          .operations = 2 * (c.backward() ? 9 : 3) * products,
          .instructions = strict ? 3 * products : 0};
}

std::size_t memory(const LayerCase& c) {
  const std::size_t outputs =
      activations(c.shape) + (c.backward() ? activations(c.shape) + 3 * weights(c.shape) : 0);
  return sizeof(Bf16) * (2 * activations(c.shape) + 3 * weights(c.shape) + scratch(c) +
                         3 * outputs);  // also expected, and kept of legacy
}

}  // namespace

// Registration ------------------------------------------------------------------------------------------

OperatorBench operator_bench(Device device) {
  const bool gpu = device == Device::cuda;
  OperatorBench bench{.name = "qwen3_ffn", .shapes = {}};
  for (const LayerCase& c : cases(device))
    bench.shapes.push_back({.keys = keys(c),
                            .variants = variant_names(qwen3_ffn::variants, device),
                            .gating = gpu ? Timer::event : Timer::cpu,
                            .others = gpu ? std::vector{Timer::graph, Timer::cold} : std::vector<Timer>{},
                            .demand = demand(c),
                            .memory = memory(c),
                            .make = [c](Backend& b) { return std::make_unique<Qwen3Ffn>(b, c); },
                            .samples = c.backward() ? 10 : 20,
                            .control = !c.backward() || c.shape.tokens >= 32});
  return bench;
}

}  // namespace strictbench
