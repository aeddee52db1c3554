#include "bench/strictbench/run_record.h"

#include <algorithm>
#include <limits>

#include "bench/strictbench/files.h"
#include "bench/strictbench/record_checks.h"
#include "bench/strictbench/rows.h"
#include "report/error.h"
#include "report/input_file.h"
#include "report/json_source.h"
#include "report/text.h"

namespace strictbench::runner {

using Json = nlohmann::ordered_json;

// The first pair of each list is also what an unknown word reads as: the one that gets measured again.
NLOHMANN_JSON_SERIALIZE_ENUM(ProcessStatus, {{ProcessStatus::pending, "pending"},
                                             {ProcessStatus::running, "running"},
                                             {ProcessStatus::ok, "ok"},
                                             {ProcessStatus::failed, "failed"},
                                             {ProcessStatus::crashed, "crashed"},
                                             {ProcessStatus::timed_out, "timed_out"}})
NLOHMANN_JSON_SERIALIZE_ENUM(RunStatus, {{RunStatus::running, "running"},
                                         {RunStatus::complete, "complete"},
                                         {RunStatus::interrupted, "interrupted"}})
NLOHMANN_JSON_SERIALIZE_ENUM(CaseState, {{CaseState::failed, "failed"},
                                         {CaseState::measured, "measured"},
                                         {CaseState::skipped, "skipped"},
                                         {CaseState::wrong, "wrong"}})

namespace {

constexpr int format_version = 1;

Json to_json(const RunOptions& options) {
  Json json{{"processes", options.processes},     {"most_processes", options.most_processes},
            {"budget", options.budget_seconds},   {"timeout", options.timeout_seconds},
            {"allow_debug", options.allow_debug}, {"executables", options.executables}};
  if (!options.filter.empty()) json["filter"] = options.filter;
  if (!options.device.empty()) json["device"] = options.device;
  if (options.kernels) json["kernels"] = true;
  if (!options.flags.empty()) json["flags"] = options.flags;
  return json;
}

RunOptions options_from(const Json& json) {
  RunOptions options;
  options.filter = text_if_any(json, "filter");
  options.device = text_if_any(json, "device");
  options.processes = whole_number(json, "processes", 1, most_rounds);
  options.most_processes = options.processes;
  if (json.contains("most_processes"))
    options.most_processes = whole_number(json, "most_processes", options.processes, most_rounds);
  options.budget_seconds = finite_number(json, "budget", std::numeric_limits<double>::min());
  options.timeout_seconds = finite_number(json, "timeout", std::numeric_limits<double>::min());
  options.allow_debug = flag_of(json, "allow_debug");
  options.executables = text_of(json, "executables");
  options.kernels = flag_if_any(json, "kernels");
  options.flags = texts_if_any(json, "flags");
  std::ranges::for_each(options.flags, require_own_flag);
  return options;
}

Json to_json(const ProcessRecord& process) {
  Json json{{"operator", process.operator_name},
            {"process", process.process},
            {"file", process.file},
            {"status", process.status}};
  if (process.exit_code) json["exit_code"] = *process.exit_code;
  if (process.signal) json["signal"] = *process.signal;
  if (!process.reason.empty()) json["reason"] = process.reason;
  json["seconds"] = process.seconds;
  if (!process.restarts.empty()) json["restarts"] = process.restarts;
  json["cases"] = process.cases;
  for (const Problem& problem : process.problems) {
    json["problems"].push_back(
        {{"case", problem.name}, {"state", problem.state}, {"reason", problem.reason}});
  }
  if (const Suspects& watched = process.suspects; watched.samples > 0) {
    json["watched"] = {{"samples", watched.samples}, {"suspect", watched.suspect}};
    if (watched.suspect > 0) json["watched"]["why"] = watched.why;
  }
  return json;
}

/// A word of a list; one that is not in it reads as the list's first.
template <typename Word>
Word word_of(const Json& json, const char* key) {
  return Json(text_of(json, key)).get<Word>();
}

ProcessRecord process_from(const Json& json) {
  ProcessRecord process;
  process.operator_name = text_of(json, "operator");
  process.process = whole_number(json, "process", 0, most_rounds);
  // Made anew, not read: a name in a file must not decide where something is written.
  process.file = process.operator_name + "." + std::to_string(process.process) + ".json";
  process.status = word_of<ProcessStatus>(json, "status");
  if (json.contains("exit_code")) process.exit_code = whole_number(json, "exit_code", 0, 255);
  if (json.contains("signal")) process.signal = whole_number(json, "signal", 1, 127);
  process.reason = text_if_any(json, "reason");
  process.seconds = finite_number(json, "seconds", 0);
  process.restarts = texts_if_any(json, "restarts");
  process.cases = texts_of(json, "cases");
  if (std::ranges::find(process.cases, "") != process.cases.end())
    throw UsageError("it lists a case without a name");
  for (const Json& problem : array_if_any(json, "problems")) {
    process.problems.push_back(
        {text_of(problem, "case"), word_of<CaseState>(problem, "state"), text_of(problem, "reason")});
  }
  if (json.contains("watched")) {
    const Json& watched = object_of(json, "watched");
    constexpr std::size_t most = std::numeric_limits<std::uint32_t>::max();
    process.suspects.samples = whole_number<std::size_t>(watched, "samples", 0, most);
    process.suspects.suspect = whole_number<std::size_t>(watched, "suspect", 0, process.suspects.samples);
    if (watched.contains("why")) {
      const Json& why = object_of(watched, "why");
      for (const auto& [reason, count] : why.items())
        process.suspects.why[reason] = whole_number<std::size_t>(why, reason.c_str(), 0, most);
    }
  }
  return process;
}

/// A process that records kernels is the only one of its operator.
Json kernels_to_json(const ProcessRecord& process) {
  Json json = to_json(process);
  json.erase("process");
  return json;
}

ProcessRecord kernels_from(const Json& json) {
  Json whole = json;
  if (whole.is_object()) whole["process"] = 0U;
  ProcessRecord process = process_from(whole);
  process.file = process.operator_name + ".kernels.json";
  return process;
}

Json to_json(const EvidenceRecord& evidence) {
  Json json{{"stopped_early", evidence.stopped_early}, {"wide", Json::array()}};
  for (const CaseWidth& wide : evidence.wide) {
    // An infinite width becomes null: nothing is known.
    json["wide"].push_back({{"case", wide.name}, {"half_width", wide.half_width}});
  }
  return json;
}

EvidenceRecord evidence_from(const Json& json) {
  EvidenceRecord evidence;
  constexpr std::size_t most = std::numeric_limits<std::uint32_t>::max();
  evidence.stopped_early = whole_number<std::size_t>(json, "stopped_early", 0, most);
  for (const Json& wide : array_of(json, "wide")) {
    const bool known = !member_of(wide, "half_width").is_null();
    evidence.wide.push_back({text_of(wide, "case"), known ? finite_number(wide, "half_width", 0)
                                                          : std::numeric_limits<double>::infinity()});
  }
  return evidence;
}

Json to_json(const RunRecord& record) {
  Json json{{"format", format_version},
            {"status", record.status},
            {"command", record.command},
            {"started_utc", record.started_utc}};
  if (!record.finished_utc.empty()) json["finished_utc"] = record.finished_utc;
  if (!record.commit.empty()) json["commit"] = record.commit;
  if (!record.commit.empty()) json["dirty"] = record.dirty;
  json["device"] = record.device;
  if (!record.gpu_name.empty()) json["gpu_name"] = record.gpu_name;
  if (!record.side.empty()) json["side"] = record.side;
  json["seed"] = record.seed;
  json["runner_pid"] = record.runner_pid;
  json["options"] = to_json(record.options);
  json["build"] = record.build;
  for (const auto& [name, executable] : record.executables) {
    Json& entry = json["executables"][name];
    entry = {{"sha256", executable.sha256}, {"device", executable.device}};
    if (!executable.gpu_name.empty()) entry["gpu_name"] = executable.gpu_name;
  }
  json["machine"] = {{"before", record.machine_before}};
  if (!record.machine_after.is_null()) json["machine"]["after"] = record.machine_after;
  json["notes"] = record.notes;
  if (record.evidence) json["evidence"] = to_json(*record.evidence);
  json["not_selected"] = record.not_selected;
  json["processes"] = Json::array();
  for (const ProcessRecord& process : record.processes) json["processes"].push_back(to_json(process));
  for (const ProcessRecord& process : record.kernels) json["kernels"].push_back(kernels_to_json(process));
  return json;
}

void require_known(const RunRecord& record, const ProcessRecord& process) {
  if (record.executables.contains(process.operator_name)) return;
  throw UsageError("a process measures '" + process.operator_name + "', which is not among its executables");
}

/// Adds what `read` makes of `json`. Throws UsageError that says which entry is wrong, and why.
ProcessRecord& add_process(const RunRecord& record, std::vector<ProcessRecord>& processes, const char* array,
                           const Json& json, ProcessRecord (*read)(const Json&)) {
  const std::string where = std::string("\"") + array + "\"[" + std::to_string(processes.size()) + "]: ";
  try {
    ProcessRecord process = read(json);
    require_own_file(json, process.file);
    require_known(record, process);
    // Told apart by these two alone: of a pair one would be measured for ever and never be done.
    const bool twice = std::ranges::any_of(processes, [&](const ProcessRecord& other) {
      return other.operator_name == process.operator_name && other.process == process.process;
    });
    if (twice) throw UsageError(process.file + " is there twice");
    return processes.emplace_back(std::move(process));
  } catch (const std::exception& error) {
    throw UsageError(where + plain_words(error));
  }
}

RunRecord record_from(const Json& json) {
  RunRecord record;
  if (member_of(json, "format") != format_version) throw UsageError("it was written by another version");
  record.status = word_of<RunStatus>(json, "status");
  record.command = texts_of(json, "command");
  record.started_utc = text_of(json, "started_utc");
  record.commit = text_if_any(json, "commit");
  record.dirty = flag_if_any(json, "dirty");
  record.device = text_of(json, "device");
  record.gpu_name = text_if_any(json, "gpu_name");
  record.side = text_if_any(json, "side");
  record.seed = whole_number<std::uint64_t>(json, "seed", 0, std::numeric_limits<std::uint64_t>::max());
  record.runner_pid = whole_number(json, "runner_pid", 0, std::numeric_limits<int>::max());
  record.options = options_from(object_of(json, "options"));
  record.build = member_of(json, "build");
  for (const auto& [name, executable] : object_of(json, "executables").items()) {
    require_plain(name);
    object_of(json["executables"], name.c_str());
    record.executables[name] = {text_of(executable, "sha256"),
                                text_of(executable, "device"),
                                text_if_any(executable, "gpu_name"),
                                {}};
  }
  record.machine_before = object_of(object_of(json, "machine"), "before");
  require_machine(record.machine_before);
  record.notes = texts_of(json, "notes");
  if (json.contains("evidence")) record.evidence = evidence_from(object_of(json, "evidence"));
  record.not_selected = texts_if_any(json, "not_selected");
  for (const Json& process : array_of(json, "processes")) {
    const ProcessRecord& last = add_process(record, record.processes, "processes", process, process_from);
    const auto executable = record.executables.find(last.operator_name);
    // The first process of an operator is to measure every case, later ones may have fewer.
    std::vector<std::string>& cases = executable->second.cases;
    if (last.cases.size() > cases.size()) cases = last.cases;
  }
  for (const Json& process : array_if_any(json, "kernels")) {
    add_process(record, record.kernels, "kernels", process, kernels_from);
  }
  return record;
}

}  // namespace

void save(const RunRecord& record, const std::filesystem::path& folder) {
  // What a crashed program wrote need not be UTF-8; a record that says so imperfectly beats none.
  write_whole(folder / "run.json",
              to_json(record).dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

RunRecord load(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "run.json";
  const std::string text = read_input(path.string());
  try {
    require_shallow(text);  // parts of it are copied and written as they are
    return record_from(Json::parse(text));
  } catch (const std::exception& error) {
    throw UsageError(printable(path.string() + " is not the record of a run: " + plain_words(error)));
  }
}

}  // namespace strictbench::runner
