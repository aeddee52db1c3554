#include "bench/harness/ceilings.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <memory>
#include <set>
#include <stdexcept>
#include <string_view>

#include "bench/harness/backend.h"
#include "kernels/common/random.h"

namespace strictbench {
namespace {

/// Below this share of all bytes, reads beside writes (or the reverse) are not looked at apart.
constexpr double negligible = 0.01;

std::string_view name_of(Traffic kind) {
  return kind == Traffic::read ? "read" : kind == Traffic::write ? "write" : "copy";
}

Probe probe_of(Traffic kind) {
  return kind == Traffic::read ? Probe::read : kind == Traffic::write ? Probe::write : Probe::copy;
}

/// What is smaller is a share of this: a few lines of a cache cost what the call costs.
constexpr double least_footprint = 16384;

/// The bytes that are moved to see how fast those of `demand` can be.
std::uint64_t footprint_of(const Demand& demand) {
  return static_cast<std::uint64_t>(std::max(demand.bytes(), least_footprint));
}

/// The least of a few samples of the fastest way, in seconds: whatever disturbs one makes it longer.
double least_time(Backend& backend, Timer timer, const std::vector<Call>& ways) {
  constexpr int looks = 2;  // at every way: one may be disturbed
  constexpr int most_samples = 5;
  constexpr std::chrono::milliseconds enough{6};
  struct Way {
    std::unique_ptr<Sampler> sampler;
    double least;
  };
  std::vector<Way> all;
  for (const Call& call : ways) {
    call(backend.stream());  // never for the first time behind the timer's blocking kernel
    backend.synchronize();
    const double alone = backend.make_sampler(timer, call, 1)->sample();
    all.push_back({backend.make_sampler(timer, call, calls_per_sample(timer, alone)), alone});
  }
  const auto take = [](Way& way) { way.least = std::min(way.least, way.sampler->sample()); };
  for (int look = 0; look < looks; ++look)
    for (Way& way : all) take(way);
  Way& fastest = *std::ranges::min_element(all, {}, &Way::least);
  const auto start = std::chrono::steady_clock::now();
  for (int taken = looks; taken < most_samples && std::chrono::steady_clock::now() - start < enough; ++taken)
    take(fastest);
  return fastest.least;
}

class Measurement {
 public:
  Measurement(Backend& backend, std::span<const std::pair<Demand, Timer>> needs)
      : backend_(backend),
        needs_(needs),
        sharp_(backend.device() == Device::cuda ? Timer::graph : Timer::cpu) {}

  Ceilings take() {
    attempt("memory to measure in", [&] { allocate(); });
    if (buffer_bytes_ == 0) return std::move(ceilings_);
    attempt("warm-up", [&] { warm_up(); });
    attempt("dependent additions", [&] {
      // Long enough that the ends do not show, and short enough to cost nothing.
      ceilings_.dependent_add = slope(Probe::chain, 4096, 16384);
    });
    attempt("instructions", [&] {
      ceilings_.instructions_per_second =
          1 / slope(Probe::instructions, least_instructions(), 4 * least_instructions());
    });
    if (backend_.device() == Device::cuda)
      attempt("block launches", [&] { ceilings_.block = slope(Probe::blocks, 100'000, 400'000); });
    for (const auto& [demand, timer] : needs_) {
      if (timers_.insert(timer).second)
        attempt("launch by " + std::string(name_of(timer)), [&, timer = timer] { launch_of(timer); });
      for (const Movement& movement : movements(demand)) traffic(timer, movement.kind, footprint_of(demand));
    }
    return std::move(ceilings_);
  }

 private:
  template <class Work>
  void attempt(std::string_view what, const Work& work) {
    try {
      work();
    } catch (const std::exception& error) {
      ceilings_.missing.push_back(std::string(what) + ": " + error.what());
    }
  }

  /// One buffer for all, as large as the largest footprint that fits.
  void allocate() {
    const std::size_t free = backend_.free_bytes();
    const std::size_t flushed = backend_.flush_bytes();
    std::size_t wanted = 1 << 20;  // the kernels that hardly move anything
    for (const auto& [demand, timer] : needs_) {
      const std::size_t bytes = footprint_of(demand) + slack;
      if (bytes + flushed < free) wanted = std::max(wanted, bytes);
    }
    buffer_ = Memory(backend_, wanted);
    buffer_bytes_ = wanted;
    fill(wanted);
  }

  /// Zeros, or what a write left, would be read faster than the cases' data.
  void fill(std::size_t bytes) {
    if (backend_.device() == Device::cuda)
      backend_.fill_random(buffer_.as(), Dtype::fp32, bytes / sizeof(float), random_key("ceilings"), 1);
    else
      backend_.poison(buffer_.as(), Dtype::fp32, bytes / sizeof(float));
  }

  /// Work until the clocks have risen: ceilings of an idle device would be too low, and floors too high.
  void warm_up() {
    constexpr std::chrono::milliseconds enough{20};
    const Call work = backend_.probe(Probe::instructions, buffer_.as(), least_instructions()).ways.front();
    const auto start = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - start < enough) {
      work(backend_.stream());
      backend_.synchronize();
    }
  }

  double time_of(Timer timer, Probe probe, double amount) {
    return least_time(backend_, timer, backend_.probe(probe, buffer_.as(), amount).ways);
  }

  /// Seconds for one more of what a probe does.
  double slope(Probe probe, double few, double many) {
    const ProbeCalls less = backend_.probe(probe, buffer_.as(), few);
    const ProbeCalls more = backend_.probe(probe, buffer_.as(), many);
    const double seconds = least_time(backend_, sharp_, more.ways) - least_time(backend_, sharp_, less.ways);
    if (!(seconds > 0)) throw std::runtime_error("more of it took no longer");
    return seconds / (more.amount - less.amount);
  }

  /// Some 30 us of them, as far as one can tell before.
  double least_instructions() const { return backend_.device() == Device::cuda ? 1e9 : 5e5; }

  void launch_of(Timer timer) {
    LaunchCost cost{.empty = time_of(timer, Probe::blocks, 1),
                    .load_add_store = time_of(timer, Probe::load_add_store, 1)};
    constexpr double adds = 16384;
    cost.around = cost.load_add_store;
    if (ceilings_.dependent_add) {
      const double around = time_of(timer, Probe::chain, adds) - adds * *ceilings_.dependent_add;
      cost.around = std::clamp(around, 0.0, cost.load_add_store);
    }
    ceilings_.launch[timer] = cost;
  }

  void traffic(Timer timer, Traffic kind, std::uint64_t footprint) {
    if (!asked_.emplace(timer, kind, footprint).second) return;
    const std::string what = std::string(name_of(kind)) + " of " + std::to_string(footprint) + " bytes by " +
                             std::string(name_of(timer));
    attempt(what, [&] {
      if (footprint + slack > buffer_bytes_) throw std::runtime_error("the memory is not free");
      ceilings_.traffic[{timer, kind, footprint}] =
          time_of(timer, probe_of(kind), static_cast<double>(footprint));
      if (kind == Traffic::write) fill(footprint);
    });
  }

  /// Probes round bytes up, and a copy's second half begins at a multiple of 256.
  static constexpr std::size_t slack = 1024;

  Backend& backend_;
  std::span<const std::pair<Demand, Timer>> needs_;
  Timer sharp_;  ///< for what is no matter of timers
  Memory buffer_;
  std::size_t buffer_bytes_ = 0;
  std::set<Timer> timers_;  ///< whose launch cost was asked for
  std::set<std::tuple<Timer, Traffic, std::uint64_t>> asked_;
  Ceilings ceilings_;
};

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

}  // namespace

std::vector<Movement> movements(const Demand& demand) {
  const double all = demand.bytes();
  if (!(all > 0)) return {};
  const double copied = 2 * std::min(demand.read, demand.written);
  const double rest = all - copied;
  const Traffic kind = demand.read > demand.written ? Traffic::read : Traffic::write;
  if (rest < negligible * all) return {{Traffic::copy, all}};
  if (copied < negligible * all) return {{kind, all}};
  return {{Traffic::copy, copied}, {kind, rest}};
}

std::optional<double> floor_seconds(const Demand& demand, Timer timer, const Ceilings& ceilings) {
  const auto launch = ceilings.launch.find(timer);
  if (launch == ceilings.launch.end()) return std::nullopt;
  const LaunchCost& cost = launch->second;
  double moving = 0;
  const std::uint64_t footprint = footprint_of(demand);
  for (const Movement& movement : movements(demand)) {
    const auto found = ceilings.traffic.find({timer, movement.kind, footprint});
    if (found == ceilings.traffic.end()) return std::nullopt;
    const double all = std::max(0.0, found->second - cost.around);
    moving += all * movement.bytes / static_cast<double>(footprint);
  }
  double working = 0;
  if (demand.chain > 1) {  // the first addition is in the cost of the kernel that does one
    if (!ceilings.dependent_add) return std::nullopt;
    working = (demand.chain - 1) * *ceilings.dependent_add;
  }
  if (demand.instructions > 0) {
    if (!ceilings.instructions_per_second) return std::nullopt;
    working = std::max(working, demand.instructions / *ceilings.instructions_per_second);
  }
  return std::max(cost.load_add_store, cost.around + std::max(moving, working));
}

Ceilings measure_ceilings(Backend& backend, std::span<const std::pair<Demand, Timer>> needs) {
  return Measurement(backend, needs).take();
}

std::vector<std::pair<std::string, std::string>> context_of(const Ceilings& ceilings) {
  std::vector<std::pair<std::string, std::string>> context;
  for (const auto& [timer, cost] : ceilings.launch) {
    const std::string by = std::string(".").append(name_of(timer));
    context.emplace_back("ceiling_empty_us" + by, number(cost.empty * 1e6));
    context.emplace_back("ceiling_load_add_store_us" + by, number(cost.load_add_store * 1e6));
    context.emplace_back("ceiling_around_us" + by, number(cost.around * 1e6));
  }
  if (ceilings.dependent_add)
    context.emplace_back("ceiling_dependent_add_ns", number(*ceilings.dependent_add * 1e9));
  if (ceilings.instructions_per_second)
    context.emplace_back("ceiling_instructions_per_second", number(*ceilings.instructions_per_second));
  if (ceilings.block) context.emplace_back("ceiling_blocks_per_second", number(1 / *ceilings.block));
  std::map<std::string, std::string> traffic;
  for (const auto& [what, seconds] : ceilings.traffic) {
    const auto& [timer, kind, bytes] = what;
    std::string& all = traffic["ceiling_" + std::string(name_of(kind)) + "." + std::string(name_of(timer))];
    all += (all.empty() ? "" : ", ") + std::to_string(bytes) + " B " + number(seconds * 1e6) + " us " +
           number(static_cast<double>(bytes) / seconds * 1e-9) + " GB/s";
  }
  context.insert(context.end(), traffic.begin(), traffic.end());
  std::string missing;
  for (const std::string& one : ceilings.missing) missing += (missing.empty() ? "" : "; ") + one;
  if (!missing.empty()) context.emplace_back("ceilings_missing", missing);
  return context;
}

}  // namespace strictbench
