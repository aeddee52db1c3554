/// The entry without libFuzzer: every seed, then mutations of seeds that are the same on every machine.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "report/fuzz/fuzzing.h"
#include "report/fuzz/mutation.h"

namespace {

namespace fs = std::filesystem;

constexpr double longest_seconds = 5;  // for one input, on a busy machine and with sanitizers

std::string contents(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (!in.good() && !in.eof()) throw std::runtime_error("cannot read " + file.string());
  return text;
}

/// Files, and the files of folders, in the order of their names.
std::vector<fs::path> files_of(const std::vector<std::string>& paths) {
  std::vector<fs::path> files;
  for (const std::string& path : paths) {
    if (!fs::is_directory(path)) {
      files.emplace_back(path);
      continue;
    }
    for (const fs::directory_entry& entry : fs::directory_iterator(path)) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::uint64_t number_of(std::string_view text, const char* what) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return value;
  throw std::runtime_error(std::string(what) + " '" + std::string(text) + "' is no number");
}

/// Runs one input and says what was found; the input is kept for a look at it.
bool passes(const std::string& input, const std::string& title) {
  const auto began = std::chrono::steady_clock::now();
  std::string found;
  try {
    strictbench::fuzz::fuzz_one(input);
  } catch (const std::exception& error) {
    found = error.what();
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  if (found.empty() && seconds > longest_seconds) found = "it took " + std::to_string(seconds) + " s";
  if (found.empty()) return true;
  const fs::path kept = fs::temp_directory_path() / "strictbench-fuzz-found";
  std::ofstream(kept, std::ios::binary) << input;
  std::fprintf(stderr, "%s: %s\nthe input is kept as %s\n", title.c_str(), found.c_str(), kept.c_str());
  return false;
}

int run(const std::vector<std::string>& words) {
  std::uint64_t mutations = 0;
  std::vector<std::string> paths;
  for (const std::string& word : words) {
    constexpr std::string_view option = "--mutations=";
    if (word.starts_with(option)) {
      mutations = number_of(std::string_view(word).substr(option.size()), "--mutations");
    } else {
      paths.push_back(word);
    }
  }
  std::vector<std::string> seeds;
  for (const fs::path& file : files_of(paths)) {
    seeds.push_back(contents(file));
    if (!passes(seeds.back(), file.string())) return 1;
  }
  if (seeds.empty()) throw std::runtime_error("usage: [--mutations=N] SEED...: files or folders, not empty");
  const char* given = std::getenv("STRICTBENCH_SEED");
  const std::uint64_t seed = given != nullptr && *given != 0 ? number_of(given, "STRICTBENCH_SEED") : 1;
  std::printf("%zu seeds, then %llu mutations; STRICTBENCH_SEED=%llu brings them again\n", seeds.size(),
              static_cast<unsigned long long>(mutations), static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  strictbench::fuzz::Mutator mutator(seed, seeds);
  for (std::uint64_t i = 0; i < mutations; ++i) {
    if (!passes(mutator.next(), "mutation " + std::to_string(i))) return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", *argv, error.what());
    return 2;
  }
}
