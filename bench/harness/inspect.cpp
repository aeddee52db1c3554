#include "bench/harness/inspect.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <set>

#include "bench/harness/nvtx.h"
#include "bench/harness/output_check.h"

namespace strictbench {
namespace {

/// Sets the CUDA profiler's range for a scope.
class Profiled {
 public:
  explicit Profiled(Backend& backend) : backend_(backend) { backend_.set_profiler(true); }
  ~Profiled() { backend_.set_profiler(false); }
  Profiled(const Profiled&) = delete;
  Profiled& operator=(const Profiled&) = delete;

 private:
  Backend& backend_;
};

}  // namespace

std::vector<CaseKernels> Inspector::each(std::span<const Case> cases, const Look& look) {
  std::vector<CaseKernels> results;
  std::unique_ptr<Problem> problem;
  std::unique_ptr<OutputCheck> check;
  std::size_t shape = bench_.shapes.size();  // of `problem`
  std::set<std::pair<std::size_t, std::string>> seen;
  for (const Case& c : cases) {
    if (!c.selected || !seen.emplace(c.shape, c.variant).second) continue;
    CaseKernels& result = results.emplace_back();
    result.name = c.name;
    try {
      const ShapeEntry& entry = bench_.shapes[c.shape];
      if (c.shape != shape) {
        check.reset();
        problem.reset();
        shape = c.shape;
        problem = entry.make(backend_);
        check = std::make_unique<OutputCheck>(backend_, bench_.name + "/" + entry.keys, cache_, *problem);
      }
      if (!problem) throw std::runtime_error("its shape could not be set up");
      if (const std::string broken = problem->broken_promise(c.variant); !broken.empty())
        throw std::runtime_error("check failed: " + broken);
      check->before(c.variant);
      poison_and_prepare(*problem, c.variant);
      problem->call(c.variant)(backend_.stream());
      backend_.synchronize();
      const OutputCheck::Result outcome = check->compare(*problem, c.variant);
      if (!outcome.wrong.empty())
        throw std::runtime_error("check failed: " + outcome.wrong + " (" + outcome.against + ")");
      look(c, *problem, result);
    } catch (const std::exception& error) {
      result.error = error.what();
    }
  }
  return results;
}

std::vector<CaseKernels> Inspector::profile(std::span<const Case> cases) {
  const Profiled profiled(backend_);
  return each(cases, [&](const Case& c, Problem& problem, CaseKernels& result) {
    poison_and_prepare(problem, c.variant);
    const Call call = problem.call(c.variant);
    backend_.flush();
    {
      const NvtxRange all("profile");
      const NvtxRange one(nvtx_name(c.name, "profile"));
      call(backend_.stream());
      backend_.synchronize();
    }
    result.calls = 1;
  });
}

std::vector<CaseKernels> Inspector::kernels(std::span<const Case> cases) {
  KernelRecorder recorder;
  return each(cases, [&](const Case& c, Problem& problem, CaseKernels& result) {
    poison_and_prepare(problem, c.variant);
    const Call call = problem.call(c.variant);
    const auto start = std::chrono::steady_clock::now();
    call(backend_.stream());
    backend_.synchronize();
    const std::chrono::duration<double> once = std::chrono::steady_clock::now() - start;
    constexpr double aim_seconds = 0.2;
    const int calls = static_cast<int>(std::clamp(aim_seconds / once.count(), 3.0, 20.0));
    const auto recorded = [&](RecordedBy way) {
      recorder.start(way);
      for (int i = 0; i < calls; ++i) call(backend_.stream());
      backend_.synchronize();
      return recorder.stop();
    };
    result.kernels =
        nearest_record(recorded(RecordedBy::instrumentation), recorded(RecordedBy::serialization));
    if (result.kernels.empty())
      throw std::runtime_error("CUPTI recorded no kernel of " + std::to_string(calls) + " calls");
    result.calls = calls;
  });
}

}  // namespace strictbench
