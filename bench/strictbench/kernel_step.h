/// The last step of `strictbench run --kernels`: which kernels ran, and for how long, apart from all timing.
#pragma once
#include <filesystem>
#include <string>

#include "bench/strictbench/process.h"
#include "bench/strictbench/run_record.h"

namespace strictbench::runner {

/// Plans one process for each operator of the record, with one case for each variant and shape. Throws
/// UsageError where there is no GPU to record on.
void plan_kernels(RunRecord& record);

/// Whether all that was planned was recorded.
bool kernels_ok(const RunRecord& record);

/// Starts what is planned and not done, one process at a time, and keeps the record; needs the folder's
/// scratch, so an Arm must live. What fails is named in the record and loses nothing else. Returns the stop
/// signal that ended it, else 0. Throws FolderLost where the folder is gone or another one.
int record_kernels(RunRecord& record, const std::filesystem::path& folder, StopSignals& signals);

/// What failed, a line each; empty where nothing did.
std::string kernel_problems(const RunRecord& record);

}  // namespace strictbench::runner
