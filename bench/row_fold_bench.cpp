/// row_fold: the 28 published shapes in fp32 on a GPU, some of them in bf16 and fp16, a laptop's share on a
/// CPU.
#include <span>

#include "bench/harness/operator_bench.h"
#include "kernels/common/random.h"
#include "kernels/row_fold/row_fold.h"

namespace strictbench {
namespace {

// Shapes ------------------------------------------------------------------------------------------------

struct Shape {
  std::int64_t rows;
  std::int64_t cols;
  Dtype dtype = Dtype::fp32;
};

constexpr Shape published[] = {
    {1, 128},     {2, 128},     {4, 128},   {8, 128},    {16, 128},    {32, 128},    {64, 128},
    {128, 128},   {256, 128},   {512, 128}, {1024, 128}, {2048, 128},  {4096, 128},  {8192, 128},
    {16384, 128}, {1, 4096},    {8, 4096},  {32, 4096},  {128, 4096},  {512, 4096},  {1024, 4096},
    {2048, 4096}, {4096, 4096}, {1024, 64}, {1024, 256}, {1024, 1024}, {1024, 2048}, {1024, 8192}};

constexpr Shape for_cpu[] = {{1, 128},   {64, 128},    {1024, 128}, {16384, 128},
                             {64, 4096}, {1024, 4096}, {4096, 4096}};

/// Half the bytes of fp32; does the time show it?
constexpr Shape narrow[] = {{64, 4096}, {1024, 4096}, {4096, 4096}, {16384, 128}};
constexpr Shape narrow_for_cpu[] = {{1024, 4096}};

std::vector<Shape> shapes(Device device) {
  const bool gpu = device == Device::cuda;
  std::vector<Shape> all;
  const auto add = [&](std::span<const Shape> some, Dtype dtype) {
    for (const auto& [rows, cols, _] : some) all.push_back({rows, cols, dtype});
  };
  add(gpu ? std::span<const Shape>(published) : std::span<const Shape>(for_cpu), Dtype::fp32);
  for (const Dtype dtype : {Dtype::bf16, Dtype::fp16})
    add(gpu ? std::span<const Shape>(narrow) : std::span<const Shape>(narrow_for_cpu), dtype);
  return all;
}

std::string keys(const Shape& shape) {
  return "rows:" + std::to_string(shape.rows) + "/cols:" + std::to_string(shape.cols) +
         "/dtype:" + std::string(name_of(shape.dtype));
}

// Inputs ------------------------------------------------------------------------------------------------

class RowFold : public Problem {
 public:
  RowFold(Backend& backend, const Shape& shape)
      : shape_(shape),
        device_(backend.device()),
        key_(random_key("row_fold/" + keys(shape) + "/rows")),
        rows_(backend, shape.dtype, static_cast<std::size_t>(shape.rows * shape.cols)),
        out_(backend, Dtype::fp32, static_cast<std::size_t>(shape.cols)) {
    rows_.fill_random(key_);
  }

  std::vector<Output> outputs() override { return {{"out", &out_}}; }

  std::vector<Expected> oracle(std::string_view) const override {
    return with_type(shape_.dtype, [&]<class T>() -> std::vector<Expected> {
      std::vector<T> rows(rows_.count());
      for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = rounded<T>(random_normal(key_, i));
      return {whole_output(row_fold::oracle(layout(rows.data())))};
    });
  }

  Call call(std::string_view variant) override {
    const row_fold::Args args{.rows = layout(rows_.as()), .out = out_.as<float>()};
    return [args, launch = find_launch(row_fold::variants, variant, device_)](Stream s) { launch(args, s); };
  }

 private:
  row_fold::Layout layout(const void* rows) const {
    return row_fold::matrix(shape_.dtype, rows, shape_.rows, shape_.cols);
  }

  Shape shape_;
  Device device_;
  std::uint64_t key_;
  Tensor rows_;
  Tensor out_;
};

// Demand and memory -------------------------------------------------------------------------------------

std::size_t rows_bytes(const Shape& s) {
  return static_cast<std::size_t>(s.rows * s.cols) * size_of(s.dtype);
}
std::size_t out_bytes(const Shape& s) { return static_cast<std::size_t>(s.cols) * sizeof(float); }
/// Every element is read and added once, those of a column one after the other.
Demand demand(const Shape& s) {
  const auto additions = static_cast<double>(s.rows * s.cols);
  return {.read = static_cast<double>(rows_bytes(s)),
          .written = static_cast<double>(out_bytes(s)),
          .chain = static_cast<double>(s.rows),
          .operations = additions,
          .instructions = additions};
}
std::size_t memory(const Shape& s) { return rows_bytes(s) + 2 * out_bytes(s); }

}  // namespace

// Registration ------------------------------------------------------------------------------------------

OperatorBench operator_bench(Device device) {
  const bool gpu = device == Device::cuda;
  OperatorBench bench{.name = "row_fold", .shapes = {}};
  for (const Shape& shape : shapes(device))
    bench.shapes.push_back({.keys = keys(shape),
                            .variants = variant_names(row_fold::variants, device),
                            .gating = gpu ? Timer::graph : Timer::cpu,
                            .others = gpu ? std::vector{Timer::wall, Timer::cold} : std::vector<Timer>{},
                            .demand = demand(shape),
                            .memory = memory(shape),
                            .make = [shape](Backend& b) { return std::make_unique<RowFold>(b, shape); }});
  return bench;
}

}  // namespace strictbench
