/// dw_gemm: the two Qwen3-8B feed-forward sizes at 1 to 128 tokens and three ragged ones on a GPU, small ones
/// on a CPU.
///
/// Where `new` falls back on legacy's kernel (33, 48 and 100 tokens, or outputs that are no multiple of 64)
/// the pair is a control. Where it takes the tensor cores, whose inner order is the hardware's, it is held to
/// a tolerance on a GPU, and to the bits of a run of its own.
#include <algorithm>
#include <set>

#include "bench/harness/in_threads.h"
#include "bench/harness/operator_bench.h"
#include "kernels/common/random.h"
#include "kernels/dw_gemm/dw_gemm.h"
#include "kernels/tile_tree_gemm/tile_tree_gemm.h"

namespace strictbench {
namespace {

using dw_gemm::Shape;

// Shapes ------------------------------------------------------------------------------------------------

constexpr std::int64_t hidden = 4096;
constexpr std::int64_t intermediate = 12288;

std::vector<Shape> shapes(Device device) {
  const bool gpu = device == Device::cuda;
  const std::int64_t shrink = gpu ? 1 : 16;
  const auto tokens = gpu ? std::vector<std::int64_t>{1, 2, 8, 15, 16, 30, 31, 32, 33, 48, 64, 100, 128}
                          : std::vector<std::int64_t>{1, 8, 31, 32, 33};
  std::vector<Shape> all;
  // The counts between show the cliff at those that are no multiple of 32; one of the two sizes does for
  // that.
  const std::set<std::int64_t> between{15, 30, 33, 48, 64, 100};
  for (const std::int64_t t : tokens) {
    all.push_back({t, hidden / shrink, intermediate / shrink});  // gate and up projections
    if (!gpu || !between.contains(t))
      all.push_back({t, intermediate / shrink, hidden / shrink});  // down projection
  }
  for (const Shape& ragged : {Shape{31, 70, 65}, {128, 96, 64}, {80, 130, 129}}) all.push_back(ragged);
  return all;
}

std::vector<std::string> variants(const Shape& shape, Device device) {
  std::vector<std::string> names = variant_names(dw_gemm::variants, device);
  if (shape.tokens > dw_gemm::leaf_tokens) std::erase(names, "legacy_loop");
  return names;
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
      : backend_(backend),
        shape_(shape),
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

  Claim claim(std::string_view variant) const override {
    if (variant == "cublas") return {.tolerance = 0.02, .repeatable = false};
    if (!takes_tensor_cores(variant)) return {};
    if (backend_.device() == Device::cpu) return {.oracle = "tile_tree"};
    return {.oracle = "tile_tree", .tolerance = 0.0005};  // 2e-5 was seen on an H200
  }

  std::vector<Expected> oracle(std::string_view definition) const override {
    const auto tree = definition == "tile_tree" ? dw_gemm::Tree::tiles : dw_gemm::Tree::tokens;
    const std::vector<Bf16> x = random_bf16(x_key_, x_.count());
    const std::vector<Bf16> dy = random_bf16(dy_key_, dy_.count());
    std::vector<Bf16> dw(dw_.count());
    in_threads(shape_.out, [&](std::int64_t first, std::int64_t last) {
      dw_gemm::oracle(shape_, x, dy, first, last, dw.data(), tree);
    });
    return {whole_output(dw)};
  }

  /// Batch invariance of the tensor-core path: 64 rows of dW have the same bits when they are computed alone,
  /// at other places of blocks and fragments.
  std::string broken_promise(std::string_view variant) override {
    if (!takes_tensor_cores(variant)) return {};
    dw_.poison();
    prepare(variant);
    call(variant)(backend_.stream());
    const std::int64_t rows = tile_tree_gemm::block_m;
    const std::int64_t first = (shape_.out - rows) / 2 + (shape_.out > rows ? 5 : 0);
    Tensor alone(backend_, Dtype::bf16, size(rows, shape_.in));
    alone.poison();
    const tile_tree_gemm::Args args{.m = rows,
                                    .n = shape_.in,
                                    .k = shape_.tokens,
                                    .a = {dy_.as<Bf16>() + first, 1, shape_.out},
                                    .b = {x_.as<Bf16>(), shape_.in, 1},
                                    .c = alone.as<Bf16>()};
    find_launch(tile_tree_gemm::variants, "control", backend_.device())(args, backend_.stream());
    backend_.synchronize();
    const auto difference =
        backend_.compare(alone.as(), dw_.as<Bf16>() + first * shape_.in, Dtype::bf16, alone.count());
    if (difference.count == 0) return {};
    return std::to_string(difference.count) + " of " + std::to_string(alone.count()) + " elements of rows " +
           std::to_string(first) + " to " + std::to_string(first + rows - 1) +
           " have other bits when these rows are computed alone";
  }

  std::size_t scratch_bytes(std::string_view variant) const override {
    if (variant == "cublas") return dw_gemm::cublas_workspace_bytes;
    if (variant == "tuned") return 0;
    const bool transposes = variant != "new" || path_of(shape_) == dw_gemm::Path::legacy;
    return transposes ? x_transposed_.bytes() : 0;
  }

  /// No variant may live on the transpose that another one left behind.
  void prepare(std::string_view) override { x_transposed_.poison(); }

  Call call(std::string_view variant) override {
    const dw_gemm::Args args{.shape = shape_,
                             .x = x_.as<Bf16>(),
                             .dy = dy_.as<Bf16>(),
                             .dw = dw_.as<Bf16>(),
                             .x_transposed = x_transposed_.as<Bf16>()};
    return [args, launch = find_launch(dw_gemm::variants, variant, backend_.device())](Stream s) {
      launch(args, s);
    };
  }

 private:
  bool takes_tensor_cores(std::string_view variant) const {
    return variant == "new" && path_of(shape_) == dw_gemm::Path::tensor_core;
  }

  Backend& backend_;
  Shape shape_;
  std::uint64_t x_key_;
  std::uint64_t dy_key_;
  Tensor x_;
  Tensor dy_;
  Tensor x_transposed_;
  Tensor dw_;
};

// Demand and memory -------------------------------------------------------------------------------------

/// Inputs are read once and dW written once. Each product is added by one fused instruction, one after the
/// other in the largest leaf; then come the sums of halves, on the way up through the tree and in all.
Demand demand(const Shape& s) {
  std::int64_t leaves = 1;
  std::int64_t levels = 0;
  for (; (s.tokens + leaves - 1) / leaves > dw_gemm::leaf_tokens; leaves *= 2) ++levels;
  const auto elements = static_cast<double>(s.in * s.out);
  const auto tokens = static_cast<double>(s.tokens);
  return {.read = static_cast<double>(2 * s.tokens * (s.in + s.out)),
          .written = 2 * elements,
          .chain = static_cast<double>((s.tokens + leaves - 1) / leaves + levels),
          .operations = 2 * tokens * elements,
          .instructions = (tokens + static_cast<double>(leaves - 1)) * elements};
}

/// The vendor's library, and tensor cores, which are not bound to the definition's order.
std::vector<std::string> any_order(const Shape& s, bool gpu) {
  if (!gpu) return {};
  if (path_of(s) != dw_gemm::Path::tensor_core) return {"cublas"};
  return {"cublas", "new"};
}

std::size_t memory(const Shape& s, bool gpu) {
  // X also transposed; dW also as expected by the oracle and as an earlier run left it.
  return 2 * (size(s.tokens, 2 * s.in + s.out) + 3 * size(s.in, s.out)) +
         (gpu ? dw_gemm::cublas_workspace_bytes : 0);
}

}  // namespace

// Registration ------------------------------------------------------------------------------------------

OperatorBench operator_bench(Device device) {
  const bool gpu = device == Device::cuda;
  OperatorBench bench{.name = "dw_gemm", .shapes = {}};
  for (const Shape& shape : shapes(device))
    bench.shapes.push_back({.keys = keys(shape),
                            .variants = variants(shape, device),
                            .gating = gpu ? Timer::graph : Timer::cpu,
                            .others = gpu ? std::vector{Timer::cold, Timer::wall} : std::vector<Timer>{},
                            .demand = demand(shape),
                            .memory = memory(shape, gpu),
                            .make = [shape](Backend& b) { return std::make_unique<DwGemm>(b, shape); },
                            .control = path_of(shape) == dw_gemm::Path::legacy,
                            .any_order = any_order(shape, gpu)});
  return bench;
}

}  // namespace strictbench
