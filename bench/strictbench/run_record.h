/// run.json: what a run was asked, on what it ran, and how every process of it ended.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/strictbench/rows.h"
#include "bench/strictbench/suspects.h"

namespace strictbench::runner {

/// The options of `run` that decide what is measured and how; `--resume` takes them from the record.
struct RunOptions {
  std::string filter;      ///< empty: none
  std::string device;      ///< cpu, cuda or an index; empty: each executable's default
  int processes = 0;       ///< of each case, at least; 0: not decided yet
  int most_processes = 0;  ///< of a case whose interval stays wide; the same as `processes` where N was asked
  double budget_seconds = 600;
  double timeout_seconds = 600;
  bool allow_debug = false;
  bool kernels = false;                 ///< record them when all is measured
  std::string executables;              ///< the folder of the executables
  std::vector<std::string> flags = {};  ///< of the executables' own, given to each: --delays=0,0.1

  /// Whether the evidence decides how many processes a case gets.
  bool adaptive() const { return most_processes > processes; }
};

enum class ProcessStatus { pending, running, ok, failed, crashed, timed_out };

struct ProcessRecord {
  std::string operator_name;
  int process = 0;   ///< the round, from 0
  std::string file;  ///< the result file's name inside the folder
  ProcessStatus status = ProcessStatus::pending;
  std::optional<int> exit_code;
  std::optional<int> signal;
  std::string reason;  ///< why it is not ok
  double seconds = 0;
  std::vector<std::string> restarts;  ///< why it was started again for the cases left, each time
  std::vector<std::string> cases;     ///< what it was to measure
  std::vector<Problem> problems;      ///< what it did not measure
  Suspects suspects;                  ///< samples that no comparison will take
};

enum class RunStatus { running, complete, interrupted };

/// What must be the same for a run to be resumed: the build and the device, by operator.
struct MeasuredExecutable {
  std::string sha256;
  std::string device;  ///< what `--device` it is started with
  std::string gpu_name;
  std::vector<std::string> cases;  ///< those that the run selects
};

/// A case and half of the interval that a comparison of two sides like it would have, as a logarithm.
struct CaseWidth {
  std::string name;
  double half_width = 0;  ///< infinite: too little is known
};

/// Where an adaptive run stands.
struct EvidenceRecord {
  std::size_t stopped_early = 0;  ///< cases narrow enough before the most processes were spent
  std::vector<CaseWidth> wide;    ///< cases that are not, the widest first
};

struct RunRecord {
  std::vector<std::string> command;
  RunOptions options;
  std::uint64_t seed = 0;
  std::string commit;  ///< empty where the build does not know it
  bool dirty = false;
  nlohmann::ordered_json build;  ///< build.json of the build
  std::map<std::string, MeasuredExecutable> executables;
  std::string device;    ///< as in the folder's name: h200, cpu
  std::string gpu_name;  ///< empty on the CPU
  nlohmann::ordered_json machine_before, machine_after;
  std::string started_utc, finished_utc;
  RunStatus status = RunStatus::running;
  int runner_pid = 0;
  std::string side;  ///< of a comparison by turns: base, head; empty in a run by itself
  std::vector<std::string> notes;
  std::optional<EvidenceRecord> evidence;  ///< of an adaptive run, as of its last look
  std::vector<std::string> not_selected;   ///< cases that exist and were not asked for
  std::vector<ProcessRecord> processes;    ///< in the order in which they are started
  std::vector<ProcessRecord> kernels;      ///< those that record kernels, one of an operator
};

/// Writes DIR/run.json whole. Throws std::system_error that names the file.
void save(const RunRecord& record, const std::filesystem::path& folder);

/// Reads DIR/run.json. Throws UsageError that names the file and what is wrong with it.
RunRecord load(const std::filesystem::path& folder);

}  // namespace strictbench::runner
