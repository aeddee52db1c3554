/// What fuzz targets share. A target defines fuzz_one(); libfuzzer.cpp feeds it what coverage led to,
/// replay.cpp seeds and mutations of them, on any compiler.
#pragma once
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace strictbench::fuzz {

/// Something that must hold for every input does not.
struct Violation : std::logic_error {
  using std::logic_error::logic_error;
};

/// Throws Violation unless `holds`.
void require(bool holds, const std::string& what);

/// One input through the target. Unusable input is no error; Violation and any other exception is a find.
void fuzz_one(std::string_view input);

/// The parts of an input that stands for several files: what lies between lines of `=====`.
std::vector<std::string_view> parts_of(std::string_view input);

/// A folder in memory where there is one, gone with the process. The target's files stand in it.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string at(const std::string& name) const { return (path_ / name).string(); }
  /// Writes a file, and folders above it; returns its path.
  std::string write(const std::string& name, std::string_view text) const;
  /// Removes everything in it.
  void clear() const;

 private:
  std::filesystem::path path_;
};

/// A small number that depends on every byte: chooses options, so that one input always means the same.
unsigned choice_of(std::string_view input, unsigned choices);

}  // namespace strictbench::fuzz
