/// A result folder as the run knows it, so that nothing is written where it was removed or exchanged.
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <stdexcept>
#include <string>

#include "bench/strictbench/run_record.h"

namespace strictbench::runner {

/// Thrown where the result folder is no longer the one that the run began in. `what()` is one line.
struct FolderLost : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The folder that has a name when this object is made. A FolderLock that is held meanwhile keeps the number
/// of its inode from being given to another folder.
class OwnFolder {
 public:
  explicit OwnFolder(std::filesystem::path path);

  const std::filesystem::path& path() const { return path_; }

  /// Why no more can be written here: the folder is gone, is another one, or its run.json was taken away.
  /// Empty where all is well.
  std::string what_is_lost() const;
  /// Throws FolderLost where something is.
  void require() const;

  /// Writes run.json. Throws FolderLost, with nothing written, where the folder is not ours any more, and
  /// what runner::save throws.
  void save(const RunRecord& record);

  /// Whether there is a run.json.
  bool holds_record() const;

 private:
  std::filesystem::path path_;
  bool found_ = false;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  bool recorded_ = false;  ///< run.json was there, and is to stay
};

}  // namespace strictbench::runner
