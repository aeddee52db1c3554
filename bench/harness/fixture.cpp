#include "bench/harness/fixture.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iostream>
#include <optional>
#include <string>
#include <utility>

#include "bench/harness/output_check.h"

namespace strictbench {
namespace {

/// Google Benchmark takes one number of repetitions for all benchmarks; a case with fewer samples, or with
/// none since another one lost the device, marks the surplus ones with this error, and the reporters leave
/// them out.
constexpr const char* surplus = "no further sample";

bool failed = false;
bool lost_output = false;
SuspectCount suspects;

void note_sample(const std::vector<Finding>& against) {
  ++suspects.samples;
  suspects.suspect += against.empty() ? 0 : 1;
  for (const Finding& finding : against) ++suspects.why[finding.name];
}

/// The cases of one shape and timer, measured together when the first of them runs.
class Group {
 public:
  Group(std::vector<Case> cases, Measurer& measurer) : cases_(std::move(cases)), measurer_(measurer) {}

  const Case& at(std::size_t i) const { return cases_[i]; }
  const MachineWatch& watch() const { return measurer_.watch(); }

  const Measured& result(std::size_t i) {
    if (results_.empty()) results_ = measurer_.measure(cases_);
    return results_[i];
  }

 private:
  std::vector<Case> cases_;
  Measurer& measurer_;
  std::vector<Measured> results_;
};

class CaseFixture : public benchmark::Fixture {
 public:
  CaseFixture(std::shared_ptr<Group> group, std::size_t index, const ShapeEntry& shape)
      : group_(std::move(group)), index_(index), shape_(shape) {
    SetName(group_->at(index).name.c_str());
    UseManualTime();
    Unit(benchmark::kMicrosecond);
  }

  using benchmark::Fixture::SetUp;
  void SetUp(benchmark::State&) override { result_ = &group_->result(index_); }

 protected:
  void BenchmarkCase(benchmark::State& state) override {
    const Measured& result = *result_;
    // Errors are set inside the loop: Google Benchmark's statistics insist that all repetitions of a
    // benchmark have as many iterations, and outside it they would have none.
    for ([[maybe_unused]] auto _ : state) {
      const std::size_t sample = next_++;
      if (sample < result.samples.size()) {
        state.SetIterationTime(result.samples[sample]);
        continue;
      }
      if (sample > 0 || result.left_out)
        state.SkipWithError(surplus);  // one row says what went wrong
      else if (!result.skipped.empty())
        skip(state, result.skipped);
      else
        fail(state, result.error);
      return;
    }
    state.SetLabel(label_of(result.claim));
    state.SetBytesProcessed(
        static_cast<std::int64_t>(shape_.demand.bytes() * static_cast<double>(state.iterations())));
    state.counters["bytes"] = shape_.demand.bytes();
    state.counters["operations"] = shape_.demand.operations;
    if (const auto floor = group_->at(index_).floor_seconds) {
      state.counters["floor_us"] = *floor * 1e6;
      state.counters["share_of_floor"] = *floor / result.samples[next_ - 1];
    }
    state.counters["calls"] = result.calls;
    state.counters["placements"] = result.placements;
    if (group_->at(index_).delay) state.counters["delay_us"] = result.delay_seconds * 1e6;
    if (result.claim.tolerance > 0) {  // such a row never reads as equal to the bit
      state.counters["tolerance"] = result.claim.tolerance;
      state.counters["relative_error"] = result.error_of_outputs.whole;
      state.counters["worst_part_error"] = result.error_of_outputs.worst_part;
    }
    if (result.scratch_bytes > 0) state.counters["scratch_bytes"] = static_cast<double>(result.scratch_bytes);
    if (shape_.control) state.counters["control"] = 1;
    state.counters["check"] = 1;
    describe_surroundings(state, result);
  }

 private:
  /// The machine around the sample that was just taken. A counter that may be 0 is left out where it is:
  /// Google Benchmark would write the spread of nothing but zeros as NaN, which JSON has not.
  void describe_surroundings(benchmark::State& state, const Measured& result) {
    const auto count = [&](const std::string& name, double value) {
      if (value > 0) state.counters[name] = value;
    };
    const Surroundings& around = result.around[next_ - 1];
    // A core shared with others is no rare thing where there is no GPU, and the spread between processes
    // shows what it costs: told, and not held against the sample.
    if (group_->at(index_).timer == Timer::cpu) count("preemptions", static_cast<double>(around.preemptions));
    const MachineWatch& watch = group_->watch();
    const GpuState* const gpu = watch.state_after(around.stretch);
    if (gpu == nullptr) return;
    count("watched", 1);
    count("sm_clock_mhz", gpu->sm_clock_mhz.value_or(0));
    count("temperature_c", gpu->temperature_c.value_or(0));
    count("power_w", gpu->power_mw.value_or(0) * 1e-3);
    const std::vector<Finding> against = watch.against(around.stretch);
    count("suspect", against.empty() ? 0 : 1);
    for (const Finding& finding : against) count("suspect_" + finding.name, finding.value);
    note_sample(against);
  }

  /// A skipped row, or where the library has none (before 1.8) an error row that says so.
  template <class State>
  static void skip(State& state, const std::string& reason) {
    if constexpr (requires { state.SkipWithMessage(reason.c_str()); })
      state.SkipWithMessage(reason.c_str());
    else
      state.SkipWithError(("skipped: " + reason).c_str());
  }

  static void fail(benchmark::State& state, const std::string& reason) {
    failed = true;
    state.SkipWithError(reason.c_str());
  }

  std::shared_ptr<Group> group_;
  std::size_t index_;
  const ShapeEntry& shape_;
  const Measured* result_ = nullptr;
  std::size_t next_ = 0;  ///< the sample that the next repetition takes
};

template <class Run>
bool is_surplus(const Run& run) {
  if constexpr (requires { run.error_message; })
    return run.error_message == surplus;
  else
    return run.skip_message == surplus;  // since 1.8
}

/// Every counter that a row may have. CSV takes its columns from the first benchmark, and the library ends
/// the process at a later counter that has none: there, what a row has not is 0.
constexpr std::array counters_of_rows{
    "bytes",         "calls",         "check",       "control", "delay_us",         "operations",
    "placements",    "power_w",       "preemptions", "suspect", "relative_error",   "scratch_bytes",
    "sm_clock_mhz",  "temperature_c", "tolerance",   "watched", "worst_part_error", "floor_us",
    "share_of_floor"};

template <class Run>
void complete_columns(Run& run) {
  for (const char* name : counters_of_rows) run.counters.try_emplace(name);
  for (const char* name : finding_names) run.counters.try_emplace(std::string("suspect_") + name);
}

template <class Base>
class KeptRows : public Base {
 public:
  using Run = benchmark::BenchmarkReporter::Run;
  using Base::Base;
  explicit KeptRows(bool csv) : csv_(csv) {}

  void ReportRuns(const std::vector<Run>& runs) override {
    std::vector<Run> kept;
    std::copy_if(runs.begin(), runs.end(), std::back_inserter(kept),
                 [](const Run& run) { return !is_surplus(run); });
    for (Run& run : kept) {
      run.run_name.time_type.clear();
      if (csv_) complete_columns(run);
    }
    if (!kept.empty()) Base::ReportRuns(kept);
  }

  void Finalize() override {
    Base::Finalize();
    if (!this->GetOutputStream().flush()) lost_output = true;
  }

 private:
  bool csv_ = false;
};

}  // namespace

void register_cases(const OperatorBench& bench, const std::vector<Case>& cases, Measurer& measurer) {
  const auto register_group = [&](std::vector<Case> together) {
    if (together.empty()) return;
    const ShapeEntry& shape = bench.shapes[together[0].shape];
    const std::size_t count = together.size();
    const auto group = std::make_shared<Group>(std::move(together), measurer);
    for (std::size_t i = 0; i < count; ++i)
      benchmark::internal::RegisterBenchmarkInternal(new CaseFixture(group, i, shape));
  };
  // Cases of one shape and one timer stand together: variants alternate, so that drift hits them alike, but a
  // timer that flushes the caches does not come between the samples of one that does not.
  std::vector<Case> together;
  for (const Case& c : cases) {
    if (!c.selected) continue;
    if (!together.empty() && (c.shape != together[0].shape || c.timer != together[0].timer))
      register_group(std::exchange(together, {}));
    together.push_back(c);
  }
  register_group(std::move(together));
}

bool any_case_failed() { return failed; }

const SuspectCount& suspect_count() { return suspects; }

bool everything_written() { return !lost_output; }

std::unique_ptr<benchmark::BenchmarkReporter> make_reporter(const std::string& format) {
  if (format == "json") return std::make_unique<KeptRows<benchmark::JSONReporter>>();
  if (format == "console") {
    using Console = benchmark::ConsoleReporter;
    return std::make_unique<KeptRows<Console>>(isatty(STDOUT_FILENO) != 0 ? Console::OO_ColorTabular
                                                                          : Console::OO_Tabular);
  }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // deprecated, but still one of its formats
  if (format == "csv") return std::make_unique<KeptRows<benchmark::CSVReporter>>(/*csv=*/true);
#pragma GCC diagnostic pop
  return nullptr;
}

}  // namespace strictbench
