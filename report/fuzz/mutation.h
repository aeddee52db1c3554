/// Random changes of an input, the same on every machine for one seed.
#pragma once
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace strictbench::fuzz {

class Mutator {
 public:
  /// `seeds` must not be empty, and outlive this object.
  Mutator(std::uint64_t seed, const std::vector<std::string>& seeds) : random_(seed), seeds_(seeds) {}

  /// The next input: a seed with one to eight changes.
  std::string next();

 private:
  std::size_t below(std::size_t count) {
    return count == 0 ? 0 : static_cast<std::size_t>(random_() % count);
  }
  void change(std::string& text);

  std::mt19937_64 random_;
  const std::vector<std::string>& seeds_;
};

}  // namespace strictbench::fuzz
