/// Opens files that users and other files name: whatever stands under the name, opening it ends.
#pragma once
#include <cstdio>
#include <memory>
#include <string>

namespace strictbench {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using InputFile = std::unique_ptr<std::FILE, CloseFile>;

/// Opens `path` for reading. A pipe is read as its writer delivers; one that nobody writes to is refused
/// after five seconds. Throws UsageError, naming the file, where it cannot be opened, or is a folder.
InputFile open_input(const std::string& path);

/// All of a file or pipe, of at most 1 GiB. Throws UsageError, naming it, where it cannot be opened or read
/// to its end, is larger, or neither.
std::string read_input(const std::string& path);

/// Whether `name` is that of a file in a folder itself: no path, and neither "." nor "..". A run.json may
/// come from anybody, and only such names of it are followed.
bool names_file_in_folder(const std::string& name);

}  // namespace strictbench
