#include "bench/strictbench/plan.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <map>
#include <numeric>
#include <random>

#include "report/accept.h"

namespace strictbench::runner {
namespace {

bool finished(const ProcessRecord& process) {
  return process.status != ProcessStatus::pending && process.status != ProcessStatus::running;
}

struct RoundCost {
  double seconds = 0;
  std::size_t cases = 0;
};

std::map<int, RoundCost> cost_by_round(const std::vector<ProcessRecord>& processes) {
  std::map<int, RoundCost> costs;
  for (const ProcessRecord& process : processes) {
    if (!finished(process)) continue;
    costs[process.process].seconds += process.seconds;
    costs[process.process].cases += process.cases.size();
  }
  return costs;
}

}  // namespace

std::string device_slug(const std::string& gpu_name) {
  const std::string folder = device_folder(gpu_name);  // one rule for results and baselines
  return folder.empty() ? "cpu" : folder;
}

std::string folder_name(const std::string& utc, const std::string& commit, bool dirty,
                        const std::string& device) {
  constexpr std::size_t letters = 10;
  const bool plain = std::ranges::all_of(commit, [](unsigned char c) { return std::isalnum(c); });
  const std::string shown = commit.empty() || !plain ? "nocommit" : commit.substr(0, letters);
  return utc + "_" + shown + (dirty && shown != "nocommit" ? "-dirty" : "") + "_" + device;
}

std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t seed, int round) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  // Written out, since std::shuffle may differ between libraries and a seed is to give one order for good.
  std::seed_seq sequence{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
                         static_cast<std::uint32_t>(round)};
  std::mt19937_64 random(sequence);
  for (std::size_t left = count; left > 1; --left) std::swap(order[left - 1], order[random() % left]);
  return order;
}

bool round_begun(const std::vector<ProcessRecord>& processes, int round) {
  return std::ranges::any_of(processes, [&](const ProcessRecord& process) {
    return process.process == round && process.status != ProcessStatus::pending;
  });
}

bool round_fits(const std::vector<ProcessRecord>& processes, int round, double budget_seconds) {
  std::size_t planned = 0;
  for (const ProcessRecord& process : processes) {
    if (process.process == round) planned += process.cases.size();
  }
  double spent = 0;
  double slowest = 0;
  int rounds = 0;
  for (const auto& [number, cost] : cost_by_round(processes)) {
    if (number >= round) continue;
    spent += cost.seconds;
    // A round of fewer cases is shorter, but not by all of them: half of a round is said to be starting up.
    const double share = planned > 0 && planned < cost.cases
                             ? static_cast<double>(planned) / static_cast<double>(cost.cases)
                             : 1;
    const double seconds = cost.seconds * (1 + share) / 2;
    // The first round computes the oracle's results for all: it says little about those that follow.
    slowest = rounds == 1 ? seconds : std::max(slowest, seconds);
    ++rounds;
  }
  return rounds == 0 || spent + slowest <= budget_seconds;
}

Forecast forecast(const std::vector<ProcessRecord>& processes, const ProcessRecord& current,
                  double current_seconds, std::size_t current_done) {
  std::map<std::string, std::vector<double>> seconds_of;
  double seconds_spent = current_seconds;
  std::size_t cases_done = current_done;
  for (const ProcessRecord& process : processes) {
    if (!finished(process)) continue;
    seconds_of[process.operator_name].push_back(process.seconds);
    seconds_spent += process.seconds;
    cases_done += process.cases.size();
  }
  const double per_case = cases_done > 0 ? seconds_spent / static_cast<double>(cases_done) : -1;

  Forecast result;
  double left = 0;
  for (const ProcessRecord& process : processes) {
    if (finished(process)) continue;
    const bool now = &process == &current;
    const std::size_t cases = process.cases.size() - (now ? std::min(current_done, process.cases.size()) : 0);
    result.cases_left += cases;
    if (const auto known = seconds_of.find(process.operator_name); known != seconds_of.end()) {
      left += std::max(0.0, known->second.back() - (now ? current_seconds : 0));
    } else {
      left += per_case * static_cast<double>(cases);
    }
  }
  if (per_case >= 0) result.seconds_left = left;
  return result;
}

std::string duration_text(double seconds) {
  const long long whole = std::llround(seconds);
  char text[64];
  if (seconds < 9.95) {
    std::snprintf(text, sizeof text, "%.1f s", seconds);
  } else if (whole < 60) {
    std::snprintf(text, sizeof text, "%lld s", whole);
  } else if (whole < 3600) {
    std::snprintf(text, sizeof text, "%lld min %02lld s", whole / 60, whole % 60);
  } else {
    std::snprintf(text, sizeof text, "%lld h %02lld min", whole / 3600, whole % 3600 / 60);
  }
  return text;
}

std::string shell_word(const std::string& text) {
  const bool plain = !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) ||
           std::string_view("/._-+:=,@%").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace strictbench::runner
