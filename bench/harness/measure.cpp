#include "bench/harness/measure.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <map>

#include "bench/harness/nvtx.h"

namespace strictbench {
namespace {

std::string hex(std::uint32_t bits, Dtype dtype) {
  char text[16];
  std::snprintf(text, sizeof text, dtype == Dtype::fp32 ? "0x%08x" : "0x%04x", bits);
  return text;
}

std::string gigabytes(std::size_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f GB", static_cast<double>(bytes) * 1e-9);
  return text;
}

/// The oracle's result in the backend's memory.
Tensor place(Backend& backend, const Tensor& output, const Expected& expected) {
  Tensor placed(backend, output.dtype(), output.count());
  if (expected.row_bytes == 0) {
    if (expected.values.size() != placed.bytes()) throw std::logic_error("the oracle's result has another size");
    backend.upload(placed.as(), expected.values.data(), expected.values.size());
    return placed;
  }
  placed.zero();
  for (std::size_t i = 0; i < expected.rows.size(); ++i)
    backend.upload(placed.as<std::byte>() + static_cast<std::size_t>(expected.rows[i]) * expected.row_bytes,
                   expected.values.data() + i * expected.row_bytes, expected.row_bytes);
  return placed;
}

}  // namespace

/// One shape being measured: the problem, and the expected outputs by definition.
class Measurer::Shape {
 public:
  Shape(Measurer& all, const ShapeEntry& entry) : all_(all), entry_(entry), problem_(entry.make(all.backend_)) {}

  /// Step 1. Leaves the sampler ready for step 2, or the samples done, or an error.
  void check(const Case& c, Measured& result) {
    const NvtxRange range(nvtx_name(c.name, "check"));
    result.oracle = problem_->oracle_of(c.variant);
    Call call = problem_->call(c.variant);
    if (all_.launched_.insert(c.variant).second) {
      // A kernel's first launch may load code or grow its stack, which waits for the whole device: never for
      // the first time behind the timer's blocking kernel.
      prepare(c);
      call(all_.backend_.stream());
      all_.backend_.synchronize();
    }
    auto once = all_.backend_.make_sampler(c.timer, call, 1);
    double fastest = 0;
    for (int run = 1; run <= 2; ++run) {
      const double seconds = checked_sample(c, result, *once, "run " + std::to_string(run) + " of 2");
      if (!result.error.empty()) return;
      result.samples.push_back(seconds);
      fastest = run == 1 ? seconds : std::min(fastest, seconds);
    }
    if (fastest > long_call_seconds) return;  // checked and timed in one: done
    result.samples.clear();
    result.calls = calls_per_sample(c.timer, fastest);
    samplers_[&c] = {all_.backend_.make_sampler(c.timer, std::move(call), result.calls),
                     samples_per_process(fastest * result.calls, all_.options_.samples)};
  }

  /// Step 2.
  void sample(std::span<const Case> cases, std::vector<Measured>& results) {
    for (std::size_t i = 0; i < cases.size(); ++i) {  // one discarded sample each
      const NvtxRange range(nvtx_name(cases[i].name, "warm-up"));
      guarded(cases[i], results[i], [](Sampler& sampler) { sampler.sample(); });
    }
    std::vector<std::size_t> turn(cases.size());
    for (std::size_t i = 0; i < turn.size(); ++i) turn[i] = i;
    for (int round = 0; !samplers_.empty() && round < all_.options_.samples; ++round) {
      for (const std::size_t i : turn) {
        const auto planned = samplers_.find(&cases[i]);
        if (planned == samplers_.end() || round >= planned->second.samples) continue;
        const NvtxRange range(nvtx_name(cases[i].name, "measure"));
        guarded(cases[i], results[i], [&](Sampler& sampler) { results[i].samples.push_back(sampler.sample()); });
      }
      std::reverse(turn.begin(), turn.end());
    }
  }

  /// Step 3.
  void check_again(const Case& c, Measured& result) {
    const NvtxRange range(nvtx_name(c.name, "check"));
    guarded(c, result, [&](Sampler& sampler) { checked_sample(c, result, sampler, "after timing"); });
  }

 private:
  struct Planned {
    std::unique_ptr<Sampler> sampler;
    int samples = 0;
  };

  void prepare(const Case& c) {
    problem_->output().poison();
    problem_->prepare(c.variant);
  }

  /// A sample on a poisoned output, compared afterwards. Without its samples if it is wrong.
  double checked_sample(const Case& c, Measured& result, Sampler& sampler, const std::string& when) {
    prepare(c);
    const double seconds = sampler.sample();
    const Tensor& output = problem_->output();
    const Difference difference = output.compare(expected(result.oracle));
    if (difference.count > 0) {
      result.error = "check failed: " + describe(difference, output.dtype(), output.count()) + " (" + when +
                     ", oracle " + result.oracle + ")";
      result.samples.clear();
    }
    return seconds;
  }

  /// Runs `work` on the case's sampler, if it still has one; an exception becomes the case's error.
  template <class Work>
  void guarded(const Case& c, Measured& result, const Work& work) {
    const auto planned = samplers_.find(&c);
    if (planned == samplers_.end()) return;
    try {
      work(*planned->second.sampler);
    } catch (const std::exception& error) {
      result.error = error.what();
      result.samples.clear();
    }
    if (!result.error.empty()) samplers_.erase(planned);
  }

  const Tensor& expected(const std::string& definition) {
    const auto found = expected_.find(definition);
    if (found != expected_.end()) return found->second;
    const std::string key = all_.bench_.name + "/" + entry_.keys + "/" + definition;
    const Expected result = all_.options_.oracle_cache.get(key, [&] { return problem_->oracle(definition); });
    return expected_.emplace(definition, place(all_.backend_, problem_->output(), result)).first->second;
  }

  Measurer& all_;
  const ShapeEntry& entry_;
  std::unique_ptr<Problem> problem_;
  std::map<std::string, Tensor> expected_;
  std::map<const Case*, Planned> samplers_;
};

std::string describe(const Difference& difference, Dtype dtype, std::size_t count) {
  const std::uint32_t poison = dtype == Dtype::fp32 ? poison32 : poison16;
  return "element " + std::to_string(difference.first_index) + " of " + std::to_string(count) + " is " +
         hex(difference.got, dtype) + (difference.got == poison ? " (never written)" : "") + ", expected " +
         hex(difference.expected, dtype) + "; " + std::to_string(difference.count) +
         (difference.count == 1 ? " element differs" : " elements differ");
}

std::vector<Measured> Measurer::measure(std::span<const Case> cases) {
  std::vector<Measured> results(cases.size());
  if (cases.empty()) return results;
  const ShapeEntry& entry = bench_.shapes[cases[0].shape];
  const auto for_all = [&](const auto& set) {
    for (std::size_t i = 0; i < cases.size(); ++i) set(i);
  };
  const std::size_t needed = entry.memory + backend_.flush_bytes();
  try {
    if (const std::size_t free = backend_.free_bytes(); needed > free) {
      for_all([&](std::size_t i) {
        results[i].skipped = "needs " + gigabytes(needed) + " of memory (" + std::to_string(needed) + " bytes), " +
                             gigabytes(free) + " (" + std::to_string(free) + " bytes) are free";
      });
      return results;
    }
    options_.progress(cases[0], "inputs");
    Shape shape = [&] {
      const NvtxRange range(nvtx_name(cases[0].name, "inputs"));
      return Shape(*this, entry);
    }();
    for_all([&](std::size_t i) {
      options_.progress(cases[i], "check");
      try {
        shape.check(cases[i], results[i]);
      } catch (const std::exception& error) {
        results[i].error = error.what();
        results[i].samples.clear();
      }
    });
    options_.progress(cases[0], "measure");
    shape.sample(cases, results);
    for_all([&](std::size_t i) {
      shape.check_again(cases[i], results[i]);
      options_.progress(cases[i], "done");
    });
  } catch (const std::exception& error) {  // nothing could be set up: no case has a result
    for_all([&](std::size_t i) {
      if (!results[i].error.empty()) return;
      results[i] = {};
      results[i].error = error.what();
    });
  }
  return results;
}

}  // namespace strictbench
