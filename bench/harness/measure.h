/// The protocol of one shape: inputs, check against the oracle, warm-up, samples in turn, check again.
#pragma once
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/harness/operator_bench.h"
#include "bench/harness/oracle_cache.h"
#include "bench/harness/selection.h"
#include "bench/harness/watch.h"

namespace strictbench {

/// What went on around one sample.
struct Surroundings {
  std::size_t stretch = 0;  ///< of the watch
  long preemptions = 0;     ///< times that this process had to leave a CPU core to another one
};

/// What measuring a case gave. With an error or a reason to skip there are no samples.
struct Measured {
  std::vector<double> samples;       ///< seconds per call
  std::vector<Surroundings> around;  ///< of each sample
  int calls = 1;                     ///< calls that one sample averages, on each placement
  int placements = 1;                ///< sets of buffers that one sample averages
  double delay_seconds = 0;          ///< what an arm of a calibration was to wait after each call
  Claim claim;                       ///< what the outputs were held to
  RelativeError error_of_outputs;    ///< the largest seen, of a claim with a tolerance
  std::size_t scratch_bytes = 0;
  std::string error;      ///< "check failed: ..." or what was thrown
  std::string skipped;    ///< why it was not tried
  bool left_out = false;  ///< another case lost the device: nothing is known of this one
};

struct MeasureOptions {
  int samples = 20;    ///< per case and process, at most
  int placements = 1;  ///< sets of buffers that a call under short_call_seconds is averaged over
  OracleCache oracle_cache{{}};
  MachineWatch watch = {};
  /// Told of each case's phase: "inputs", "check", "measure", "done".
  std::function<void(const Case&, std::string_view)> progress = [](const Case&, std::string_view) {};
};

/// Measures an operator's cases, shape by shape.
class Measurer {
 public:
  /// The backend and the operator must outlive it.
  Measurer(Backend& backend, const OperatorBench& bench, MeasureOptions options)
      : backend_(backend), bench_(bench), options_(std::move(options)) {}

  /// Measures `cases`, all of one shape and one timer, in this order:
  ///  1. Each is run twice on poisoned outputs, by the timer that will time it, and held to its claim.
  ///  2. All that passed are sampled in turn, first to last and back, so that drift hits every variant alike.
  ///     A sample of a short call is the mean over several sets of buffers, each of them checked too.
  ///  3. Each takes one more sample on poisoned outputs, which are compared: what is timed must still be
  ///  right.
  /// A call over long_call_seconds keeps the two samples of step 1 and is not run again.
  /// The watch looks before the warm-up of step 2, between rounds and at the end.
  /// One result per case, in the order given; never throws for what a variant does. When a case loses the
  /// device, that is its error, and all cases without a result are left out from then on.
  std::vector<Measured> measure(std::span<const Case> cases);

  const MachineWatch& watch() const { return options_.watch; }

  /// Whether a case has lost the device.
  bool lost() const { return lost_; }

 private:
  class Shape;

  void take_in(const std::exception& error, Measured& result);

  Backend& backend_;
  const OperatorBench& bench_;
  MeasureOptions options_;
  std::map<std::string, double> longest_launch_;  ///< seconds of a first launch, by variant
  bool lost_ = false;
};

}  // namespace strictbench
