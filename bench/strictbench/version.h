/// Which build of the program this is.
#pragma once
#include <string>

namespace strictbench::runner {

/// "strictbench 0123abc...-dirty, release, GNU 12.2.0, CUDA 13.0.88", by the build.json beside the program;
/// what it does not say is left out. Throws UsageError where it cannot be read.
std::string version_text();

}  // namespace strictbench::runner
