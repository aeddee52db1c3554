/// What is asked of each implementation beside its time: does it give the same bits every time, and whatever
/// stands beside in the batch?
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/harness/backend.h"

namespace strictbench::peers {

/// How often each implementation runs on the same inputs.
inline constexpr int runs = 25;

/// A case as peers.py names it: "row_fold/rows:1024/cols:128/dtype:fp32".
struct CaseName {
  std::string text;
  std::string op;
  std::map<std::string, std::string> keys;

  /// Throws std::invalid_argument where there is no such key or it is no positive number.
  std::int64_t number(const std::string& key) const;
  const std::string& word(const std::string& key) const;
};

/// Throws std::invalid_argument unless `text` is an operator and its keys.
CaseName parse_case(const std::string& text);

/// What one implementation answers on one case. What was not asked is absent.
struct Answer {
  std::string case_name;
  std::string who;
  std::vector<double> samples_us = {};  ///< by the graph timer, each the mean of one call
  std::optional<bool> repeatable = {};
  std::optional<bool> batch_invariant = {};
  std::string error = {};
};

/// Whether `call` leaves the same bits in `out` in each of `runs` runs on a poisoned output.
bool repeats(Backend& backend, Tensor& out, const Call& call);

/// Runs `call` once on a poisoned `out`.
void run_once(Backend& backend, Tensor& out, const Call& call);

/// Microseconds of one call, once per sample, by the graph timer: as many calls a sample as a run takes.
std::vector<double> time_by_graph(Backend& backend, const Call& call);

/// Asks for an answer; what is thrown becomes its error, unless the device is lost.
Answer ask(Backend& backend, const CaseName& name, std::string_view who,
           const std::function<void(Answer&)>& questions);

/// One operator each: every implementation that there is here.
void ask_row_fold(Backend& backend, const CaseName& name, std::vector<Answer>& answers);
void ask_embedding_backward(Backend& backend, const CaseName& name, std::vector<Answer>& answers);
void ask_dw_gemm(Backend& backend, const CaseName& name, std::vector<Answer>& answers);

/// The first `width` of `from`'s columns, which has `cols` of them, side by side in `to`.
void copy_columns(Backend& backend, Tensor& to, const Tensor& from, std::int64_t rows, std::int64_t cols,
                  std::int64_t width);

}  // namespace strictbench::peers
