#include "report/side_reader.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <set>
#include <utility>

#include "report/error.h"
#include "report/text.h"

namespace strictbench {
namespace {

constexpr double no_session = -1;

/// What a time can be, for every reader of the project: a picosecond to a billion seconds.
bool is_a_time(double nanoseconds) { return nanoseconds >= 1e-3 && nanoseconds <= 1e18; }

bool begins_with(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() > end.size() && text.substr(text.size() - end.size()) == end;
}

/// "_mean" and the like at the end of a name, without the underscore; empty where there is none.
std::string_view summary_suffix(std::string_view name) {
  constexpr std::array<std::string_view, 6> suffixes{"mean", "median", "stddev", "cv", "BigO", "RMS"};
  for (const std::string_view suffix : suffixes) {
    if (ends_with(name, suffix) && name[name.size() - suffix.size() - 1] == '_' &&
        name.size() > suffix.size() + 1) {
      return name.substr(name.size() - suffix.size());
    }
  }
  return {};
}

/// The name of the benchmark that a summary row is about.
std::string subject_of(const BenchmarkRow& row) {
  if (!row.run_name.empty()) return row.run_name;
  const std::string& suffix = row.aggregate_name;
  if (!suffix.empty() && ends_with(row.name, "_" + suffix)) {
    return row.name.substr(0, row.name.size() - suffix.size() - 1);
  }
  return row.name;
}

void count(std::size_t& counter, std::string& first, const std::string& message) {
  if (counter++ == 0) first = message;
}

std::string text_of(const Context& context, const std::string& key) {
  const auto found = context.find(key);
  return found == context.end() ? std::string() : found->second;
}

}  // namespace

std::size_t SideReader::ProcessKeyHash::operator()(const ProcessKey& key) const {
  const std::size_t a = std::hash<const void*>{}(key.evidence);
  const std::size_t b = std::hash<double>{}(key.number);
  return a ^ (b * 0x9E3779B97F4A7C15U) ^ (std::size_t{key.session} << 20U);
}

SideReader::SideReader(Side& side, std::string metric) : side_(side), metric_(std::move(metric)) {}

void SideReader::read_file(const std::string& path) {
  source_ = static_cast<std::uint32_t>(side_.sources.size());
  side_.sources.push_back({path, {}});
  sessions_.clear();
  processes_.clear();
  old_summaries_.clear();
  operators_.clear();
  operator_.clear();
  const std::size_t rows_before = side_.rows_read;
  FileFacts facts = read_benchmark_file(path, metric_, [this](BenchmarkRow& row) { take(row); });
  side_.sources.back().context = std::move(facts.context);
  require_once(path, facts.digest, side_.rows_read > rows_before);
  take_old_summaries();
  name_sessions();
  mark_published();
}

void SideReader::require_once(const std::string& path, std::size_t digest, bool has_rows) {
  // A link to another process's file, or a copy of its folder: a process would count as many, all of which
  // agree. Files of others say nothing of processes, and may be alike.
  if (!has_rows || text_of(side_.sources.back().context, "process_index").empty()) return;
  const auto [other, is_new] = digests_.emplace(digest, path);
  if (!is_new)
    throw UsageError(printable(path) + ": holds the same bytes as " + printable(other->second) +
                     ", and one process must not count as two; name it once");
}

void SideReader::take(BenchmarkRow& row) {
  ++side_.rows_read;
  side_.with_metric += row.has_metric ? 1 : 0;
  if (const std::size_t slash = row.name.find('/'); slash != std::string::npos) {
    const std::string_view its = std::string_view(row.name).substr(0, slash);
    if (its != operator_) operator_ = *operators_.emplace(its).first;
  }
  if (row.complexity) {
    ++side_.summaries;
  } else if (row.run_type == "aggregate") {
    take_summary(row);
  } else if (row.run_type.empty() && !summary_suffix(row.name).empty()) {
    old_summaries_.push_back(row);
  } else {
    take_number(side_.find_or_add(row.name), row);
  }
}

void SideReader::take_old_summaries() {
  // Before run_type existed a summary was known by its name alone. Google Benchmark always wrote the mean and
  // the deviation together; a benchmark that merely ends in "_mean" has no sibling "_stddev".
  std::set<std::string> means;
  std::set<std::string> deviations;
  for (BenchmarkRow& row : old_summaries_) {
    row.aggregate_name = summary_suffix(row.name);
    if (row.aggregate_name == "mean") means.insert(subject_of(row));
    if (row.aggregate_name == "stddev") deviations.insert(subject_of(row));
  }
  for (BenchmarkRow& row : old_summaries_) {
    const std::string subject = subject_of(row);
    const bool fit = row.aggregate_name == "BigO" || row.aggregate_name == "RMS";
    if (!fit && means.count(subject) != 0 && deviations.count(subject) != 0) {
      take_summary(row);
    } else {
      take_number(side_.find_or_add(row.name), row);
    }
  }
  old_summaries_.clear();
}

void SideReader::take_summary(BenchmarkRow& row) {
  const bool is_median = row.aggregate_name == "median";
  if (!is_median && row.aggregate_name != "mean") {
    ++side_.summaries;
    return;
  }
  Evidence& evidence = side_.find_or_add(subject_of(row));
  if (take_trouble(evidence, row)) return;  // and is counted there
  ++side_.summaries;
  ProcessRecord& process = process_of(evidence, row);
  const double value = scaled(evidence, row);
  (is_median ? process.median_aggregate : process.mean_aggregate) = value;
  process.suspect_aggregate = process.suspect_aggregate || row.suspect > 0;
}

void SideReader::take_number(Evidence& evidence, const BenchmarkRow& row) {
  if (row.provenance == "published") evidence.published = true;
  if (take_trouble(evidence, row)) return;
  take_claim(evidence, row);
  ProcessRecord& process = process_of(evidence, row);
  const double value = scaled(evidence, row);
  if (is_a_time(row.floor_us * 1e3)) process.floor = row.floor_us * 1e3;
  if (row.suspect == 1) {
    ++process.suspect;
    ++side_.suspect;
    if (!std::isnan(value)) process.suspect_samples.push_back(value);
    return;
  }
  if (std::isnan(value)) {
    const std::string what = std::isnan(row.metric)
                                 ? (row.has_metric ? "NaN, infinite or no number" : "absent")
                                 : "zero, negative or out of range";
    count(evidence.trouble().failed, evidence.trouble().failed_message, metric_ + " is " + what);
    return;
  }
  evidence.checked += row.check == 1 ? 1 : 0;
  process.samples.push_back(value);
  if (row.samples >= 1 && row.samples < 1e15)
    process.recorded_samples += static_cast<std::size_t>(row.samples);
}

bool SideReader::take_trouble(Evidence& evidence, const BenchmarkRow& row) {
  if (row.error_occurred) {
    if (begins_with(row.error_message, "check failed:")) {
      count(evidence.trouble().wrong, evidence.trouble().wrong_message, row.error_message);
    } else if (begins_with(row.error_message, "skipped:")) {
      count(evidence.trouble().skipped, evidence.trouble().skipped_message, row.error_message);
    } else {
      count(evidence.trouble().failed, evidence.trouble().failed_message,
            row.error_message.empty() ? "an error without a message" : row.error_message);
    }
    return true;
  }
  if (row.skipped) {
    count(evidence.trouble().skipped, evidence.trouble().skipped_message, row.skip_message);
    return true;
  }
  if (row.check == 0 && !timer_of(row.name).empty()) {
    count(evidence.trouble().wrong, evidence.trouble().wrong_message, "check failed: the row's check is 0");
    return true;
  }
  return false;
}

void SideReader::take_claim(Evidence& evidence, const BenchmarkRow& row) {
  // The weakest claim of any row is the benchmark's.
  if (!std::isnan(row.tolerance)) evidence.tolerance = std::max(evidence.tolerance, std::abs(row.tolerance));
  evidence.relative_error = std::fmax(evidence.relative_error, row.relative_error);
  evidence.control = evidence.control || row.control == 1;
}

double SideReader::scaled(Evidence& evidence, const BenchmarkRow& row) const {
  Unit unit = Unit::plain;
  double factor = 1;
  if (metric_ == "real_time" || metric_ == "cpu_time") {
    unit = Unit::time;
    // Google Benchmark's default, where a file states none.
    if (row.time_unit == "us") {
      factor = 1e3;
    } else if (row.time_unit == "ms") {
      factor = 1e6;
    } else if (row.time_unit == "s") {
      factor = 1e9;
    } else if (!row.time_unit.empty() && row.time_unit != "ns") {
      unit = Unit::unknown;
    }
  } else if (ends_with(metric_, "_per_second")) {
    unit = Unit::rate;
  }
  if (!evidence.unit_known) {
    evidence.unit_known = true;
    evidence.unit = unit;
    if (unit == Unit::unknown) evidence.unit_name = row.time_unit;
  } else if (evidence.unit != unit || (unit == Unit::unknown && evidence.unit_name != row.time_unit)) {
    evidence.units_differ = true;
  }
  const double value = row.metric * factor;
  const bool usable = unit == Unit::time ? is_a_time(value) : std::isfinite(value) && value > 0;
  return usable ? value : no_number;
}

ProcessRecord& SideReader::process_of(Evidence& evidence, const BenchmarkRow& row) {
  const double number = std::isfinite(row.process) ? row.process : 0;
  const std::uint32_t session = session_of(row);
  std::vector<ProcessRecord>& all = evidence.processes;
  const bool seen = !all.empty() && all.back().source == source_;
  if (seen && all.back().number == number && all.back().session == session) return all.back();
  // Rows of a process mostly stand together; the table for those that do not starts at the second process.
  const auto remember = [&](std::size_t at) {
    processes_.emplace(ProcessKey{&evidence, all[at].session, all[at].number}, at);
  };
  if (seen) {
    const auto found = processes_.find({&evidence, session, number});
    if (found != processes_.end()) return all[found->second];
    remember(all.size() - 1);
  }
  ProcessRecord& process = all.emplace_back();
  process.number = number;
  process.source = source_;
  process.session = session;
  if (seen) remember(all.size() - 1);
  return process;
}

std::uint32_t SideReader::session_of(const BenchmarkRow& row) {
  const double number = std::isfinite(row.session) ? row.session : no_session;
  const auto [place, added] =
      sessions_.try_emplace(number, static_cast<std::uint32_t>(side_.sessions.size()));
  if (added) side_.sessions.emplace_back();
  return place->second;
}

void SideReader::name_sessions() {
  const Source& source = side_.sources.back();
  for (const auto& [number, at] : sessions_) {
    Session& session = side_.sessions[at];
    const bool numbered = number != no_session;
    const auto own = [&, number = number](const std::string& key) {
      if (!numbered || number < 0 || number > 1e9) return std::string();
      return text_of(source.context, "session." + std::to_string(static_cast<long>(number)) + "." + key);
    };
    // What the file states for all of it tells several numbered sessions not apart.
    const auto stated = [&](const std::string& key, bool identifies) {
      const std::string text = own(key);
      const bool shared = text.empty() && !(identifies && sessions_.size() > 1);
      return shared ? text_of(source.context, key) : text;
    };
    session.boot_id = stated("boot_id", true);
    session.gpu_uuid = stated("gpu_uuid", true);
    session.date = stated("date", false);
    if (numbered) session.label = source.path + "\n" + fixed(number, 0);
  }
}

void SideReader::mark_published() {
  // A file may say it once for all its rows.
  if (text_of(side_.sources.back().context, "provenance") != "published") return;
  for (Evidence& evidence : side_.benchmarks) {
    if (!evidence.processes.empty() && evidence.processes.back().source == source_) evidence.published = true;
  }
}

void SideReader::add_failure(const std::string& name, const std::string& reason) {
  Troubles& troubles = side_.find_or_add(name).trouble();
  count(troubles.failed, troubles.failed_message, reason);
}

void SideReader::finish() {
  std::map<std::string, std::uint32_t> first_of;
  std::vector<std::uint32_t> place(side_.sessions.size());
  std::vector<Session> merged;
  for (std::size_t i = 0; i < side_.sessions.size(); ++i) {
    const Session& session = side_.sessions[i];
    const bool stated = !session.boot_id.empty() || !session.gpu_uuid.empty();
    const std::string identity =
        stated ? "stated\n" + session.boot_id + "\n" + session.gpu_uuid : session.label;
    const auto [entry, added] = first_of.try_emplace(identity, static_cast<std::uint32_t>(merged.size()));
    if (added) merged.push_back(session);
    place[i] = entry->second;
  }
  for (Evidence& evidence : side_.benchmarks) {
    for (ProcessRecord& process : evidence.processes) {
      process.session = place[process.session];
      // Beside single rows the aggregate says nothing new; alone it says that it is no fair one.
      if (!process.suspect_aggregate || !process.samples.empty() || process.suspect > 0) continue;
      ++process.suspect;
      ++side_.suspect;
      --side_.summaries;  // it stands for the process here, and each row is counted once
    }
  }
  side_.sessions = std::move(merged);
}

}  // namespace strictbench
