/// What a run says when it ends.
#pragma once
#include <filesystem>
#include <string>

#include "bench/strictbench/run_record.h"

namespace strictbench::runner {

/// Whether every process ended well, each case measured or skipped.
bool all_ok(const RunRecord& record);

/// Every problem once, one line of counts, the folder, and what to type next; `program` is how we were
/// called.
std::string summary(const RunRecord& record, const std::filesystem::path& folder, const std::string& program);

}  // namespace strictbench::runner
