/// The benchmark executables of a build: which there are, and what each says it can measure.
#pragma once
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/strictbench/device_lock.h"
#include "bench/strictbench/process.h"

namespace strictbench::runner {

struct Case {
  std::string name, variant, shape, timer;
  bool gating = false;
  bool selected = false;
  double memory = 0;  ///< bytes; 0 where the executable does not say
};

/// One `bench_<operator>` and its answer to `--describe`.
struct Executable {
  std::filesystem::path path;
  std::string operator_name;
  std::string device;      ///< as it names it
  std::string gpu_name;    ///< empty on the CPU
  std::string gpu_uuid;    ///< empty on the CPU
  std::string build_type;  ///< "release" or "debug"
  std::vector<Case> cases;
  nlohmann::ordered_json description;

  std::vector<std::string> selected_names() const;
};

/// What a command line may ask of the executables. Empty: their own default.
struct Selection {
  std::string filter;
  std::string device;                   ///< cpu, cuda or an index
  std::vector<std::string> flags = {};  ///< more of the executables' own, as in RunOptions
};

/// The folder of this program, where its siblings stand.
std::filesystem::path own_folder();

/// Whether `folder` holds a `bench_<operator>`.
bool holds_executables(const std::filesystem::path& folder);

/// All executables `bench_<operator>` in `folder` by name, each asked what it selects. With `locks` the
/// device is taken before any is asked, where it can be told beforehand, since asking makes a context on it;
/// else what an answer names is, before the next. Throws UsageError with the executable's own line where it
/// refuses, and Stopped on a stop signal.
std::vector<Executable> find_executables(const std::filesystem::path& folder, const Selection& selection,
                                         StopSignals& signals, DeviceLocks* locks = nullptr);

/// What the executable `path` printed for --describe. Throws UsageError where it is no description, or one of
/// another operator than the executable is named for.
Executable read_description(const std::filesystem::path& path, const std::string& text);

/// Throws UsageError, naming what exists, where nothing is selected.
void require_selected(const std::vector<Executable>& executables, const std::string& filter);

/// Throws UsageError where `device` is none of cpu, cuda and an index.
void require_device(const std::string& device);

/// The SHA-256 of a file, in hex.
std::string sha256_of(const std::filesystem::path& file, StopSignals& signals);

}  // namespace strictbench::runner
