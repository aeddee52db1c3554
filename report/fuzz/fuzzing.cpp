#include "report/fuzz/fuzzing.h"

#include <cstdint>
#include <cstdlib>
#include <fstream>

namespace strictbench::fuzz {

namespace fs = std::filesystem;

void require(bool holds, const std::string& what) {
  if (!holds) throw Violation(what);
}

std::vector<std::string_view> parts_of(std::string_view input) {
  constexpr std::string_view line = "\n=====\n";
  std::vector<std::string_view> parts;
  for (std::size_t at = input.find(line); at != std::string_view::npos; at = input.find(line)) {
    parts.push_back(input.substr(0, at));
    input.remove_prefix(at + line.size());
  }
  parts.push_back(input);
  return parts;
}

Folder::Folder() {
  const fs::path memory = "/dev/shm";
  std::error_code ignored;
  const fs::path above = fs::is_directory(memory, ignored) ? memory : fs::temp_directory_path();
  std::string pattern = (above / "strictbench-fuzz-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr)
    throw std::runtime_error("no temporary folder in " + above.string());
  path_ = pattern;
}

Folder::~Folder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string Folder::write(const std::string& name, std::string_view text) const {
  const fs::path file = path_ / name;
  if (file.parent_path() != path_) fs::create_directories(file.parent_path());
  std::ofstream out(file, std::ios::binary);
  out << text;
  out.close();
  if (!out) throw std::runtime_error("cannot write " + file.string());
  return file.string();
}

void Folder::clear() const {
  for (const fs::directory_entry& entry : fs::directory_iterator(path_)) fs::remove_all(entry.path());
}

unsigned choice_of(std::string_view input, unsigned choices) {
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (const char c : input) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return (hash >> 8U) % choices;
}

}  // namespace strictbench::fuzz
