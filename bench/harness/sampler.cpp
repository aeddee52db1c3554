#include "bench/harness/sampler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace strictbench {
namespace {

constexpr std::array<std::pair<Timer, std::string_view>, 5> names{{{Timer::graph, "graph"},
                                                                   {Timer::cold, "cold"},
                                                                   {Timer::wall, "wall"},
                                                                   {Timer::event, "event"},
                                                                   {Timer::cpu, "cpu"}}};

}  // namespace

std::string_view name_of(Timer timer) {
  for (const auto& [t, name] : names)
    if (t == timer) return name;
  return "";
}

std::optional<Timer> timer_named(std::string_view name) {
  for (const auto& [timer, n] : names)
    if (n == name) return timer;
  return std::nullopt;
}

int calls_per_sample(Timer timer, double seconds_per_call) {
  struct Aim {
    double seconds;
    int most;
  };
  const Aim aim = timer == Timer::graph  ? Aim{500e-6, 256}  // 32 ns of event grain is then 0.006 %
                  : timer == Timer::wall ? Aim{2e-3, 20}     // the published protocol's 20 calls
                  : timer == Timer::cpu  ? Aim{2e-3, 10000}
                                         : Aim{0, 1};
  const double wanted = std::ceil(aim.seconds / std::max(seconds_per_call, 1e-9));
  return static_cast<int>(std::clamp(wanted, 1.0, static_cast<double>(aim.most)));
}

int warm_up_samples(Timer timer) { return timer == Timer::event ? 3 : 1; }

int samples_per_process(double seconds_per_sample, int limit) {
  constexpr double aim_seconds = 0.3;
  constexpr int fewest = 7;
  const double affordable = aim_seconds / std::max(seconds_per_sample, 1e-9);
  return std::clamp(static_cast<int>(std::min(affordable, 1e6)), std::min(fewest, limit), limit);
}

}  // namespace strictbench
