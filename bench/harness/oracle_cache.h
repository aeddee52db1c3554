/// Oracle results, computed once per run and shared by its processes through files.
#pragma once
#include <filesystem>
#include <functional>
#include <string>

#include "bench/harness/operator_bench.h"

namespace strictbench {

class OracleCache {
 public:
  /// Keeps results in `folder`, created when first needed; keeps none if it is empty.
  explicit OracleCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// The result named `key`: read if a file of it is whole, else computed and kept. A result that cannot be
  /// kept (full disk, no permission) is still returned.
  Expected get(const std::string& key, const std::function<Expected()>& compute) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace strictbench
