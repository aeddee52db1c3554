/// What `run --resume` asks of a result folder before it measures: whether it may go on, and with what.
#pragma once
#include <filesystem>
#include <vector>

#include "bench/strictbench/device_lock.h"
#include "bench/strictbench/process.h"
#include "bench/strictbench/run_record.h"
#include "bench/strictbench/runner.h"

namespace strictbench::runner {

/// What the record calls measured and the folder has lost, or holds only in part, is to be measured again:
/// rows and records of kernels. Returns a line for each. Throws UsageError where the record lists no process.
std::vector<std::string> find_lost_files(RunRecord& record, const std::filesystem::path& folder);

/// Throws UsageError where the folder is no run by itself, or names executables that came with it.
void require_resumable(const RunRecord& record, const std::filesystem::path& folder);

/// Takes the locks of the devices and notes that the run goes on. Throws UsageError where times measured now
/// would not belong to those that the record holds, and Stopped on a stop signal.
void require_unchanged(RunRecord& record, const std::filesystem::path& folder, StopSignals& signals,
                       DeviceLocks& locks);

/// What a resumed run has left, in the order in which it was planned.
std::vector<Planned> left_of(const RunRecord& record);

}  // namespace strictbench::runner
