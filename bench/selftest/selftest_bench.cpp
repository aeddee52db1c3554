/// bench_selftest: one right pair, and variants that are wrong, throw, crash, hang, are slow or do not fit.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <limits>
#include <map>
#include <stdexcept>
#include <thread>

#include "bench/harness/operator_bench.h"
#include "bench/selftest/selftest.h"
#include "kernels/common/random.h"

namespace strictbench {
namespace selftest {

void copy_cpu(const Args& args, Stream) {
  for (std::int64_t i = 0; i < args.count; ++i) {
    std::uint32_t value = 0;
    if (value_at(args, i, *args.runs, value)) args.out[i] = value;
  }
  ++*args.runs;
}

}  // namespace selftest

namespace {

using selftest::Fault;

constexpr std::size_t count = 5000;
constexpr std::size_t run_counters = 6;  // one a fault
const std::uint64_t key = random_key("selftest");

const std::map<std::string_view, Fault> faults{{"legacy", Fault::none},     {"new", Fault::none},
                                               {"one_bit", Fault::one_bit}, {"unwritten", Fault::unwritten},
                                               {"flaky", Fault::flaky},     {"late", Fault::late},
                                               {"nan", Fault::nan},         {"breaks", Fault::none}};

void run_copy(Device device, const selftest::Args& args, Stream stream) {
#ifdef STRICTBENCH_HAS_CUDA
  if (device == Device::cuda) return selftest::copy_cuda(args, stream);
#endif
  static_cast<void>(device);
  selftest::copy_cpu(args, stream);
}

class Selftest : public Problem {
 public:
  Selftest(Backend& backend, double tolerance)
      : backend_(backend),
        tolerance_(tolerance),
        in_(backend, Dtype::fp32, count),
        out_(backend, Dtype::fp32, count),
        runs_(backend, run_counters * sizeof(std::uint32_t)) {
    backend.zero(runs_.as(), run_counters * sizeof(std::uint32_t));
    in_.fill_random(key);
    if (tolerance > 0) return;                    // and no NaN is near anything
    const std::uint32_t quiet_nan = 0x7fc00001u;  // the oracle's NaN is another one: any matches any
    backend.upload(in_.as<std::uint32_t>() + 3, &quiet_nan, sizeof quiet_nan);
  }

  std::vector<Output> outputs() override { return {{"out", &out_}}; }

  Claim claim(std::string_view variant) const override {
    return variant == "legacy" ? Claim{} : Claim{.tolerance = tolerance_};
  }

  std::string broken_promise(std::string_view variant) override {
    return variant == "breaks" ? "it keeps no promise" : "";
  }

  std::size_t scratch_bytes(std::string_view variant) const override { return variant == "new" ? 64 : 0; }

  std::vector<Expected> oracle(std::string_view) const override {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = random_normal(key, i);
    if (tolerance_ == 0) values[3] = std::numeric_limits<float>::quiet_NaN();
    return {whole_output(values)};
  }

  Call call(std::string_view variant) override {
    if (!faults.contains(variant) && variant != "slow") return ending(variant);
    const bool slow = variant == "slow";
    const Fault fault = slow ? Fault::none : faults.at(variant);
    const selftest::Args args{.in = in_.as<std::uint32_t>(),
                              .out = out_.as<std::uint32_t>(),
                              .count = static_cast<std::int64_t>(count),
                              .runs = runs_.as<std::uint32_t>() + static_cast<int>(fault),
                              .fault = fault};
    return [args, slow, device = backend_.device()](Stream stream) {
#ifdef STRICTBENCH_HAS_CUDA
      if (slow && device == Device::cuda) selftest::spin_cuda(60'000'000, stream);
#endif
      if (slow && device == Device::cpu) std::this_thread::sleep_for(std::chrono::milliseconds(60));
      run_copy(device, args, stream);
    };
  }

 private:
  /// Variants that end badly, on their own or with everything around them.
  Call ending(std::string_view variant) {
    if (variant == "throws") return [](Stream) { throw std::runtime_error("thrown by the variant"); };
    if (variant == "crash") return [](Stream) { std::abort(); };
    if (variant == "segfault") return [](Stream) { std::raise(SIGSEGV); };
    if (variant == "exits") return [](Stream) { std::exit(0); };
    if (variant == "hang") return [](Stream) { std::this_thread::sleep_for(std::chrono::hours(1)); };
    if (variant == "allocates")
      return [this](Stream) { backend_.release(backend_.allocate(std::size_t{1} << 50)); };
    // It passes its checks, and dies while it is sampled by turns with its neighbours.
    if (variant == "late_crash")
      return [runs = 0, copy = call("new")](Stream stream) mutable {
        if (++runs > 20) std::abort();
        copy(stream);
      };
#ifdef STRICTBENCH_HAS_CUDA
    if (backend_.device() == Device::cuda) {
      if (variant == "loses") return [](Stream stream) { selftest::write_nowhere_cuda(stream); };
      if (variant == "traps") return [](Stream stream) { selftest::trap_cuda(stream); };
      if (variant == "device_hang")
        return [runs = runs_.as<std::uint32_t>()](Stream stream) { selftest::hang_cuda(runs, stream); };
    }
#endif
    if (variant == "loses") return [](Stream) { throw DeviceLost("the device is lost, as a test wants it"); };
    throw std::out_of_range("no variant " + std::string(variant));
  }

  Backend& backend_;
  double tolerance_;
  Tensor in_;
  Tensor out_;
  Memory runs_;
};

}  // namespace

OperatorBench operator_bench(Device device) {
  const bool gpu = device == Device::cuda;
  const auto shape = [&](std::string keys, std::vector<std::string> variants,
                         std::size_t memory = 3 * count * 4, double tolerance = 0) {
    return ShapeEntry{.keys = std::move(keys),
                      .variants = std::move(variants),
                      .gating = gpu ? Timer::graph : Timer::cpu,
                      .others = gpu ? std::vector{Timer::cold, Timer::wall} : std::vector<Timer>{},
                      .demand = {.read = count * 4.0, .written = count * 4.0},
                      .memory = memory,
                      .make = [tolerance](Backend& b) { return std::make_unique<Selftest>(b, tolerance); },
                      .samples = tolerance > 0 ? std::optional(8) : std::nullopt,
                      .control = tolerance > 0};
  };
  OperatorBench bench{
      .name = "selftest",
      .shapes = {shape("kind:right", {"legacy", "new"}),
                 shape("kind:wrong", {"legacy", "one_bit", "unwritten", "flaky", "late", "nan", "new"}),
                 shape("kind:near", {"legacy", "one_bit", "unwritten", "flaky", "breaks", "new"},
                       6 * count * 4, 0.01),
                 shape("kind:throws", {"legacy", "throws", "new"}), shape("kind:slow", {"legacy", "slow"}),
                 shape("kind:large", {"legacy", "new"}, std::size_t{1} << 50)}};
  // One at a time: each but the last takes its process along.
  for (const char* fault : {"crash", "segfault", "exits", "hang", "late_crash", "loses", "allocates"})
    bench.shapes.push_back(shape("kind:" + std::string(fault), {"legacy", fault, "new"}));
  if (gpu)
    for (const char* fault : {"traps", "device_hang"})
      bench.shapes.push_back(shape("kind:" + std::string(fault), {"legacy", fault, "new"}));
  bench.shapes.push_back(shape("kind:last", {"legacy", "new"}));
  return bench;
}

}  // namespace strictbench
