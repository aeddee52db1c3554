#include "bench/strictbench/run_record.h"

#include <algorithm>
#include <cctype>
#include <limits>

#include "bench/strictbench/files.h"
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
  json.at("processes").get_to(options.processes);
  options.most_processes = json.value("most_processes", options.processes);
  json.at("budget").get_to(options.budget_seconds);
  json.at("timeout").get_to(options.timeout_seconds);
  json.at("allow_debug").get_to(options.allow_debug);
  json.at("executables").get_to(options.executables);
  options.kernels = json.value("kernels", false);
  options.flags = json.value("flags", std::vector<std::string>{});
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
  json.at("process").get_to(process.process);
  // Made anew, not read: a name in a file must not decide where something is written.
  process.file = process.operator_name + "." + std::to_string(process.process) + ".json";
  json.at("status").get_to(process.status);
  if (json.contains("exit_code")) process.exit_code = json["exit_code"].get<int>();
  if (json.contains("signal")) process.signal = json["signal"].get<int>();
  process.reason = json.value("reason", "");
  json.at("seconds").get_to(process.seconds);
  process.restarts = json.value("restarts", std::vector<std::string>{});
  json.at("cases").get_to(process.cases);
  for (const Json& problem : json.value("problems", Json::array())) {
    process.problems.push_back({problem.at("case").get<std::string>(), problem.at("state").get<CaseState>(),
                                problem.at("reason").get<std::string>()});
  }
  if (json.contains("watched")) {
    const Json& watched = json["watched"];
    watched.at("samples").get_to(process.suspects.samples);
    watched.at("suspect").get_to(process.suspects.suspect);
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

ProcessRecord kernels_from(Json json) {
  json["process"] = 0;
  ProcessRecord process = process_from(json);
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

/// An operator's name becomes a part of file names: of results, and of what is started.
void require_plain(const std::string& operator_name) {
  const bool plain = !operator_name.empty() && std::ranges::all_of(operator_name, [](unsigned char c) {
    return std::isalnum(c) || c == '_';
  });
  if (!plain)
    throw UsageError("'" + operator_name + "' is no name of an operator: letters, digits and '_' are");
}

void require_known(const RunRecord& record, const ProcessRecord& process) {
  if (record.executables.contains(process.operator_name)) return;
  throw UsageError("a process measures '" + process.operator_name + "', which is not among its executables");
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
  json.at("seed").get_to(record.seed);
  json.at("runner_pid").get_to(record.runner_pid);
  record.options = options_from(json.at("options"));
  record.build = json.at("build");
  for (const auto& [name, executable] : json.at("executables").items()) {
    require_plain(name);
    record.executables[name] = {executable.at("sha256").get<std::string>(),
                                executable.at("device").get<std::string>(),
                                executable.value("gpu_name", ""),
                                {}};
  }
  record.machine_before = json.at("machine").at("before");
  json.at("notes").get_to(record.notes);
  if (json.contains("evidence")) record.evidence = evidence_from(json["evidence"]);
  record.not_selected = json.value("not_selected", std::vector<std::string>{});
  for (const Json& process : json.at("processes")) {
    record.processes.push_back(process_from(process));
    const ProcessRecord& last = record.processes.back();
    require_known(record, last);
    const auto executable = record.executables.find(last.operator_name);
    // The first process of an operator is to measure every case, later ones may have fewer.
    std::vector<std::string>& cases = executable->second.cases;
    if (last.cases.size() > cases.size()) cases = last.cases;
  }
  for (const Json& process : json.value("kernels", Json::array())) {
    record.kernels.push_back(kernels_from(process));
    require_known(record, record.kernels.back());
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
    throw UsageError(printable(path.string() + " is not the record of a run: " + error.what()));
  }
}

}  // namespace strictbench::runner
