/// The loop of a run: starts what its record says is left, and keeps record and files whole all the way.
#pragma once
#include <filesystem>

#include "bench/strictbench/process.h"
#include "bench/strictbench/run_record.h"

namespace strictbench::runner {

/// Where the executable of an operator stands.
std::filesystem::path executable_path(const RunRecord& record, const std::string& operator_name);

/// Measures every process of `record` that is not ok, round by round within the budget, and writes the
/// record into `folder` at each change. Returns with the record complete, or interrupted and the stop signal.
/// Throws std::system_error where the folder cannot be written.
int measure(RunRecord& record, const std::filesystem::path& folder, StopSignals& signals);

}  // namespace strictbench::runner
