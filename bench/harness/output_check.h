/// Holds what a shape's variants write to what they claim.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bench/harness/operator_bench.h"
#include "bench/harness/oracle_cache.h"

namespace strictbench {

class OutputCheck {
 public:
  /// `key` names the operator and shape; `problem` is what outputs are compared with each other on. All must
  /// outlive it.
  OutputCheck(Backend& backend, std::string key, const OracleCache& cache, Problem& problem)
      : backend_(backend), key_(std::move(key)), cache_(cache), problem_(problem) {}

  /// Call before `variant` runs: where it must have the bits of another run, that run is made now.
  void before(std::string_view variant);

  struct Result {
    std::string wrong;    ///< empty: the claim is kept
    std::string against;  ///< what it was compared with: "oracle ascending"
    RelativeError error;  ///< the largest of the outputs, of a claim with a tolerance
  };

  /// Compares the outputs of `problem`, just written by `variant`, up to the first that is wrong.
  Result compare(Problem& problem, std::string_view variant);

 private:
  const std::vector<Tensor>& expected(std::string_view definition);

  Backend& backend_;
  std::string key_;
  const OracleCache& cache_;
  Problem& problem_;
  std::map<std::string, std::vector<Tensor>, std::less<>> expected_;  ///< by definition
  std::map<std::string, std::vector<Tensor>, std::less<>> kept_;      ///< a variant's outputs
};

/// Fills the outputs with poison, then lets `variant` prepare: what a run must do before it can be compared.
void poison_and_prepare(Problem& problem, std::string_view variant);

/// "oracle:ascending" or "oracle:k_tree within 0.02": what a row says of its check.
std::string label_of(const Claim& claim);

/// "element 17 of 4096 is 0x3f80, expected 0x3f81; 3 elements differ"
std::string describe(const Difference& difference, Dtype dtype, std::size_t count);

}  // namespace strictbench
