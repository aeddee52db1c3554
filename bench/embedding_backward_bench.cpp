/// embedding_backward: the eight published shapes, and the Qwen3-8B table with more tokens, repeated ids and
/// the whole backward on a GPU; small vocabularies on a CPU.
///
/// part:kernel is the one backward kernel, as published: sorting, allocation and zeroing are not timed.
/// part:whole is all that turns ids and gradients into every element of dweight. The published tables do not
/// say how token ids were distributed; those rows have them uniform without repeats.
#include <algorithm>
#include <map>

#include "bench/harness/operator_bench.h"
#include "kernels/common/random.h"
#include "kernels/embedding_backward/embedding_backward.h"

namespace strictbench {
namespace {

// Shapes ------------------------------------------------------------------------------------------------

enum class Ids { uniform, zipf, equal };
enum class Part { kernel, whole };

struct Shape {
  std::int64_t tokens;
  std::int64_t vocab;
  std::int64_t hidden;
  Ids ids = Ids::uniform;
  Part part = Part::kernel;
  Dtype dtype = Dtype::bf16;  ///< of gradients and dweight
  bool legacy = true;         ///< whether legacy is measured too: 0.4 to 0.7 s a call on the Qwen3-8B table
};

constexpr Shape published[] = {{8, 32000, 1024},    {32, 151936, 1024}, {32, 151936, 2048},
                               {32, 32000, 4096},   {32, 128256, 4096}, {32, 151936, 4096},
                               {128, 151936, 4096}, {512, 151936, 4096}};

std::vector<Shape> gpu_shapes() {
  std::vector<Shape> all(std::begin(published), std::end(published));
  for (const Part part : {Part::kernel, Part::whole})
    for (const std::int64_t tokens : {512, 4096, 32768})
      for (const Ids ids : {Ids::uniform, Ids::zipf, Ids::equal}) {
        const bool uniform = ids == Ids::uniform;
        if (part == Part::kernel && tokens == 512 && uniform) continue;  // the last of the published
        const bool legacy =
            tokens == 512 && (part == Part::whole ? uniform : ids == Ids::zipf);  // one of each part
        all.push_back({tokens, 151936, 4096, ids, part, Dtype::bf16, legacy});
      }
  for (const std::int64_t hidden : {1024, 2048})
    for (const std::int64_t tokens : {4096, 32768})
      for (const Ids ids : {Ids::uniform, Ids::zipf})
        all.push_back({tokens, 151936, hidden, ids, Part::kernel, Dtype::bf16, false});
  for (const Dtype dtype : {Dtype::fp32, Dtype::fp16})
    all.push_back({512, 32000, 4096, Ids::uniform, Part::kernel, dtype, false});
  return all;
}

std::vector<Shape> cpu_shapes() {
  return {{8, 1000, 64},
          {32, 1000, 64},
          {32, 4000, 64},
          {128, 1000, 64},
          {128, 1000, 64, Ids::zipf},
          {128, 1000, 64, Ids::equal},
          {128, 1000, 64, Ids::uniform, Part::whole},
          {128, 1000, 64, Ids::zipf, Part::whole},
          {128, 1000, 64, Ids::uniform, Part::kernel, Dtype::fp32},
          {128, 1000, 64, Ids::uniform, Part::kernel, Dtype::fp16}};
}

std::string keys(const Shape& shape) {
  const char* const ids = shape.ids == Ids::uniform ? "uniform" : shape.ids == Ids::zipf ? "zipf" : "equal";
  return "tokens:" + std::to_string(shape.tokens) + "/vocab:" + std::to_string(shape.vocab) +
         "/hidden:" + std::to_string(shape.hidden) + "/ids:" + ids +
         "/dtype:" + std::string(name_of(shape.dtype)) +
         "/part:" + (shape.part == Part::kernel ? "kernel" : "whole");
}

std::uint64_t key(const Shape& shape, const char* tensor) {
  return random_key("embedding_backward/" + keys(shape) + "/" + tensor);
}

std::vector<std::int64_t> random_ids(const Shape& shape) {
  const std::uint64_t seed = key(shape, "ids");
  switch (shape.ids) {
    case Ids::uniform:
      return random_distinct(seed, shape.tokens, shape.vocab);
    case Ids::zipf:
      return random_zipf(seed, shape.tokens, shape.vocab);
    case Ids::equal:
      break;
  }
  const std::uint64_t id = random_below(seed, 0, static_cast<std::uint64_t>(shape.vocab));
  return std::vector<std::int64_t>(static_cast<std::size_t>(shape.tokens), static_cast<std::int64_t>(id));
}

std::size_t size(std::int64_t a, std::int64_t b) { return static_cast<std::size_t>(a * b); }
std::size_t id_bytes(const Shape& shape) { return size(shape.tokens, sizeof(std::int64_t)); }

std::size_t sort_bytes(const Shape& shape, Device device) {
#ifdef STRICTBENCH_HAS_CUDA
  if (device == Device::cuda) return embedding_backward::sort_workspace_bytes(shape.tokens);
#endif
  static_cast<void>(device);
  static_cast<void>(shape);
  return 0;
}

// Inputs ------------------------------------------------------------------------------------------------

class EmbeddingBackward : public Problem {
 public:
  EmbeddingBackward(Backend& backend, const Shape& shape)
      : backend_(backend),
        shape_(shape),
        host_ids_(random_ids(shape)),
        ids_(backend, id_bytes(shape)),
        sorted_ids_(backend, id_bytes(shape)),
        positions_(backend, id_bytes(shape)),
        sort_bytes_(sort_bytes(shape, backend.device())),
        sort_workspace_(backend, sort_bytes_),
        grad_(backend, shape.dtype, size(shape.tokens, shape.hidden)),
        dweight_(backend, shape.dtype, size(shape.vocab, shape.hidden)) {
    embedding_backward::validate_ids(sizes(), host_ids_.data());
    backend.upload(ids_.as(), host_ids_.data(), id_bytes(shape));
    grad_.fill_random(key(shape, "grad"));
  }

  std::vector<Output> outputs() override { return {{"dweight", &dweight_}}; }

  Claim claim(std::string_view variant) const override {
    const bool tree = variant == "legacy" && !embedding_backward::orders_agree(sizes(), host_ids_);
    return {.oracle = tree ? "step_tree" : "ascending"};
  }

  std::vector<Expected> oracle(std::string_view definition) const override {
    return with_type(shape_.dtype, [&]<class T>() -> std::vector<Expected> {
      const std::uint64_t grad_key = key(shape_, "grad");
      std::vector<float> grad(grad_.count());
      for (std::size_t i = 0; i < grad.size(); ++i)
        grad[i] = to_float(rounded<T>(random_normal(grad_key, i)));
      const auto sums = definition == "step_tree"
                            ? embedding_backward::oracle_step_tree(sizes(), host_ids_, grad)
                            : embedding_backward::oracle(sizes(), host_ids_, grad);
      Expected expected{.values = {}, .rows = {}, .row_bytes = size(shape_.hidden, sizeof(T))};
      for (const auto& [id, sum] : sums) {
        std::vector<T> row;
        for (const float x : sum) row.push_back(rounded<T>(x));
        const auto bytes = whole_output(row).values;
        expected.rows.push_back(id);
        expected.values.insert(expected.values.end(), bytes.begin(), bytes.end());
      }
      return {expected};
    });
  }

  std::size_t scratch_bytes(std::string_view variant) const override {
    return variant == "legacy" ? 0 : 2 * id_bytes(shape_) + sort_bytes_;
  }

  /// What the published figure leaves out: the segment variants get their ids sorted and dweight zeroed.
  void prepare(std::string_view variant) override {
    if (shape_.part == Part::whole || variant == "legacy") return;
    dweight_.zero();
#ifdef STRICTBENCH_HAS_CUDA
    if (backend_.device() == Device::cuda) embedding_backward::sort_ids(args(), backend_.stream());
#endif
    if (backend_.device() == Device::cpu) embedding_backward::cpu_sort_ids(args(), nullptr);
    backend_.synchronize();
  }

  Call call(std::string_view variant) override {
    const auto launch = shape_.part == Part::whole
                            ? find_launch(embedding_backward::whole_variants, variant, backend_.device())
                            : find_launch(embedding_backward::variants, variant, backend_.device());
    return [args = args(), launch](Stream s) { launch(args, s); };
  }

 private:
  embedding_backward::Shape sizes() const { return {shape_.tokens, shape_.vocab, shape_.hidden}; }

  embedding_backward::Args args() const {
    return {.shape = sizes(),
            .ids = ids_.as<std::int64_t>(),
            .grad = {grad_.as(), shape_.dtype},
            .grad_stride = shape_.hidden,
            .dweight = {dweight_.as(), shape_.dtype},
            .sorted = {.ids = sorted_ids_.as<std::int64_t>(),
                       .positions = positions_.as<std::int64_t>(),
                       .workspace = sort_workspace_.as(),
                       .workspace_bytes = sort_bytes_}};
  }

  Backend& backend_;
  Shape shape_;
  std::vector<std::int64_t> host_ids_;
  Memory ids_;
  Memory sorted_ids_;
  Memory positions_;
  std::size_t sort_bytes_;
  Memory sort_workspace_;
  Tensor grad_;
  Tensor dweight_;
};

// Demand and memory -------------------------------------------------------------------------------------

/// Ids and gradients are read once; written are the rows whose ids occur, or for the whole all of them.
/// Gradients of one id are added one after the other.
Demand demand(const Shape& s) {
  std::map<std::int64_t, std::int64_t> count_of;
  for (const std::int64_t id : random_ids(s)) ++count_of[id];
  std::int64_t longest = 0;
  for (const auto& [id, count] : count_of) longest = std::max(longest, count);
  const std::size_t rows = s.part == Part::whole ? size(s.vocab, 1) : count_of.size();
  const std::size_t row_bytes = size(s.hidden, 1) * size_of(s.dtype);
  const auto additions = static_cast<double>(s.tokens * s.hidden);
  return {.read = static_cast<double>(id_bytes(s) + size(s.tokens, 1) * row_bytes),
          .written = static_cast<double>(rows * row_bytes),
          .chain = static_cast<double>(longest),
          .operations = additions,
          .instructions = additions};
}

/// The table as it comes out and as it is expected, by legacy's order perhaps in other bits than by new's.
std::size_t memory(const Shape& s, Device device) {
  const std::int64_t tables = s.legacy && s.ids != Ids::uniform ? 3 : 2;
  return 3 * id_bytes(s) + sort_bytes(s, device) +
         size_of(s.dtype) * size(s.tokens + tables * s.vocab, s.hidden);
}

}  // namespace

// Registration ------------------------------------------------------------------------------------------

OperatorBench operator_bench(Device device) {
  const bool gpu = device == Device::cuda;
  OperatorBench bench{.name = "embedding_backward", .shapes = {}};
  for (const Shape& shape : gpu ? gpu_shapes() : cpu_shapes()) {
    std::vector<std::string> variants = variant_names(embedding_backward::variants, device);
    if (!shape.legacy) std::erase(variants, "legacy");
    bench.shapes.push_back(
        {.keys = keys(shape),
         .variants = variants,
         .gating = gpu ? Timer::graph : Timer::cpu,
         .others = gpu ? std::vector{Timer::cold, Timer::wall} : std::vector<Timer>{},
         .demand = demand(shape),
         .memory = memory(shape, device),
         .make = [shape](Backend& b) { return std::make_unique<EmbeddingBackward>(b, shape); }});
  }
  return bench;
}

}  // namespace strictbench
