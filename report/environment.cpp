#include "report/environment.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <set>

namespace strictbench {
namespace {

constexpr long old_after_days = 90;

/// "cpu" and "wall" time the host, even where a GPU works.
bool times_the_host(std::string_view timer) { return timer == "cpu" || timer == "wall"; }

bool both_state_and_differ(const std::string& a, const std::string& b) {
  return !a.empty() && !b.empty() && a != b;
}

std::optional<int> number_at(std::string_view text, std::size_t at, std::size_t digits) {
  if (at + digits > text.size()) return std::nullopt;
  int value = 0;
  const char* first = text.data() + at;
  const auto [end, error] = std::from_chars(first, first + digits, value);
  if (error != std::errc() || end != first + digits || value < 0) return std::nullopt;
  return value;
}

void warn_of_age(const Side& baseline, const Side& contender, long today, std::vector<std::string>& notes) {
  std::optional<long> now;
  for (const Session& session : contender.sessions) {
    if (const auto day = day_of(session.date)) now = std::max(now.value_or(*day), *day);
  }
  // The youngest session counts: a baseline that was added to is as fresh as its last addition.
  std::optional<long> taken;
  for (const Session& session : baseline.sessions) {
    if (const auto day = day_of(session.date)) taken = std::max(taken.value_or(*day), *day);
  }
  if (!taken) return;
  const long age = now.value_or(today) - *taken;
  if (age > old_after_days) {
    notes.push_back("the baseline is " + std::to_string(age) +
                    " days old; consider measuring and accepting a new one");
  }
}

}  // namespace

bool is_true(std::string_view value) { return value == "true" || value == "1" || value == "yes"; }

std::string joined(const std::vector<std::string>& values) {
  std::string text;
  for (const std::string& value : values) {
    if (!text.empty()) text += ", ";
    text += value;
  }
  return text;
}

std::string stated(const Context& context, std::string_view key) {
  const auto found = context.find(key);
  return found == context.end() ? std::string() : found->second;
}

Environments environments_of(const Side& side) {
  Environments result;
  for (const Source& source : side.sources) {
    Environment environment{stated(source.context, "gpu_name"), stated(source.context, "host_name"),
                            stated(source.context, "cpu_model"), stated(source.context, "build_type")};
    // The library's own build says nothing of the program's where the program states its own.
    if (environment.build_type.empty()) environment.build_type = stated(source.context, "library_build_type");
    const auto found = std::find(result.distinct.begin(), result.distinct.end(), environment);
    result.of_source.push_back(static_cast<std::uint32_t>(found - result.distinct.begin()));
    if (found == result.distinct.end()) result.distinct.push_back(std::move(environment));
  }
  return result;
}

std::optional<std::string> difference(const Environment& baseline, const Environment& contender,
                                      std::string_view timer) {
  const auto differs = [](const char* what, const std::string& b, const std::string& c) {
    return std::string(what) + " differs: baseline " + (b.empty() ? "not stated" : b) + ", contender " +
           (c.empty() ? "not stated" : c);
  };
  if (baseline.gpu_name != contender.gpu_name) return differs("GPU", baseline.gpu_name, contender.gpu_name);
  if (baseline.gpu_name.empty() || times_the_host(timer)) {
    if (both_state_and_differ(baseline.host_name, contender.host_name)) {
      return differs("host", baseline.host_name, contender.host_name);
    }
    if (both_state_and_differ(baseline.cpu_model, contender.cpu_model)) {
      return differs("CPU", baseline.cpu_model, contender.cpu_model);
    }
  }
  if (both_state_and_differ(baseline.build_type, contender.build_type)) {
    return differs("build type", baseline.build_type, contender.build_type);
  }
  return std::nullopt;
}

bool known_to_differ(const Session& a, const Session& b) {
  return both_state_and_differ(a.boot_id, b.boot_id) || both_state_and_differ(a.gpu_uuid, b.gpu_uuid);
}

std::vector<std::string> stated_values(const Side& side, std::string_view key) {
  std::vector<std::string> values;
  for (const Source& source : side.sources) {
    const std::string value = stated(source.context, key);
    if (!value.empty() && std::find(values.begin(), values.end(), value) == values.end())
      values.push_back(value);
  }
  return values;
}

std::optional<long> day_of(std::string_view date) {
  const auto year = number_at(date, 0, 4);
  const auto month = number_at(date, 5, 2);
  const auto day = number_at(date, 8, 2);
  if (!year || !month || !day) return std::nullopt;
  const std::chrono::year_month_day ymd{std::chrono::year(*year),
                                        std::chrono::month(static_cast<unsigned>(*month)),
                                        std::chrono::day(static_cast<unsigned>(*day))};
  if (!ymd.ok()) return std::nullopt;
  return std::chrono::sys_days(ymd).time_since_epoch().count();
}

std::vector<std::string> warnings(const Side& baseline, const Side& contender, long today) {
  std::vector<std::string> notes;
  struct Key {
    const char* name;
    const char* words;
  };
  for (const Key& key :
       {Key{"driver_version", "the driver"}, Key{"cuda_version", "CUDA"}, Key{"compiler", "the compiler"}}) {
    const std::vector<std::string> before = stated_values(baseline, key.name);
    const std::vector<std::string> after = stated_values(contender, key.name);
    if (!before.empty() && !after.empty() && before != after) {
      notes.push_back(std::string(key.words) + " changed: baseline " + joined(before) + ", contender " +
                      joined(after));
    }
  }
  const auto binaries = [](const Side& side) {
    const std::vector<std::string> values = stated_values(side, "binary_sha256");
    return std::set<std::string>(values.begin(), values.end());
  };
  if (!binaries(baseline).empty() && binaries(baseline) == binaries(contender)) {
    notes.emplace_back("A/A: both builds are the same executables");
  }
  warn_of_age(baseline, contender, today, notes);
  for (const Side* side : {&baseline, &contender}) {
    for (const RunRecord& run : side->runs) {
      const std::string who = side == &baseline ? "baseline " : "contender ";
      if (run.status != "complete") {
        notes.push_back(who + run.folder + ": the run is " +
                        (run.status.empty() ? "not complete" : run.status));
      }
    }
  }
  return notes;
}

}  // namespace strictbench
