/// dw_gemm: the two Qwen3-8B feed-forward sizes at 1 to 31 tokens on a GPU, small ones on a CPU.
#include <thread>

#include "bench/harness/operator_bench.h"
#include "kernels/common/random.h"
#include "kernels/dw_gemm/dw_gemm.h"

namespace strictbench {
namespace {

using dw_gemm::Shape;

// Shapes ------------------------------------------------------------------------------------------------

constexpr std::int64_t hidden = 4096;
constexpr std::int64_t intermediate = 12288;

std::vector<Shape> shapes(Device device) {
  const bool gpu = device == Device::cuda;
  const std::int64_t shrink = gpu ? 1 : 16;
  const std::vector<std::int64_t> tokens =
      gpu ? std::vector<std::int64_t>{1, 2, 8, 16, 31} : std::vector<std::int64_t>{1, 8, 31};
  std::vector<Shape> all;
  for (const std::int64_t t : tokens) {
    all.push_back({t, hidden / shrink, intermediate / shrink});  // gate and up projections
    all.push_back({t, intermediate / shrink, hidden / shrink});  // down projection
  }
  return all;
}

std::string keys(const Shape& shape) {
  return "tokens:" + std::to_string(shape.tokens) + "/in:" + std::to_string(shape.in) +
         "/out:" + std::to_string(shape.out) + "/dtype:bf16";
}

std::size_t size(std::int64_t a, std::int64_t b) { return static_cast<std::size_t>(a * b); }

// Inputs ------------------------------------------------------------------------------------------------

std::vector<Bf16> random_bf16(std::uint64_t key, std::size_t count) {
  std::vector<Bf16> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = to_bf16(random_normal(key, i));
  return values;
}

class DwGemm : public Problem {
 public:
  DwGemm(Backend& backend, const Shape& shape)
      : shape_(shape),
        device_(backend.device()),
        x_key_(random_key("dw_gemm/" + keys(shape) + "/x")),
        dy_key_(random_key("dw_gemm/" + keys(shape) + "/dy")),
        x_(backend, Dtype::bf16, size(shape.tokens, shape.in)),
        dy_(backend, Dtype::bf16, size(shape.tokens, shape.out)),
        x_transposed_(backend, Dtype::bf16, size(shape.tokens, shape.in)),
        dw_(backend, Dtype::bf16, size(shape.out, shape.in)) {
    x_.fill_random(x_key_);
    dy_.fill_random(dy_key_);
  }

  std::vector<Output> outputs() override { return {{"dw", &dw_}}; }

  std::vector<Expected> oracle(std::string_view) const override {
    const std::vector<Bf16> x = random_bf16(x_key_, x_.count());
    const std::vector<Bf16> dy = random_bf16(dy_key_, dy_.count());
    std::vector<Bf16> dw(dw_.count());
    const auto workers = static_cast<std::int64_t>(std::max(1u, std::thread::hardware_concurrency()));
    {
      std::vector<std::jthread> threads;
      for (std::int64_t w = 0; w < workers; ++w)
        threads.emplace_back([&, w] {
          dw_gemm::oracle(shape_, x, dy, w * shape_.out / workers, (w + 1) * shape_.out / workers, dw.data());
        });
    }
    return {whole_output(dw)};
  }

  /// No variant may live on the transpose that another one left behind.
  void prepare(std::string_view) override { x_transposed_.poison(); }

  Call call(std::string_view variant) override {
    const dw_gemm::Args args{.shape = shape_,
                             .x = x_.as<Bf16>(),
                             .dy = dy_.as<Bf16>(),
                             .dw = dw_.as<Bf16>(),
                             .x_transposed = x_transposed_.as<Bf16>()};
    return [args, launch = find_launch(dw_gemm::variants, variant, device_)](Stream s) { launch(args, s); };
  }

 private:
  Shape shape_;
  Device device_;
  std::uint64_t x_key_;
  std::uint64_t dy_key_;
  Tensor x_;
  Tensor dy_;
  Tensor x_transposed_;
  Tensor dw_;
};

// Bytes and operations ----------------------------------------------------------------------------------

double bytes(const Shape& s) { return static_cast<double>(2 * (s.tokens * (s.in + s.out) + s.in * s.out)); }
double operations(const Shape& s) { return static_cast<double>(2 * s.tokens * s.in * s.out); }
std::size_t memory(const Shape& s) {
  return 2 * (size(s.tokens, 2 * s.in + s.out) + 2 * size(s.in, s.out));  // X also transposed
}

}  // namespace

// Registration ------------------------------------------------------------------------------------------

OperatorBench operator_bench(Device device) {
  const bool gpu = device == Device::cuda;
  OperatorBench bench{.name = "dw_gemm", .shapes = {}};
  for (const Shape& shape : shapes(device))
    bench.shapes.push_back({.keys = keys(shape),
                            .variants = variant_names(dw_gemm::variants, device),
                            .gating = gpu ? Timer::graph : Timer::cpu,
                            .others = gpu ? std::vector{Timer::cold, Timer::wall} : std::vector<Timer>{},
                            .bytes = bytes(shape),
                            .operations = operations(shape),
                            .memory = memory(shape),
                            .make = [shape](Backend& b) { return std::make_unique<DwGemm>(b, shape); }});
  return bench;
}

}  // namespace strictbench
