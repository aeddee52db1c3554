#include "bench/strictbench/summary_file.h"

#include <cstdio>
#include <exception>
#include <sstream>

#include "bench/strictbench/files.h"
#include "report/accept.h"
#include "report/text.h"

namespace strictbench::runner {

void write_summary_file(const std::filesystem::path& folder) {
  try {
    const Side real = read_side({folder.string()}, "real_time");
    const Side cpu = read_side({folder.string()}, "cpu_time");
    std::ostringstream text;
    write_summary(text, real, cpu);
    write_whole(folder / summary_file_name, text.str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "strictbench: no %s: %s\n", summary_file_name, printable(error.what()).c_str());
  }
}

}  // namespace strictbench::runner
