/// Writes committed baselines, and the summaries of runs, which have the same form.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "report/accept.h"
#include "report/environment.h"
#include "report/row_name.h"
#include "report/statistics.h"

namespace strictbench {
namespace {

/// Keys of the context that a comparison or its reader needs, written once where all sources agree.
constexpr std::array<const char*, 12> shared_keys{
    "host_name", "num_cpus",   "gpu_name",  "gpu_sm_count", "driver_version",   "cuda_version",
    "compiler",  "build_type", "cpu_model", "sm_clock_mhz", "memory_clock_mhz", "power_limit_w"};
constexpr std::array<const char*, 4> session_keys{"gpu_uuid", "boot_id", "git_commit", "date"};

/// A JSON string in ASCII, since it is looked at in terminals and reviews; what is not UTF-8 was not read
/// from JSON and is replaced.
std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

/// Seven digits: far below what can be measured, and short in a file that is kept in git.
std::string short_number(double value) {
  std::array<char, 32> buffer{};
  const auto [end, error] =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::general, 7);
  return std::string(buffer.data(), end);
}

/// Numbers the processes of a session from 0 for each operator, the same for all rows of a process.
class ProcessNumbers {
 public:
  std::size_t of(const ProcessRecord& process, const std::string& op) {
    auto& known = numbers_[{process.session, op}];
    return known.try_emplace({process.source, process.number}, known.size()).first->second;
  }

 private:
  std::map<std::pair<std::uint32_t, std::string>, std::map<std::pair<std::uint32_t, double>, std::size_t>>
      numbers_;
};

struct Line {
  std::size_t session;
  std::size_t process;
  double real_time;
  bool suspect;
  const ProcessRecord* record;
};

/// The number of a process that has suspect ones alone; NaN for others.
double suspect_value(const ProcessRecord& record) {
  const bool alone = std::isnan(record.value()) && !record.suspect_samples.empty();
  return alone ? median(record.suspect_samples) : no_number;
}

std::vector<Line> lines_of(const Evidence& evidence, ProcessNumbers& numbers, bool with_suspect) {
  const std::string op = parse_row_name(evidence.name).op;
  std::vector<Line> lines;
  for (const ProcessRecord& record : evidence.processes) {
    const std::size_t number = numbers.of(record, op);
    const bool suspect = with_suspect && std::isnan(record.value());
    const double value = suspect ? suspect_value(record) : record.value();
    if (!std::isnan(value)) lines.push_back({record.session, number, value, suspect, &record});
  }
  std::sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) {
    return std::tie(a.session, a.process) < std::tie(b.session, b.process);
  });
  return lines;
}

/// The same process of the same benchmark, read by another metric.
double value_of(const Side& side, const Evidence& evidence, const ProcessRecord& record) {
  const Evidence* other = side.find(evidence.name);
  if (other == nullptr) return no_number;
  for (const ProcessRecord& candidate : other->processes) {
    if (candidate.source == record.source && candidate.session == record.session &&
        candidate.number == record.number) {
      return std::isnan(candidate.value()) ? suspect_value(candidate) : candidate.value();
    }
  }
  return no_number;
}

/// What the benchmark's check came to: a baseline must not turn a tolerance into bits.
std::string claim_of(const Evidence& evidence) {
  std::string claim = evidence.checked > 0 ? ", \"check\": 1" : "";
  if (evidence.tolerance > 0) {
    // JSON has no infinity; readers take null for a tolerance that is not known.
    const bool known = std::isfinite(evidence.tolerance);
    claim += ", \"tolerance\": " + (known ? short_number(evidence.tolerance) : "null");
  }
  if (std::isfinite(evidence.relative_error)) {
    claim += ", \"relative_error\": " + short_number(evidence.relative_error);
  }
  return evidence.control ? claim + ", \"control\": 1" : claim;
}

/// The floor by the ceilings of the row's own process, and how near the row comes to it.
std::string floor_of(const Line& line) {
  const double floor = line.record->floor;
  if (!std::isfinite(floor)) return "";
  return ", \"floor_us\": " + short_number(floor * 1e-3) +
         ", \"share_of_floor\": " + short_number(floor / line.real_time);
}

void write_context(std::ostream& out, const Side& side, bool everything) {
  const char* separator = "\n  ";
  const auto write = [&](const std::string& key, const std::string& value) {
    if (value.empty()) return;
    out << separator << quoted(key) << ": " << quoted(value);
    separator = ",\n  ";
  };
  out << "{\n \"context\": {";
  std::vector<std::string> dates;
  for (const Session& session : side.sessions) dates.push_back(session.date);
  if (!dates.empty()) write("date", *std::max_element(dates.begin(), dates.end()));
  for (const char* key : shared_keys) {
    const std::vector<std::string> values = stated_values(side, key);
    if (values.size() == 1) write(key, values.front());
  }
  // A baseline has been refused to trees with changes.
  const std::vector<std::string> dirty = stated_values(side, "git_dirty");
  if (std::ranges::any_of(dirty, is_true)) write("git_dirty", "true");
  std::map<std::uint32_t, std::uint32_t> first_source;
  for (const Evidence& evidence : side.benchmarks) {
    for (const ProcessRecord& process : evidence.processes)
      first_source.try_emplace(process.session, process.source);
  }
  for (const auto& [session, source] : first_source) {
    for (const char* key : session_keys) {
      write("session." + std::to_string(session + 1) + "." + key, stated(side.sources[source].context, key));
    }
  }
  // Google Benchmark lists the caches of a machine, and Bencher reads no file without such a list.
  if (everything) out << separator << "\"caches\": []";
  out << "\n },\n";
}

/// Writes rows, one a line.
class Rows {
 public:
  explicit Rows(std::ostream& out) : out_(out) {}

  void write_time(const Evidence& evidence, const Line& line, double cpu_time, const std::string& claim) {
    const std::size_t samples = line.suspect
                                    ? line.record->suspect_samples.size()
                                    : std::max(line.record->samples.size(), line.record->recorded_samples);
    begin(evidence.name);
    out_ << "\"iterations\": 1, \"real_time\": " << short_number(line.real_time)
         << ", \"cpu_time\": " << (std::isnan(cpu_time) ? "0" : short_number(cpu_time))
         << ", \"time_unit\": \"ns\", \"process\": " << line.process << ", \"session\": " << line.session + 1
         << ", \"samples\": " << samples << claim << floor_of(line)
         << (line.suspect ? ", \"suspect\": 1" : "") << "}";
  }

  /// What went wrong has no time; Google Benchmark writes 0 there.
  void write_troubles(const Evidence& evidence) {
    if (!evidence.troubles) return;
    const Troubles& troubles = *evidence.troubles;
    const auto write = [&](std::size_t count, const char* keys, const std::string& message) {
      if (count == 0) return;
      begin(evidence.name);
      out_ << keys << quoted(message)
           << ", \"iterations\": 0, \"real_time\": 0, \"cpu_time\": 0, \"time_unit\": \"ns\"}";
    };
    constexpr const char* error = "\"error_occurred\": true, \"error_message\": ";
    write(troubles.wrong, error, troubles.wrong_message);
    write(troubles.failed, error, troubles.failed_message);
    write(troubles.skipped, "\"skipped\": true, \"skip_message\": ", troubles.skipped_message);
  }

 private:
  void begin(const std::string& name) {
    out_ << separator_ << "{\"name\": " << quoted(name) << ", \"run_name\": " << quoted(name)
         << ", \"run_type\": \"iteration\", ";
    separator_ = ",\n  ";
  }

  std::ostream& out_;
  const char* separator_ = "\n  ";
};

void write(std::ostream& out, const Side& real, const Side& cpu, bool everything) {
  write_context(out, real, everything);
  out << " \"benchmarks\": [";
  Rows rows(out);
  ProcessNumbers numbers;
  for (const Evidence& evidence : real.benchmarks) {
    const std::string claim = claim_of(evidence);
    for (const Line& line : lines_of(evidence, numbers, everything)) {
      rows.write_time(evidence, line, value_of(cpu, evidence, *line.record), claim);
    }
    if (everything) rows.write_troubles(evidence);
  }
  out << "\n ]\n}\n";
}

}  // namespace

void write_baseline(std::ostream& out, const Side& real, const Side& cpu) { write(out, real, cpu, false); }

void write_summary(std::ostream& out, const Side& real, const Side& cpu) { write(out, real, cpu, true); }

}  // namespace strictbench
