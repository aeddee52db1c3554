#include "bench/strictbench/starts.h"

#include <algorithm>
#include <utility>

#include "bench/strictbench/adaptive.h"

namespace strictbench::runner {
namespace {

// Starts in a row without a row, after which something other than a case is wrong. One past its time limit
// counts as three: where a whole device hangs, each costs minutes.
constexpr int most_fruitless = 6;
constexpr int fruitless_time_out = 3;

}  // namespace

Starts::Starts(std::vector<std::string> cases, bool again) : again_(again) {
  if (!cases.empty()) waiting_.push_back(std::move(cases));
}

void Starts::ended(const StartResult& result) {
  Cases left = std::move(waiting_.front());
  waiting_.pop_front();
  std::erase_if(left, [&](const std::string& name) { return result.with_rows.contains(name); });
  const int fruitless = fruitless_ + (result.timed_out ? fruitless_time_out : 1);
  fruitless_ = result.with_rows.empty() ? fruitless : 0;
  if (suspicion_) tried_alone(/*died=*/!left.empty());
  if (left.empty()) return;
  if (!result.died || !again_) return lose(left, result.reason);
  if (result.at.empty()) {  // before any case: the next start would get no further
    lose(left, result.reason);
    return give_up("not measured, since " + result.reason);
  }
  start_again(std::move(left), result);
  if (fruitless_ >= most_fruitless)
    give_up("not measured, after starts in a row that ended without a result, the last one: " +
            result.reason);
}

/// Variants of one shape and timer are set up together and sampled by turns: the case named last is not
/// always the one that the start died of.
void Starts::start_again(Cases left, const StartResult& result) {
  if (result.told && !result.with_rows.empty()) return waiting_.push_front(std::move(left));
  Cases suspects;
  for (const std::string& name : left) {
    if (without_variant(name) == without_variant(result.at)) suspects.push_back(name);
  }
  const bool named = std::ranges::count(suspects, result.at) > 0;
  if (named && (result.phase == "check" || suspects.size() == 1)) suspects = {result.at};
  std::erase_if(left, [&](const std::string& name) { return std::ranges::count(suspects, name) > 0; });
  if (!left.empty()) waiting_.push_front(std::move(left));
  if (suspects.size() == 1 || result.phase == "inputs") return lose(suspects, result.reason);
  if (suspects.empty()) return;
  // Each alone tells which it was.
  suspicion_ = {suspects, result.reason, suspects.size()};
  for (auto name = suspects.rbegin(); name != suspects.rend(); ++name) waiting_.push_front({*name});
}

void Starts::tried_alone(bool died) {
  if (died) {
    suspicion_.reset();
  } else if (--suspicion_->untried == 0) {
    lose(suspicion_->cases, suspicion_->reason + "; it was this one or a neighbour, and none did so alone");
    suspicion_.reset();
  }
}

void Starts::lose(const Cases& cases, const std::string& reason) {
  for (const std::string& name : cases) lost_.emplace(name, reason);
}

void Starts::give_up(const std::string& reason) {
  for (const Cases& cases : waiting_) lose(cases, reason);
  waiting_.clear();
  suspicion_.reset();
}

}  // namespace strictbench::runner
