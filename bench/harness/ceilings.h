/// What a device can do at best, measured once in a process by the timers that time its cases, and the floor
/// that this and a case's demand give: the least time that any implementation could take.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bench/harness/sampler.h"

namespace strictbench {

class Backend;

/// The least that one call of an operator moves and computes, whatever the implementation.
struct Demand {
  double read = 0;          ///< bytes
  double written = 0;       ///< bytes
  double chain = 0;         ///< additions on the longest path on which each waits for the one before
  double operations = 0;    ///< additions and multiplications
  double instructions = 0;  ///< those that the definition's order leaves to one fp32 instruction each: an
                            ///< addition, a multiplication, or both fused

  double bytes() const { return read + written; }
  /// What is left of it for a variant that may add in any order: a tree needs no chain, and tensor cores need
  /// no fp32 instructions.
  Demand in_any_order() const { return {.read = read, .written = written, .operations = operations}; }
};

enum class Traffic { read, write, copy };  ///< a copy reads half of its bytes and writes the other half

/// Bytes of one kind that a demand moves.
struct Movement {
  Traffic kind;
  double bytes;
};

/// What is read and written alike is copied, and the rest read or written. One that is under a percent of the
/// other counts with it.
std::vector<Movement> movements(const Demand& demand);

/// What a timer sees of a kernel beside its work. Seconds.
struct LaunchCost {
  double empty = 0;           ///< a kernel that does nothing
  double load_add_store = 0;  ///< one that loads, adds and stores one element a thread, in one block
  double around = 0;  ///< what it adds to the work of a long kernel: less, where launches overlap with it
};

/// All that was measured. What is not known is absent.
struct Ceilings {
  std::map<Timer, LaunchCost> launch;
  /// Seconds that moving so many bytes takes, launch included. Under `graph` they come from the L2 if they
  /// fit.
  std::map<std::tuple<Timer, Traffic, std::uint64_t>, double> traffic;
  std::optional<double> dependent_add;            ///< seconds from one addition to the next that needs it
  std::optional<double> instructions_per_second;  ///< of independent fp32 instructions, on all of the device
  std::optional<double> block;                    ///< seconds between the starts of two blocks of a grid
  std::vector<std::string> missing;               ///< what was asked for and is not there, and why
};

/// The least time of one call, in seconds: what a kernel that loads, adds and stores costs by that timer, or
/// the longest of bytes over bandwidth, dependent chain and instructions over their rate, with what the timer
/// adds. Nothing where a ceiling that it needs was not measured.
std::optional<double> floor_seconds(const Demand& demand, Timer timer, const Ceilings& ceilings);

/// Measures what the floors of these demands need, each ceiling once. Never throws for what the device cannot
/// do: that is then `missing`. All of it takes some tenths of a second, and no more memory at a time than the
/// largest demand moves; what does not fit is missing.
Ceilings measure_ceilings(Backend& backend, std::span<const std::pair<Demand, Timer>> needs);

/// As context keys: "ceiling_load_add_store_us.graph" is "0.82", "ceiling_read.graph" is "67125248 B 16.8 us
/// 4000 GB/s, ...".
std::vector<std::pair<std::string, std::string>> context_of(const Ceilings& ceilings);

}  // namespace strictbench
