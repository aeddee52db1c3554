/// One measurement on a device at a time: two at once would disturb each other, unseen.
#pragma once
#include <filesystem>
#include <map>
#include <string>

#include "bench/strictbench/process.h"

namespace strictbench::runner {

/// The folder of the locks: $STRICTBENCH_LOCKS, else a place that every user of this machine comes to.
std::filesystem::path lock_folder();

/// Locks of the devices that a command measures on, held while this object lives. They go with the process,
/// however that ends, and say who holds them.
class DeviceLocks {
 public:
  /// With `wait` a device that is taken is waited for.
  DeviceLocks(bool wait, StopSignals& signals) : wait_(wait), signals_(signals) {}
  ~DeviceLocks();
  DeviceLocks(const DeviceLocks&) = delete;
  DeviceLocks& operator=(const DeviceLocks&) = delete;

  /// Takes the lock of `device`, a GPU's uuid or "cpu", unless it is held already. Throws UsageError that
  /// names the owner where another process has it, and Stopped where a stop signal ends the wait.
  void take(const std::string& device);

  /// Gives up the lock of `device`, if it is held: it is not measured on after all.
  void give_back(const std::string& device);

  bool holds(const std::string& device) const;

 private:
  bool wait_;
  StopSignals& signals_;
  std::map<std::string, int> held_;  ///< open files
};

}  // namespace strictbench::runner
