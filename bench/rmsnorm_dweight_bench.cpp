/// rmsnorm_dweight: the sizes of row_fold's shapes in bf16 on a GPU, with and without a mask; small ones on a
/// CPU. Both variants write the contributions and differ in the fold alone.
#include "bench/harness/operator_bench.h"
#include "kernels/common/random.h"
#include "kernels/rmsnorm_dweight/rmsnorm_dweight.h"

namespace strictbench {
namespace {

// Shapes ------------------------------------------------------------------------------------------------

struct Shape {
  std::int64_t rows;
  std::int64_t cols;
  Dtype dtype = Dtype::bf16;
  bool masked = false;  ///< 0 for a random half of the rows, else 1
};

std::vector<Shape> shapes(Device device) {
  if (device == Device::cpu)
    return {{1, 4096}, {64, 4096}, {1024, 128}, {1024, 128, Dtype::bf16, true}, {1024, 128, Dtype::fp32}};
  return {{1, 4096},
          {64, 4096},
          {1024, 4096},
          {4096, 4096},
          {16384, 128},
          {1024, 4096, Dtype::bf16, true},
          {16384, 128, Dtype::bf16, true},
          {4096, 4096, Dtype::fp32}};
}

std::string keys(const Shape& shape) {
  return "rows:" + std::to_string(shape.rows) + "/cols:" + std::to_string(shape.cols) +
         "/dtype:" + std::string(name_of(shape.dtype)) + "/mask:" + (shape.masked ? "half" : "none");
}

std::size_t elements(const Shape& shape) { return static_cast<std::size_t>(shape.rows * shape.cols); }
std::size_t rows_of(const Shape& shape) { return static_cast<std::size_t>(shape.rows); }
std::size_t cols_of(const Shape& shape) { return static_cast<std::size_t>(shape.cols); }

// Inputs ------------------------------------------------------------------------------------------------

class RmsnormDweight : public Problem {
 public:
  RmsnormDweight(Backend& backend, const Shape& shape)
      : shape_(shape),
        device_(backend.device()),
        host_rstd_(rows_of(shape)),
        host_mask_(shape.masked ? rows_of(shape) : 0),
        dy_(backend, shape.dtype, elements(shape)),
        x_(backend, shape.dtype, elements(shape)),
        rstd_(backend, Dtype::fp32, host_rstd_.size()),
        mask_(backend, Dtype::fp32, host_mask_.size()),
        contributions_(backend, Dtype::fp32, elements(shape)),
        dweight_(backend, Dtype::fp32, cols_of(shape)) {
    dy_.fill_random(key("dy"));
    x_.fill_random(key("x"));
    // One over the root mean square of such x lies near 0.87 for every row.
    for (std::uint64_t r = 0; r < host_rstd_.size(); ++r)
      host_rstd_[r] = 0.875f + random_normal(key("rstd"), r) * 0x1p-6f;
    for (std::uint64_t r = 0; r < host_mask_.size(); ++r)
      host_mask_[r] = static_cast<float>(random_below(key("mask"), r, 2));
    backend.upload(rstd_.as(), host_rstd_.data(), rstd_.bytes());
    if (shape.masked) backend.upload(mask_.as(), host_mask_.data(), mask_.bytes());
  }

  std::vector<Output> outputs() override { return {{"dweight", &dweight_}}; }

  std::vector<Expected> oracle(std::string_view) const override {
    return with_type(shape_.dtype, [&]<class T>() -> std::vector<Expected> {
      const std::vector<T> dy = random_values<T>(key("dy"));
      const std::vector<T> x = random_values<T>(key("x"));
      return {whole_output(
          rmsnorm_dweight::oracle(args(dy.data(), x.data(), host_rstd_.data(), host_mask_.data())))};
    });
  }

  std::size_t scratch_bytes(std::string_view) const override { return contributions_.bytes(); }

  /// No variant may live on the contributions that another one left behind.
  void prepare(std::string_view) override { contributions_.poison(); }

  Call call(std::string_view variant) override {
    auto on_device = args(dy_.as(), x_.as(), rstd_.as<float>(), mask_.as<float>());
    on_device.contributions = contributions_.as<float>();
    on_device.dweight = dweight_.as<float>();
    return [on_device, launch = find_launch(rmsnorm_dweight::variants, variant, device_)](Stream s) {
      launch(on_device, s);
    };
  }

 private:
  std::uint64_t key(const std::string& tensor) const {
    return random_key("rmsnorm_dweight/" + keys(shape_) + "/" + tensor);
  }
  template <class T>
  std::vector<T> random_values(std::uint64_t tensor) const {
    std::vector<T> values(elements(shape_));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = rounded<T>(random_normal(tensor, i));
    return values;
  }
  rmsnorm_dweight::Args args(const void* dy, const void* x, const float* rstd, const float* mask) const {
    return {.shape = {shape_.rows, shape_.cols},
            .dtype = shape_.dtype,
            .dy = dy,
            .dy_stride = shape_.cols,
            .x = x,
            .x_stride = shape_.cols,
            .rstd = rstd,
            .mask = shape_.masked ? mask : nullptr,
            .contributions = nullptr,
            .dweight = nullptr};
  }

  Shape shape_;
  Device device_;
  std::vector<float> host_rstd_;
  std::vector<float> host_mask_;
  Tensor dy_;
  Tensor x_;
  Tensor rstd_;
  Tensor mask_;
  Tensor contributions_;
  Tensor dweight_;
};

// Demand and memory -------------------------------------------------------------------------------------

std::size_t input_bytes(const Shape& s) {
  return 2 * elements(s) * size_of(s.dtype) + rows_of(s) * sizeof(float) * (s.masked ? 2 : 1);
}
std::size_t output_bytes(const Shape& s) { return cols_of(s) * sizeof(float); }

/// Inputs are read once and dweight written once: the contributions need never leave the chip. Two products,
/// a third with a mask, and a sum, each rounded; the sums of a column one after the other.
Demand demand(const Shape& s) {
  const auto operations = static_cast<double>(elements(s) * (s.masked ? 4 : 3));
  return {.read = static_cast<double>(input_bytes(s)),
          .written = static_cast<double>(output_bytes(s)),
          .chain = static_cast<double>(s.rows),
          .operations = operations,
          .instructions = operations};
}

std::size_t memory(const Shape& s) {
  return input_bytes(s) + elements(s) * sizeof(float) + 2 * output_bytes(s);
}

}  // namespace

// Registration ------------------------------------------------------------------------------------------

OperatorBench operator_bench(Device device) {
  const bool gpu = device == Device::cuda;
  OperatorBench bench{.name = "rmsnorm_dweight", .shapes = {}};
  for (const Shape& shape : shapes(device))
    bench.shapes.push_back(
        {.keys = keys(shape),
         .variants = variant_names(rmsnorm_dweight::variants, device),
         .gating = gpu ? Timer::graph : Timer::cpu,
         .others = gpu ? std::vector{Timer::cold, Timer::wall} : std::vector<Timer>{},
         .demand = demand(shape),
         .memory = memory(shape),
         .make = [shape](Backend& b) { return std::make_unique<RmsnormDweight>(b, shape); }});
  return bench;
}

}  // namespace strictbench
