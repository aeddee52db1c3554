/// Writes committed baselines.
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

namespace strictbench {
namespace {

/// Keys of the context that a comparison or its reader needs, written once where all sources agree.
constexpr std::array<const char*, 12> shared_keys{
    "host_name", "num_cpus",   "gpu_name",  "gpu_sm_count", "driver_version",   "cuda_version",
    "compiler",  "build_type", "cpu_model", "sm_clock_mhz", "memory_clock_mhz", "power_limit_w"};
constexpr std::array<const char*, 4> session_keys{"gpu_uuid", "boot_id", "git_commit", "date"};

/// A JSON string; what is not UTF-8 was not read from JSON and is replaced.
std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
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
  const ProcessRecord* record;
};

std::vector<Line> lines_of(const Evidence& evidence, ProcessNumbers& numbers) {
  const std::string op = parse_row_name(evidence.name).op;
  std::vector<Line> lines;
  for (const ProcessRecord& record : evidence.processes) {
    const std::size_t number = numbers.of(record, op);
    if (!std::isnan(record.value())) lines.push_back({record.session, number, &record});
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
        candidate.number == record.number)
      return candidate.value();
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

void write_context(std::ostream& out, const Side& side) {
  const char* separator = "\n  ";
  const auto write = [&](const std::string& key, const std::string& value) {
    if (value.empty()) return;
    out << separator << quoted(key) << ": " << quoted(value);
    separator = ",\n  ";
  };
  out << "{\n \"context\": {";
  std::vector<std::string> dates;
  for (const Session& session : side.sessions) dates.push_back(session.date);
  write("date", *std::max_element(dates.begin(), dates.end()));
  for (const char* key : shared_keys) {
    const std::vector<std::string> values = stated_values(side, key);
    if (values.size() == 1) write(key, values.front());
  }
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
  out << "\n },\n";
}

}  // namespace

void write_baseline(std::ostream& out, const Side& real, const Side& cpu) {
  write_context(out, real);
  out << " \"benchmarks\": [";
  const char* separator = "\n  ";
  ProcessNumbers numbers;
  for (const Evidence& evidence : real.benchmarks) {
    const std::string claim = claim_of(evidence);
    for (const Line& line : lines_of(evidence, numbers)) {
      const double cpu_time = value_of(cpu, evidence, *line.record);
      const std::size_t samples = std::max(line.record->samples.size(), line.record->recorded_samples);
      out << separator << "{\"name\": " << quoted(evidence.name)
          << ", \"run_name\": " << quoted(evidence.name)
          << ", \"run_type\": \"iteration\", \"iterations\": 1, \"real_time\": "
          << short_number(line.record->value())
          << ", \"cpu_time\": " << (std::isnan(cpu_time) ? "0" : short_number(cpu_time))
          << ", \"time_unit\": \"ns\", \"process\": " << line.process << ", \"session\": " << line.session + 1
          << ", \"samples\": " << samples << claim << "}";
      separator = ",\n  ";
    }
  }
  out << "\n ]\n}\n";
}

}  // namespace strictbench
