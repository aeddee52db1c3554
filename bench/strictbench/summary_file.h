/// summary.json: a run in one file.
#pragma once
#include <filesystem>

namespace strictbench::runner {

inline constexpr const char* summary_file_name = "summary.json";

/// Writes the folder's summary.json from its process files, which stay what counts. Where it cannot, says why
/// in one line on standard error; a run never fails for it.
void write_summary_file(const std::filesystem::path& folder);

}  // namespace strictbench::runner
