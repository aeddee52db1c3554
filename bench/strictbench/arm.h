/// One build's share of a run: its record, and the result folder that both record and results stand in.
#pragma once
#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "bench/strictbench/own_folder.h"
#include "bench/strictbench/process.h"
#include "bench/strictbench/progress.h"
#include "bench/strictbench/run_record.h"

namespace strictbench::runner {

/// Where the executable of an operator stands.
std::filesystem::path executable_path(const RunRecord& record, const std::string& operator_name);

/// Where processes of a run find lists of cases, and share what the oracle said; there while an Arm lives.
std::filesystem::path scratch_folder(const std::filesystem::path& folder);
std::filesystem::path oracle_folder(const std::filesystem::path& folder);

/// Takes away what a run that was killed was writing: its last files may be parts.
void remove_leftovers(const RunRecord& record, const std::filesystem::path& folder);

/// Sets what became of a process, judged by how it ended alone; `at` is where it was.
void judge_ending(ProcessRecord& process, const Ending& ending, const CaseProgress& at, double timeout);

/// Takes back how a process ended, and what its rows were judged to be: of an earlier attempt, of starts that
/// came to nothing, or of a file that is lost. What it is to measure stays.
void forget_ending(ProcessRecord& process, ProcessStatus status);

/// Somebody who looks on while a process runs.
struct Watch {
  double tick_seconds = 1;
  std::function<void(const CaseProgress&)> on_tick;
};

/// Starts processes of one record and keeps record and files whole all the way. Results that its processes
/// share, and lists of cases for them, are in the folder while this object lives.
class Arm {
 public:
  /// Writes nothing yet; `record` and the folder must outlive this.
  Arm(RunRecord& record, std::filesystem::path folder);
  ~Arm();
  Arm(const Arm&) = delete;
  Arm& operator=(const Arm&) = delete;

  RunRecord& record() { return record_; }
  const OwnFolder& folder() const { return folder_; }

  /// Marks the record as running and makes what its processes share. Throws std::system_error where the
  /// folder cannot be written or an executable is gone.
  void begin();

  /// Runs `process`, an entry of the record, and judges what it left. Where it dies of a case, it is started
  /// again for those that it did not get to. Returns the stop signal that ended it, else 0. Throws
  /// FolderLost where the folder is gone or another one, std::system_error where it cannot be written,
  /// std::runtime_error where the executable changed since begin().
  int measure(ProcessRecord& process, StopSignals& signals, const Watch& watch);

  /// Writes the record as it stands. Throws FolderLost or std::system_error.
  void save() { folder_.save(record_); }

  /// Takes away what the processes shared. Does nothing where the folder is lost.
  void end();

  /// Writes the record for the last time.
  void finish(bool complete);

 private:
  using Build = std::array<std::int64_t, 7>;

  Build build_of(const std::string& operator_name) const;
  Ending start(const ProcessRecord& process, const std::vector<std::string>& cases, CaseProgress& at,
               StopSignals& signals, const Watch& watch);
  std::filesystem::path write_cases(const std::string& operator_name,
                                    const std::vector<std::string>& cases) const;

  RunRecord& record_;
  OwnFolder folder_;
  std::map<std::string, Build> built_;
};

}  // namespace strictbench::runner
