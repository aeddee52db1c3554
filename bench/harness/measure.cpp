#include "bench/harness/measure.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <map>
#include <set>

#include "bench/harness/nvtx.h"
#include "bench/harness/output_check.h"

namespace strictbench {
namespace {

/// A sample this long does not notice what went on just before it.
constexpr double settled_by_itself_seconds = 0.010;

std::string gigabytes(std::size_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f GB", static_cast<double>(bytes) * 1e-9);
  return text;
}

long preemptions_so_far() {
  rusage usage{};
  return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_nivcsw : 0;
}

}  // namespace

/// One shape being measured: its problem, once or on several placements, and the expected outputs.
class Measurer::Shape {
 public:
  Shape(Measurer& all, const ShapeEntry& entry)
      : all_(all),
        entry_(entry),
        check_(all.backend_, all.bench_.name + "/" + entry.keys, all.options_.oracle_cache, placement(0)) {}

  /// Step 1. Leaves the samplers ready for step 2, or the samples done, or an error.
  void check(const Case& c, Measured& result) {
    const NvtxRange range(nvtx_name(c.name, "check"));
    result.claim = placement(0).claim(c.variant);
    result.scratch_bytes = placement(0).scratch_bytes(c.variant);
    launch_unblocked(c.variant);
    result.delay_seconds = c.delay.value_or(0) * undelayed_[{c.variant, c.timer}];
    if (const std::string broken = placement(0).broken_promise(c.variant); !broken.empty())
      return fail(result, broken);
    check_.before(c.variant);
    const auto once = sampler(0, c, result, 1);
    watch().look_if_due();
    for (int run = 1; run <= 2; ++run) {
      keep(result, [&] {
        return checked_sample(placement(0), c, result, *once, "run " + std::to_string(run) + " of 2");
      });
      if (!result.error.empty()) return;
    }
    const double fastest = *std::min_element(result.samples.begin(), result.samples.end());
    if (fastest > long_call_seconds) return watch().look();  // checked and timed in one: done
    drop_samples(result);
    plan(c, result, fastest);
  }

  static void drop_samples(Measured& result) {
    result.samples.clear();
    result.around.clear();
  }

  /// Step 2.
  void sample(std::span<const Case> cases, std::vector<Measured>& results) {
    if (planned_.empty()) return;
    watch().look();
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const NvtxRange range(nvtx_name(cases[i].name, "warm-up"));
      for (int discarded = 0; discarded < warm_up_samples(cases[i].timer); ++discarded)
        guarded(cases[i], results[i], [](Planned& planned) { planned.sample(); });
    }
    std::vector<std::size_t> turn(cases.size());
    for (std::size_t i = 0; i < turn.size(); ++i) turn[i] = i;
    int rounds = 0;
    for (const auto& [c, planned] : planned_) rounds = std::max(rounds, planned.samples);
    for (int round = 0; round < rounds; ++round) {
      if (watch().look_if_due()) settle(cases[turn[0]], results[turn[0]]);
      for (const std::size_t i : turn)
        guarded(cases[i], results[i], [&](Planned& planned) {
          // A case of fewer samples spreads them over all rounds, beside those of its neighbours.
          if ((round + 1) * planned.samples / rounds == round * planned.samples / rounds) return;
          const NvtxRange range(nvtx_name(cases[i].name, "measure"));
          keep(results[i], [&] { return planned.sample(); });
        });
      std::reverse(turn.begin(), turn.end());
    }
    watch().look();
  }

  /// Step 3.
  void check_again(const Case& c, Measured& result) {
    const NvtxRange range(nvtx_name(c.name, "check"));
    guarded(c, result, [&](Planned& planned) {
      for (std::size_t p = 0; p < planned.samplers.size() && result.error.empty(); ++p)
        checked_sample(placement(p), c, result, *planned.samplers[p], "after timing");
    });
  }

 private:
  MachineWatch& watch() { return all_.options_.watch; }

  /// Takes a sample, and with it what went on around it.
  template <class Take>
  void keep(Measured& result, const Take& take) {
    const long before = preemptions_so_far();
    const double seconds = take();
    if (!result.error.empty()) return;
    result.samples.push_back(seconds);
    result.around.push_back({watch().stretch(), preemptions_so_far() - before});
  }

  /// A look into the driver leaves the host's caches to it: a short sample next to it would be the slower for
  /// it, and is taken once for nothing.
  void settle(const Case& c, Measured& result) {
    guarded(c, result, [&](Planned& planned) {
      if (planned.seconds < settled_by_itself_seconds) planned.sample();
    });
  }

  /// A variant's first launch may load code, grow the stack or set up a library, which waits for the whole
  /// device: never for the first time behind the timer's blocking kernel. Another shape may be another
  /// kernel; but a call over long_call_seconds is not spent on each of them.
  void launch_unblocked(const std::string& variant) {
    if (!launched_.insert(variant).second) return;
    double& longest = all_.longest_launch_[variant];
    if (longest > long_call_seconds) return;
    poison_and_prepare(placement(0), variant);
    const auto start = std::chrono::steady_clock::now();
    placement(0).call(variant)(all_.backend_.stream());
    all_.backend_.synchronize();
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    longest = std::max(longest, elapsed.count());
  }

  /// A sampler for each placement, and how many samples they take.
  struct Planned {
    std::vector<std::unique_ptr<Sampler>> samplers;
    int samples = 0;
    double seconds = 0;  ///< of one sample, about

    double sample() {
      double sum = 0;
      for (const auto& sampler : samplers) {
        sampler->refresh();
        sum += sampler->sample();
      }
      return sum / static_cast<double>(samplers.size());
    }
  };

  /// The problem in its `index`-th set of buffers, made when first asked for.
  Problem& placement(std::size_t index) {
    while (placements_.size() <= index) {
      all_.backend_.set_placement(static_cast<int>(placements_.size()));
      placements_.push_back(entry_.make(all_.backend_));
      all_.backend_.set_placement(0);
    }
    return *placements_[index];
  }

  void plan(const Case& c, Measured& result, double seconds) {
    Planned& planned = planned_[&c];
    if (seconds < short_call_seconds) result.placements = std::max(1, affordable_placements());
    result.calls = calls_per_sample(c.timer, seconds);
    planned.seconds = seconds * result.calls * result.placements;
    planned.samples = entry_.samples ? std::min(*entry_.samples, all_.options_.samples)
                                     : samples_per_process(planned.seconds, all_.options_.samples);
    for (int p = 0; p < result.placements; ++p)
      planned.samplers.push_back(sampler(static_cast<std::size_t>(p), c, result, result.calls));
    for (std::size_t p = 1; p < planned.samplers.size() && result.error.empty(); ++p)
      checked_sample(placement(p), c, result, *planned.samplers[p], "placement " + std::to_string(p));
    if (!result.error.empty()) planned_.erase(&c);
    if (c.delay == 0.0 && result.error.empty()) {  // what the delays of the other arms are shares of
      std::vector<double> some;
      for (int i = 0; i < 5; ++i) some.push_back(planned.sample());
      std::nth_element(some.begin(), some.begin() + 2, some.end());
      undelayed_[{c.variant, c.timer}] = some[2];
    }
  }

  int affordable_placements() const {
    const std::size_t more = all_.backend_.free_bytes() / std::max<std::size_t>(entry_.memory, 1);
    return static_cast<int>(
        std::min<std::size_t>(more + placements_.size(), static_cast<std::size_t>(all_.options_.placements)));
  }

  std::unique_ptr<Sampler> sampler(std::size_t index, const Case& c, const Measured& result, int calls) {
    Call call = placement(index).call(c.variant);
    if (c.delay) call = all_.backend_.with_delay(std::move(call), result.delay_seconds);
    return all_.backend_.make_sampler(c.timer, std::move(call), calls);
  }

  /// A sample on poisoned outputs, compared afterwards. Without its samples if it is wrong.
  double checked_sample(Problem& problem, const Case& c, Measured& result, Sampler& sampler,
                        const std::string& when) {
    poison_and_prepare(problem, c.variant);
    const double seconds = sampler.sample();
    const OutputCheck::Result outcome = check_.compare(problem, c.variant);
    result.error_of_outputs.whole = std::max(result.error_of_outputs.whole, outcome.error.whole);
    result.error_of_outputs.worst_part =
        std::max(result.error_of_outputs.worst_part, outcome.error.worst_part);
    if (!outcome.wrong.empty()) fail(result, outcome.wrong + " (" + when + ", " + outcome.against + ")");
    return seconds;
  }

  static void fail(Measured& result, const std::string& reason) {
    result.error = "check failed: " + reason;
    drop_samples(result);
  }

  /// Runs `work` on the case's plan, if it still has one; an exception becomes the case's error.
  template <class Work>
  void guarded(const Case& c, Measured& result, const Work& work) {
    const auto planned = planned_.find(&c);
    if (planned == planned_.end() || all_.lost_) return;
    try {
      work(planned->second);
    } catch (const std::exception& error) {
      all_.take_in(error, result);
    }
    if (!result.error.empty()) planned_.erase(planned);
  }

  Measurer& all_;
  const ShapeEntry& entry_;
  std::vector<std::unique_ptr<Problem>> placements_;
  OutputCheck check_;
  std::set<std::string> launched_;  ///< variants that have run on this shape
  std::map<const Case*, Planned> planned_;
  std::map<std::pair<std::string, Timer>, double> undelayed_;  ///< seconds of a call with a wait of no length
};

void Measurer::take_in(const std::exception& error, Measured& result) {
  result.error = error.what();
  Shape::drop_samples(result);
  lost_ = lost_ || dynamic_cast<const DeviceLost*>(&error) != nullptr || backend_.lost();
}

std::vector<Measured> Measurer::measure(std::span<const Case> cases) {
  std::vector<Measured> results(cases.size());
  if (cases.empty()) return results;
  if (lost_) {
    for (Measured& result : results) result.left_out = true;
    return results;
  }
  const ShapeEntry& entry = bench_.shapes[cases[0].shape];
  const auto for_all = [&](const auto& set) {
    for (std::size_t i = 0; i < cases.size(); ++i) set(i);
  };
  const std::size_t needed = entry.memory + backend_.flush_bytes();
  try {
    if (const std::size_t free = backend_.free_bytes(); needed > free) {
      for_all([&](std::size_t i) {
        results[i].skipped = "needs " + gigabytes(needed) + " of memory (" + std::to_string(needed) +
                             " bytes), " + gigabytes(free) + " (" + std::to_string(free) + " bytes) are free";
      });
      return results;
    }
    options_.progress(cases[0], "inputs");
    Shape shape = [&] {
      const NvtxRange range(nvtx_name(cases[0].name, "inputs"));
      return Shape(*this, entry);
    }();
    for_all([&](std::size_t i) {
      if (lost_) return;
      options_.progress(cases[i], "check");
      try {
        shape.check(cases[i], results[i]);
      } catch (const std::exception& error) {
        take_in(error, results[i]);
      }
    });
    if (!lost_) options_.progress(cases[0], "measure");
    shape.sample(cases, results);
    for_all([&](std::size_t i) {
      shape.check_again(cases[i], results[i]);
      if (!lost_) options_.progress(cases[i], "done");
    });
    if (lost_)
      for_all([&](std::size_t i) {
        if (!results[i].error.empty()) return;
        results[i] = {};
        results[i].left_out = true;
      });
  } catch (const std::exception& error) {  // nothing could be set up: no case has a result
    for_all([&](std::size_t i) {
      if (!results[i].error.empty()) return;
      results[i] = {};
      take_in(error, results[i]);
    });
  }
  return results;
}

}  // namespace strictbench
