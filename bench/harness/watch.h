/// Watches the GPU while it is measured, and says which stretches of time were no fair ones.
///
/// The states of the GPU are read by the thread that measures, between two samples, and never by one of its
/// own: a call of NVML takes locks of the driver that a launch takes too, so that one made while a sample is
/// timed would be timed with it. What lies between two readings is covered by counters that only grow (time
/// slowed down for heat, uncorrected errors), by how busy other processes kept the GPU, and else by how
/// things stood at both ends. The driver brings its counters up to date about every 100 ms, which is also how
/// often a reading is taken at most while samples follow each other.
#pragma once
#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/harness/nvml.h"

namespace strictbench {

/// One reason to doubt a sample: its name (a row's counter is `suspect_<name>`), and how much of it.
struct Finding {
  std::string name;
  double value;
  bool operator==(const Finding&) const = default;
};

/// All the names that a finding may have.
inline constexpr std::array finding_names{"hardware_slowdown", "power_brake", "thermal_slowdown",
                                          "clock_drop",        "neighbours",  "ecc_errors"};

/// Which of the processes on the GPU is this one. Their ids are those of the host, so that a process in a
/// container cannot look for its own.
struct OwnProcess {
  unsigned pid = 0;  ///< 0: not known; then one of those on the list may be it
};

/// The id of this process among those that compute after its context was made: its own where it is listed,
/// else the only one that was not there before.
OwnProcess own_process(unsigned own_id, const std::vector<unsigned>& before,
                       const std::vector<unsigned>& after);

/// How many other processes hold a compute context; nothing where they are not listed.
std::optional<unsigned> neighbours(const GpuState& state, OwnProcess own);

/// What speaks against samples taken between two states, `fastest_mhz` being the highest SM clock seen:
///   hardware_slowdown, power_brake   the hardware held the clocks down at either end
///   thermal_slowdown                 at either end, or for some time in between
///   clock_drop                       MHz that the SM clock lies below the fastest, if more than 5 % and
///                                    nothing that is normal explains it
///   neighbours                       other processes that computed, or came or went; all that could compute,
///                                    where the driver does not tell which did
///   ecc_errors                       new uncorrected memory errors
/// A power cap reached in software is how a GPU under full load works, and speaks against nothing; nor do
/// clocks that somebody set, idleness, or a neighbour that only holds memory.
std::vector<Finding> findings(const GpuState& before, const GpuState& after, OwnProcess own,
                              unsigned fastest_mhz);

/// The readings of one process. Times between two of them are stretches, numbered by the reading that begins
/// them; a sample belongs to the stretch in which it was taken.
class MachineWatch {
 public:
  /// Watches nothing: every stretch is fair.
  MachineWatch() = default;

  /// Loads NVML where it is installed. To be made before this process has a context on the GPU.
  static MachineWatch before_context();

  /// From now on watches this GPU, or the first one where `gpu_uuid` is empty. The context exists.
  void attach(const std::string& gpu_uuid);

  /// Whether there is anything to read.
  bool watching() const { return gpu_ != nullptr; }

  /// Takes a reading. Never while something is timed.
  void look();

  /// Takes a reading unless the last one is less than 100 ms old; whether it did.
  bool look_if_due();

  /// The stretch that began with the last reading.
  std::size_t stretch() const { return readings_.empty() ? 0 : readings_.size() - 1; }

  /// What speaks against a stretch. One whose end has not been read yet is judged by its beginning.
  std::vector<Finding> against(std::size_t stretch) const;

  /// The state at the end of a stretch; null where nothing useful could be read.
  const GpuState* state_after(std::size_t stretch) const;

  /// `neighbours`: how many other processes held a context at the last reading; where it can be told.
  std::vector<std::pair<std::string, std::string>> context() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Reading {
    Clock::time_point time;
    GpuState state;
  };

  std::optional<std::vector<unsigned>> busy_around(const Reading& before, const Reading& after) const;

  std::shared_ptr<const Nvml> nvml_;
  std::vector<unsigned> computing_before_;
  std::unique_ptr<NvmlGpu> gpu_;
  OwnProcess own_;
  unsigned fastest_mhz_ = 0;
  std::vector<Reading> readings_;
};

}  // namespace strictbench
