/// Files that are whole or not there: written under a temporary name, made durable, renamed.
#pragma once
#include <filesystem>
#include <string>

namespace strictbench::runner {

/// The text of `path`. Throws std::system_error whose message names the file.
std::string read_file(const std::filesystem::path& path);

/// Replaces `path` by `text`. A reader, or a loss of power, sees the old text or the new one, never a part.
/// Throws std::system_error whose message names the file; then the old text stays.
void write_whole(const std::filesystem::path& path, const std::string& text);

/// Gives the finished file `temporary` its lasting name, as durable as write_whole() does.
void publish(const std::filesystem::path& temporary, const std::filesystem::path& path);

/// The lock of a result folder: one writer at a time. It is held while this object lives and goes with the
/// process, however that ends.
class FolderLock {
 public:
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  /// False when another process holds the lock.
  bool held() const { return held_; }

 private:
  int descriptor_ = -1;
  bool held_ = false;
};

}  // namespace strictbench::runner
