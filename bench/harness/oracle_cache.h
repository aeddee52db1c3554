/// Oracle results, computed once per run and shared by its processes through files.
#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/harness/operator_bench.h"

namespace strictbench {

class OracleCache {
 public:
  /// Keeps results in `folder`, where that is a folder; keeps none if it is none, or empty.
  explicit OracleCache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// The results named `key`, one per output: read if files of all of them are whole, else computed and kept.
  /// Results that cannot be kept (full disk, no permission) are still returned.
  std::vector<Expected> get(const std::string& key, const std::vector<std::string_view>& outputs,
                            const std::function<std::vector<Expected>()>& compute) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace strictbench
