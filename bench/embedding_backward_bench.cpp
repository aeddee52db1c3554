/// embedding_backward: the eight published shapes on a GPU, small vocabularies on a CPU.
///
/// part:kernel is the one backward kernel, as published: sorting, allocation and zeroing are not timed. The
/// published tables do not say how token ids were distributed; here they are uniform without repeats.
#include <span>

#include "bench/harness/operator_bench.h"
#include "kernels/common/random.h"
#include "kernels/embedding_backward/embedding_backward.h"

namespace strictbench {
namespace {

using embedding_backward::Shape;

// Shapes ------------------------------------------------------------------------------------------------

constexpr Shape published[] = {{8, 32000, 1024},    {32, 151936, 1024}, {32, 151936, 2048},
                               {32, 32000, 4096},   {32, 128256, 4096}, {32, 151936, 4096},
                               {128, 151936, 4096}, {512, 151936, 4096}};

constexpr Shape for_cpu[] = {{8, 1000, 64}, {32, 1000, 64}, {32, 4000, 64}, {128, 1000, 64}};

std::string keys(const Shape& shape) {
  return "tokens:" + std::to_string(shape.tokens) + "/vocab:" + std::to_string(shape.vocab) +
         "/hidden:" + std::to_string(shape.hidden) + "/ids:uniform/dtype:bf16/part:kernel";
}

std::size_t size(std::int64_t a, std::int64_t b) { return static_cast<std::size_t>(a * b); }
std::size_t id_bytes(std::int64_t tokens) { return size(tokens, sizeof(std::int64_t)); }

std::size_t sort_bytes(std::int64_t tokens, Device device) {
#ifdef STRICTBENCH_HAS_CUDA
  if (device == Device::cuda) return embedding_backward::sort_workspace_bytes(tokens);
#endif
  static_cast<void>(device);
  static_cast<void>(tokens);
  return 0;
}

// Inputs ------------------------------------------------------------------------------------------------

class EmbeddingBackward : public Problem {
 public:
  EmbeddingBackward(Backend& backend, const Shape& shape)
      : backend_(backend),
        shape_(shape),
        host_ids_(random_distinct(random_key("embedding_backward/" + keys(shape) + "/ids"), shape.tokens,
                                  shape.vocab)),
        grad_key_(random_key("embedding_backward/" + keys(shape) + "/grad")),
        ids_(backend, id_bytes(shape.tokens)),
        sorted_ids_(backend, id_bytes(shape.tokens)),
        positions_(backend, id_bytes(shape.tokens)),
        sort_bytes_(sort_bytes(shape.tokens, backend.device())),
        sort_workspace_(backend, sort_bytes_),
        grad_(backend, Dtype::bf16, size(shape.tokens, shape.hidden)),
        dweight_(backend, Dtype::bf16, size(shape.vocab, shape.hidden)) {
    embedding_backward::validate_ids(shape, host_ids_.data());
    backend.upload(ids_.as(), host_ids_.data(), id_bytes(shape.tokens));
    grad_.fill_random(grad_key_);
  }

  std::vector<Output> outputs() override { return {{"dweight", &dweight_}}; }

  Claim claim(std::string_view variant) const override {
    const bool tree = variant == "legacy" && !embedding_backward::orders_agree(shape_, host_ids_);
    return {.oracle = tree ? "step_tree" : "ascending"};
  }

  std::vector<Expected> oracle(std::string_view definition) const override {
    std::vector<float> grad(grad_.count());
    for (std::size_t i = 0; i < grad.size(); ++i) grad[i] = to_float(to_bf16(random_normal(grad_key_, i)));
    const auto sums = definition == "step_tree"
                          ? embedding_backward::oracle_step_tree(shape_, host_ids_, grad)
                          : embedding_backward::oracle(shape_, host_ids_, grad);
    Expected expected{.values = {}, .rows = {}, .row_bytes = size(shape_.hidden, sizeof(Bf16))};
    for (const auto& [id, sum] : sums) {
      std::vector<Bf16> row;
      for (const float x : sum) row.push_back(to_bf16(x));
      const auto bytes = whole_output(row).values;
      expected.rows.push_back(id);
      expected.values.insert(expected.values.end(), bytes.begin(), bytes.end());
    }
    return {expected};
  }

  /// What the published figure leaves out: the segment variants get their ids sorted and dweight zeroed.
  void prepare(std::string_view variant) override {
    if (variant == "legacy") return;
    dweight_.zero();
#ifdef STRICTBENCH_HAS_CUDA
    if (backend_.device() == Device::cuda) embedding_backward::sort_ids(args(), backend_.stream());
#endif
    if (backend_.device() == Device::cpu) embedding_backward::cpu_sort_ids(args(), nullptr);
    backend_.synchronize();
  }

  Call call(std::string_view variant) override {
    return [args = args(), launch = find_launch(embedding_backward::variants, variant, backend_.device())](
               Stream s) { launch(args, s); };
  }

 private:
  embedding_backward::Args args() const {
    return {.shape = shape_,
            .ids = ids_.as<std::int64_t>(),
            .grad = grad_.as<Bf16>(),
            .grad_stride = shape_.hidden,
            .dweight = dweight_.as<Bf16>(),
            .sorted = {.ids = sorted_ids_.as<std::int64_t>(),
                       .positions = positions_.as<std::int64_t>(),
                       .workspace = sort_workspace_.as(),
                       .workspace_bytes = sort_bytes_}};
  }

  Backend& backend_;
  Shape shape_;
  std::vector<std::int64_t> host_ids_;
  std::uint64_t grad_key_;
  Memory ids_;
  Memory sorted_ids_;
  Memory positions_;
  std::size_t sort_bytes_;
  Memory sort_workspace_;
  Tensor grad_;
  Tensor dweight_;
};

// Bytes and operations ----------------------------------------------------------------------------------

/// Ids and gradients are read once, and as many rows written, since no id repeats.
double bytes(const Shape& s) { return static_cast<double>(s.tokens * (8 + 2 * 2 * s.hidden)); }
double operations(const Shape& s) { return static_cast<double>(s.tokens * s.hidden); }
std::size_t memory(const Shape& s, Device device) {
  return 3 * id_bytes(s.tokens) + sort_bytes(s.tokens, device) +
         sizeof(Bf16) * (size(s.tokens, s.hidden) + 2 * size(s.vocab, s.hidden));
}

}  // namespace

// Registration ------------------------------------------------------------------------------------------

OperatorBench operator_bench(Device device) {
  const bool gpu = device == Device::cuda;
  OperatorBench bench{.name = "embedding_backward", .shapes = {}};
  for (const Shape& shape : gpu ? std::span<const Shape>(published) : std::span<const Shape>(for_cpu))
    bench.shapes.push_back(
        {.keys = keys(shape),
         .variants = variant_names(embedding_backward::variants, device),
         .gating = gpu ? Timer::graph : Timer::cpu,
         .others = gpu ? std::vector{Timer::cold, Timer::wall} : std::vector<Timer>{},
         .bytes = bytes(shape),
         .operations = operations(shape),
         .memory = memory(shape, device),
         .make = [shape](Backend& b) { return std::make_unique<EmbeddingBackward>(b, shape); }});
  return bench;
}

}  // namespace strictbench
