/// embedding_forward: the Qwen3-8B table at 1 to 32,768 tokens on a GPU, a small one on a CPU.
///
/// Ids are uniform without repeats, so that no row is read from a cache because another token had it. Beside
/// the pair stands `copy`, the bar: a plain copy, by the device's own means, of rows that were gathered
/// beforehand. It reads and writes the same bytes and ends with the same output. (For out:fp32 there is none:
/// no copy widens.)
#include <algorithm>
#include <cstring>

#include "bench/harness/operator_bench.h"
#include "kernels/common/random.h"
#include "kernels/embedding_forward/embedding_forward.h"

#ifdef STRICTBENCH_HAS_CUDA
#include "kernels/common/cuda_error.h"
#endif

namespace strictbench {
namespace {

// Shapes ------------------------------------------------------------------------------------------------

struct Shape {
  std::int64_t tokens;
  std::int64_t vocab;
  std::int64_t hidden;
  Dtype dtype = Dtype::bf16;
  bool wide = false;  ///< out in fp32

  Dtype out_type() const { return wide ? Dtype::fp32 : dtype; }
};

std::vector<Shape> shapes(Device device) {
  const bool gpu = device == Device::cuda;
  const std::int64_t vocab = gpu ? 151936 : 10000;
  const std::int64_t hidden = gpu ? 4096 : 64;
  const std::vector<std::int64_t> tokens =
      gpu ? std::vector<std::int64_t>{1, 32, 512, 4096, 32768} : std::vector<std::int64_t>{1, 512, 4096};
  std::vector<Shape> all;
  for (const bool wide : {false, true})
    for (const std::int64_t t : tokens) all.push_back({t, vocab, hidden, Dtype::bf16, wide});
  for (const Dtype dtype : {Dtype::fp32, Dtype::fp16}) all.push_back({4096, vocab, hidden, dtype});
  return all;
}

std::string keys(const Shape& shape) {
  return "tokens:" + std::to_string(shape.tokens) + "/vocab:" + std::to_string(shape.vocab) +
         "/hidden:" + std::to_string(shape.hidden) + "/dtype:" + std::string(name_of(shape.dtype)) +
         "/out:" + (shape.wide ? "fp32" : "native");
}

std::uint64_t key(const Shape& shape, const char* tensor) {
  return random_key("embedding_forward/" + keys(shape) + "/" + tensor);
}

std::size_t size(std::int64_t a, std::int64_t b) { return static_cast<std::size_t>(a * b); }
std::size_t table_bytes(const Shape& s) { return size(s.vocab, s.hidden) * size_of(s.dtype); }
std::size_t rows_bytes(const Shape& s) { return size(s.tokens, s.hidden) * size_of(s.dtype); }
std::size_t out_bytes(const Shape& s) { return size(s.tokens, s.hidden) * size_of(s.out_type()); }
std::size_t id_bytes(const Shape& s) { return size(s.tokens, sizeof(std::int64_t)); }

void enqueue_copy(Device device, void* to, const void* from, std::size_t bytes, Stream stream) {
#ifdef STRICTBENCH_HAS_CUDA
  if (device == Device::cuda)
    return cuda_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream));
#endif
  static_cast<void>(device);
  static_cast<void>(stream);
  std::memcpy(to, from, bytes);
}

// Inputs ------------------------------------------------------------------------------------------------

class EmbeddingForward : public Problem {
 public:
  EmbeddingForward(Backend& backend, const Shape& shape)
      : backend_(backend),
        shape_(shape),
        host_ids_(random_distinct(key(shape, "ids"), shape.tokens, shape.vocab)),
        ids_(backend, id_bytes(shape)),
        weight_(backend, shape.dtype, size(shape.vocab, shape.hidden)),
        out_(backend, shape.out_type(), size(shape.tokens, shape.hidden)) {
    embedding_forward::validate_ids(sizes(shape.tokens), host_ids_.data());
    backend.upload(ids_.as(), host_ids_.data(), id_bytes(shape));
    weight_.fill_random(key(shape, "weight"));
  }

  std::vector<Output> outputs() override { return {{"out", &out_}}; }

  Claim claim(std::string_view) const override { return {.oracle = "gather"}; }

  /// Element h of a token's row is the random number at its place in the table, of which no more is made.
  std::vector<Expected> oracle(std::string_view) const override {
    return with_type(shape_.dtype, [&]<class T>() -> std::vector<Expected> {
      const std::uint64_t weight = key(shape_, "weight");
      std::vector<T> rows;
      rows.reserve(out_.count());
      for (const std::int64_t id : host_ids_)
        for (std::int64_t h = 0; h < shape_.hidden; ++h)
          rows.push_back(rounded<T>(random_normal(weight, size(id, shape_.hidden) + size(h, 1))));
      return {shape_.wide ? whole_output(embedding_forward::widened(rows)) : whole_output(rows)};
    });
  }

  /// A token's row has the same bits in a slice of the batch, and with other tokens around it.
  std::string broken_promise(std::string_view variant) override {
    if (variant == "copy") return {};
    constexpr std::int64_t most = 64;
    constexpr std::int64_t padding = 5;
    const std::int64_t first = shape_.tokens / 3;
    const std::int64_t count = std::min(most, shape_.tokens - first);
    const auto slice = host_ids_.begin() + first;
    std::vector<std::int64_t> padded(static_cast<std::size_t>(count + 2 * padding), shape_.vocab - 1);
    std::copy(slice, slice + count, padded.begin() + padding);
    const Memory padded_ids(backend_, padded.size() * sizeof(std::int64_t));
    backend_.upload(padded_ids.as(), padded.data(), padded.size() * sizeof(std::int64_t));

    out_.poison();
    run(variant, ids_.as<std::int64_t>(), shape_.tokens, out_.as());
    Tensor part(backend_, shape_.out_type(), size(count + 2 * padding, shape_.hidden));
    part.poison();
    run(variant, ids_.as<std::int64_t>() + first, count, part.as());
    if (differs(part, 0, first, count)) return "rows of a slice differ from those of the whole batch";
    part.poison();
    run(variant, padded_ids.as<std::int64_t>(), count + 2 * padding, part.as());
    if (differs(part, padding, first, count)) return "rows differ with other tokens around them";
    return {};
  }

  std::size_t scratch_bytes(std::string_view variant) const override {
    return variant == "legacy" ? embedding_forward::legacy_scratch_bytes(sizes(1), shape_.dtype) : 0;
  }

  Call call(std::string_view variant) override {
    if (variant == "copy") {
      gather_beforehand();
      return [device = backend_.device(), to = out_.as(), from = gathered_.as(),
              bytes = out_.bytes()](Stream s) { enqueue_copy(device, to, from, bytes, s); };
    }
    return launch_on(variant, ids_.as<std::int64_t>(), shape_.tokens, out_.as());
  }

 private:
  embedding_forward::Shape sizes(std::int64_t tokens) const { return {tokens, shape_.vocab, shape_.hidden}; }

  Call launch_on(std::string_view variant, const std::int64_t* ids, std::int64_t tokens, void* out) {
    const std::size_t scratch = scratch_bytes(variant);
    if (scratch > 0 && table_fp32_.as() == nullptr) table_fp32_ = Memory(backend_, scratch);
    const embedding_forward::Args args{.shape = sizes(tokens),
                                       .ids = ids,
                                       .weight = {weight_.as(), shape_.dtype},
                                       .out = {out, shape_.out_type()},
                                       .table_fp32 = scratch > 0 ? table_fp32_.as<float>() : nullptr};
    return [args, launch = find_launch(embedding_forward::variants, variant, backend_.device())](Stream s) {
      launch(args, s);
    };
  }

  void run(std::string_view variant, const std::int64_t* ids, std::int64_t tokens, void* out) {
    launch_on(variant, ids, tokens, out)(backend_.stream());
    backend_.synchronize();
  }

  /// Whether rows of `part` from `at` on differ from those of out_ from `first` on.
  bool differs(const Tensor& part, std::int64_t at, std::int64_t first, std::int64_t count) {
    const std::size_t row_bytes = size(shape_.hidden, 1) * size_of(shape_.out_type());
    const auto row = [&](const Tensor& tensor, std::int64_t r) {
      return tensor.as<std::byte>() + static_cast<std::size_t>(r) * row_bytes;
    };
    return backend_.compare(row(part, at), row(out_, first), shape_.out_type(), size(count, shape_.hidden))
               .count > 0;
  }

  /// The rows that `copy` starts from, copied one by one and not by any variant.
  void gather_beforehand() {
    if (gathered_.as() != nullptr) return;
    gathered_ = Memory(backend_, out_.bytes());
    const std::size_t row_bytes = size(shape_.hidden, 1) * size_of(shape_.dtype);
    for (std::size_t t = 0; t < host_ids_.size(); ++t)
      backend_.copy(gathered_.as<std::byte>() + t * row_bytes,
                    weight_.as<std::byte>() + static_cast<std::size_t>(host_ids_[t]) * row_bytes, row_bytes);
  }

  Backend& backend_;
  Shape shape_;
  std::vector<std::int64_t> host_ids_;
  Memory ids_;
  Tensor weight_;
  Tensor out_;
  Memory table_fp32_;  ///< legacy's, allocated when it is first asked for
  Memory gathered_;    ///< copy's, likewise
};

// Demand and memory -------------------------------------------------------------------------------------

/// Ids and their rows are read once, and out is written once. Nothing is computed.
Demand demand(const Shape& s) {
  return {.read = static_cast<double>(id_bytes(s) + rows_bytes(s)),
          .written = static_cast<double>(out_bytes(s))};
}

std::size_t memory(const Shape& s) {
  const std::size_t scratch = embedding_forward::legacy_scratch_bytes({s.tokens, s.vocab, s.hidden}, s.dtype);
  const std::size_t gathered = s.wide ? 0 : rows_bytes(s);
  return table_bytes(s) + id_bytes(s) + 2 * out_bytes(s) + scratch + gathered;
}

}  // namespace

// Registration ------------------------------------------------------------------------------------------

OperatorBench operator_bench(Device device) {
  const bool gpu = device == Device::cuda;
  OperatorBench bench{.name = "embedding_forward", .shapes = {}};
  for (const Shape& shape : shapes(device)) {
    std::vector<std::string> variants = variant_names(embedding_forward::variants, device);
    if (!shape.wide) variants.emplace_back("copy");
    bench.shapes.push_back(
        {.keys = keys(shape),
         .variants = variants,
         .gating = gpu ? Timer::graph : Timer::cpu,
         .others = gpu ? std::vector{Timer::cold, Timer::wall} : std::vector<Timer>{},
         .demand = demand(shape),
         .memory = memory(shape),
         .make = [shape](Backend& b) { return std::make_unique<EmbeddingForward>(b, shape); }});
  }
  return bench;
}

}  // namespace strictbench
