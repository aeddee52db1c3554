#include "bench/strictbench/own_folder.h"

#include <sys/stat.h>

#include <utility>

namespace strictbench::runner {

OwnFolder::OwnFolder(std::filesystem::path path) : path_(std::move(path)) {
  struct stat info {};
  found_ = stat(path_.c_str(), &info) == 0;
  device_ = info.st_dev;
  inode_ = info.st_ino;
  recorded_ = holds_record();
}

std::string OwnFolder::what_is_lost() const {
  struct stat info {};
  if (!found_ || stat(path_.c_str(), &info) != 0)
    return path_.string() + " is gone, and what was finished with it: measure anew";
  if (info.st_dev != device_ || info.st_ino != inode_) {
    return path_.string() +
           " is another folder than the run began in, and what was finished is gone with that: measure anew";
  }
  if (recorded_ && !holds_record()) {
    return (path_ / "run.json").string() +
           " was removed during the run, so nothing more is written there: measure anew";
  }
  return {};
}

void OwnFolder::require() const {
  if (const std::string lost = what_is_lost(); !lost.empty()) throw FolderLost(lost);
}

void OwnFolder::save(const RunRecord& record) {
  require();
  runner::save(record, path_);
  recorded_ = true;
}

bool OwnFolder::holds_record() const {
  std::error_code ignored;
  return std::filesystem::exists(path_ / "run.json", ignored);
}

}  // namespace strictbench::runner
