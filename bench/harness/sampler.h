/// Timers: how one sample (one timed number) is taken, and how many calls and samples a case gets.
#pragma once
#include <functional>
#include <optional>
#include <string_view>

#include "kernels/common/variant.h"

namespace strictbench {

enum class Timer {
  graph,  ///< back-to-back calls replayed as one CUDA graph between two events, divided by the calls
  cold,   ///< one call between two events, caches flushed before, launch cost hidden
  wall,   ///< host clock over back-to-back calls and one synchronize, divided by the calls
  event,  ///< two events around one call of many launches, as they come from the host
  cpu,    ///< host clock over back-to-back calls of a CPU variant, divided by the calls
};

std::string_view name_of(Timer timer);
std::optional<Timer> timer_named(std::string_view name);

/// Enqueues one call of an operator on a stream.
using Call = std::function<void(Stream)>;

/// Takes samples of one call.
class Sampler {
 public:
  virtual ~Sampler() = default;
  /// Seconds per call; the work is complete when it returns. Throws std::runtime_error if a launch failed.
  virtual double sample() = 0;
  /// What a sample that counts needs before: a call that is not timed, where the caches should hold what this
  /// case leaves there and not what the one before did. Never between poisoning outputs and comparing them:
  /// what is compared must have been written by the timed calls.
  virtual void refresh() {}
};

/// A call longer than this is sampled twice a process, by the very launches that are checked.
inline constexpr double long_call_seconds = 0.050;

/// A call shorter than this depends on where its buffers land and is averaged over several placements.
inline constexpr double short_call_seconds = 30e-6;

/// How many calls one sample averages: enough that the clock's grain and the ends do not show; 1 for `cold`
/// and `event`.
int calls_per_sample(Timer timer, double seconds_per_call);

/// Samples that are taken and thrown away before the first one counts: 3 for `event`, as published, else 1.
int warm_up_samples(Timer timer);

/// How many samples a process takes of a case: `limit` of a quick one, fewer of a slow one, but at least
/// seven (or `limit`), so that a whole process stays within seconds.
int samples_per_process(double seconds_per_sample, int limit);

}  // namespace strictbench
