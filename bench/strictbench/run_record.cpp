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
  options.filter = json.value("filter", "");
  options.device = json.value("device", "");
  options.processes = whole_number(json, "processes", 1, most_rounds);
  options.most_processes = options.processes;
  if (json.contains("most_processes"))
    options.most_processes = whole_number(json, "most_processes", options.processes, most_rounds);
  options.budget_seconds = finite_number(json, "budget", std::numeric_limits<double>::min());
  options.timeout_seconds = finite_number(json, "timeout", std::numeric_limits<double>::min());
  json.at("allow_debug").get_to(options.allow_debug);
  json.at("executables").get_to(options.executables);
  options.kernels = json.value("kernels", false);
  options.flags = json.value("flags", std::vector<std::string>{});
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

ProcessRecord process_from(const Json& json) {
  ProcessRecord process;
  json.at("operator").get_to(process.operator_name);
  process.process = whole_number(json, "process", 0, most_rounds);
  // Made anew, not read: a name in a file must not decide where something is written.
  process.file = process.operator_name + "." + std::to_string(process.process) + ".json";
  json.at("status").get_to(process.status);
  if (json.contains("exit_code")) process.exit_code = whole_number(json, "exit_code", 0, 255);
  if (json.contains("signal")) process.signal = whole_number(json, "signal", 1, 127);
  process.reason = json.value("reason", "");
  process.seconds = finite_number(json, "seconds", 0);
  process.restarts = json.value("restarts", std::vector<std::string>{});
  json.at("cases").get_to(process.cases);
  for (const Json& problem : json.value("problems", Json::array())) {
    process.problems.push_back({problem.at("case").get<std::string>(), problem.at("state").get<CaseState>(),
                                problem.at("reason").get<std::string>()});
  }
  if (json.contains("watched")) {
    const Json& watched = json["watched"];
    constexpr std::size_t most = std::numeric_limits<std::uint32_t>::max();
    process.suspects.samples = whole_number<std::size_t>(watched, "samples", 0, most);
    process.suspects.suspect = whole_number<std::size_t>(watched, "suspect", 0, process.suspects.samples);
    process.suspects.why = watched.value("why", std::map<std::string, std::size_t>{});
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
  whole["process"] = 0U;
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
  json.at("stopped_early").get_to(evidence.stopped_early);
  for (const Json& wide : json.at("wide")) {
    const Json& width = wide.at("half_width");
    evidence.wide.push_back({wide.at("case").get<std::string>(), width.is_null()
                                                                     ? std::numeric_limits<double>::infinity()
                                                                     : width.get<double>()});
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
  if (json.at("format") != format_version) throw UsageError("it was written by another version");
  json.at("status").get_to(record.status);
  json.at("command").get_to(record.command);
  json.at("started_utc").get_to(record.started_utc);
  record.commit = json.value("commit", "");
  record.dirty = json.value("dirty", false);
  json.at("device").get_to(record.device);
  record.gpu_name = json.value("gpu_name", "");
  record.side = json.value("side", "");
  record.seed = whole_number<std::uint64_t>(json, "seed", 0, std::numeric_limits<std::uint64_t>::max());
  record.runner_pid = whole_number(json, "runner_pid", 0, std::numeric_limits<int>::max());
  record.options = options_from(object_of(json, "options"));
  record.build = json.at("build");
  for (const auto& [name, executable] : object_of(json, "executables").items()) {
    require_plain(name);
    object_of(json["executables"], name.c_str());
    record.executables[name] = {executable.at("sha256").get<std::string>(),
                                executable.at("device").get<std::string>(),
                                executable.value("gpu_name", ""),
                                {}};
  }
  record.machine_before = object_of(object_of(json, "machine"), "before");
  require_machine(record.machine_before);
  json.at("notes").get_to(record.notes);
  if (json.contains("evidence")) record.evidence = evidence_from(json["evidence"]);
  record.not_selected = json.value("not_selected", std::vector<std::string>{});
  for (const Json& process : json.at("processes")) {
    const ProcessRecord& last = add_process(record, record.processes, "processes", process, process_from);
    const auto executable = record.executables.find(last.operator_name);
    // The first process of an operator is to measure every case, later ones may have fewer.
    std::vector<std::string>& cases = executable->second.cases;
    if (last.cases.size() > cases.size()) cases = last.cases;
  }
  for (const Json& process : json.value("kernels", Json::array())) {
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
