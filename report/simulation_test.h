/// Noise as it was measured, for tests that simulate whole tables. Deterministic: every test seeds its own.
#pragma once
#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include "report/judge.h"
#include "report/statistics.h"

namespace strictbench::simulation {

/// How one row's times vary, in logarithms.
struct Noise {
  double within = 0.002;   // between samples of a process
  double between = 0.001;  // between processes
  double session = 0;      // between sessions
  double mode_gap = 0;     // half of the processes are slower by this: two modes
  double tail = 0;         // share of processes that are slowed down, by up to 5 %
};

/// What a default run has.
struct Design {
  std::size_t rows = 100;
  std::size_t processes = 10;
  std::size_t samples = 20;
  std::size_t baseline_sessions = 1;
  bool across_sessions = false;
};

using Random = std::mt19937_64;

inline double normal(Random& random, double deviation) {
  return deviation > 0 ? std::normal_distribution<double>(0, deviation)(random) : 0;
}

inline double uniform(Random& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}

/// The measured range of the graph timer: within a process 0.1 to 0.3 %, between processes 0.03 to 0.7 %,
/// small spreads as common as large ones on a logarithmic scale.
inline Noise graph_timer(Random& random) {
  Noise noise;
  noise.within = uniform(random, 0.001, 0.003);
  noise.between = std::exp(uniform(random, std::log(0.0003), std::log(0.007)));
  return noise;
}

/// The logarithm of one process's median.
inline double process_median(Random& random, const Noise& noise, std::size_t samples) {
  double level = normal(random, noise.between);
  if (noise.mode_gap > 0 && uniform(random, 0, 1) < 0.5) level += noise.mode_gap;
  if (noise.tail > 0 && uniform(random, 0, 1) < noise.tail) level += uniform(random, 0, 0.05);
  std::vector<double> times;
  for (std::size_t i = 0; i < samples; ++i) times.push_back(level + normal(random, noise.within));
  return median(times);
}

/// One side of a row whose true log time is `level`.
inline SideSample side(Random& random, const Noise& noise, const Design& design, std::size_t sessions,
                       double level) {
  SideSample sample;
  for (std::size_t s = 0; s < sessions; ++s) {
    const double session = level + normal(random, noise.session);
    std::vector<double>& processes = sample.sessions.emplace_back();
    for (std::size_t p = 0; p < design.processes; ++p) {
      processes.push_back(session + process_median(random, noise, design.samples));
    }
  }
  return sample;
}

/// A table whose every row is slower by `slowdown` (0.02: 2 %); `noise_of` draws a row's noise.
template <typename NoiseOf>
std::vector<RowSample> table(Random& random, const Design& design, double slowdown, NoiseOf noise_of) {
  std::vector<RowSample> rows;
  for (std::size_t i = 0; i < design.rows; ++i) {
    const Noise noise = noise_of(random);
    RowSample& row = rows.emplace_back();
    row.across_sessions = design.across_sessions;
    row.baseline = side(random, noise, design, design.baseline_sessions, 0);
    row.contender = side(random, noise, design, 1, std::log1p(slowdown));
  }
  return rows;
}

/// How many rows got each call, over `tables` tables; and how many tables had a slower or faster row.
struct Tally {
  std::size_t rows = 0, slower = 0, faster = 0, same = 0, inconclusive = 0;
  std::size_t tables_with_a_change = 0;
  double share(std::size_t count) const { return static_cast<double>(count) / static_cast<double>(rows); }
};

template <typename NoiseOf>
Tally run(std::uint64_t seed, std::size_t tables, const Design& design, double slowdown, double threshold,
          NoiseOf noise_of, double alpha = 0.01) {
  Random random(seed);
  Tally tally;
  for (std::size_t t = 0; t < tables; ++t) {
    const std::vector<RowSample> rows = table(random, design, slowdown, noise_of);
    const TableIntervals intervals = judge_table(rows, alpha, threshold);
    bool change = false;
    for (const RowInterval& row : intervals.rows) {
      ++tally.rows;
      switch (call(row.log_ratio, row.half_width, threshold)) {
        case Call::slower:
          ++tally.slower;
          change = true;
          break;
        case Call::faster:
          ++tally.faster;
          change = true;
          break;
        case Call::same:
          ++tally.same;
          break;
        case Call::inconclusive:
          ++tally.inconclusive;
          break;
      }
    }
    tally.tables_with_a_change += change ? 1 : 0;
  }
  return tally;
}

}  // namespace strictbench::simulation
