/// Reads the paths of one side: result folders with their run.json, and single files.
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "report/error.h"
#include "report/input_file.h"
#include "report/json_source.h"
#include "report/results.h"
#include "report/row_name.h"
#include "report/side_reader.h"
#include "report/text.h"

namespace strictbench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// A process as run.json lists it.
struct ListedProcess {
  std::string operator_name;
  std::string title;  // "row_fold, process 3"
  std::string file;
  std::string status;
  std::string reason;
  std::vector<std::string> cases;
  std::map<std::string, std::string> failed;  // cases of which it left no usable row, and why
  bool told = false;                          // by a case that failed or is wrong
  bool read = false;
};

[[noreturn]] void refuse(const fs::path& file, const std::string& what) {
  throw UsageError(printable(file.string()) + ": " + what);
}

std::string text_of(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

json read_run(const fs::path& file) {
  std::string text = read_input(file.string());
  mend_json(text);
  try {
    require_shallow(text);
    json run = json::parse(text);
    if (run.is_object() && run.contains("processes") && run["processes"].is_array()) return run;
  } catch (const UsageError& error) {
    refuse(file, std::string(error.what()) + "; give a result folder that strictbench run wrote");
  } catch (const json::parse_error& error) {
    refuse(file, "not valid JSON at byte " + std::to_string(error.byte) +
                     "; give a result folder that strictbench run wrote");
  } catch (const json::exception&) {
    refuse(file, "holds what no JSON document can; give a result folder that strictbench run wrote");
  }
  refuse(file, "holds no \"processes\" array (byte 0); give a result folder that strictbench run wrote");
}

ListedProcess listed_process(const json& entry, const fs::path& file, std::size_t at) {
  const std::string where = "\"processes\"[" + std::to_string(at) + "]";
  if (!entry.is_object()) refuse(file, where + " is not an object");
  ListedProcess process;
  process.file = text_of(entry, "file");
  process.status = text_of(entry, "status");
  process.reason = text_of(entry, "reason");
  if (process.status.empty()) refuse(file, where + " has no status");
  if (!process.file.empty() && !names_file_in_folder(process.file)) {
    refuse(file, where + " names a file outside the folder: " + printable(process.file));
  }
  process.operator_name = text_of(entry, "operator");
  process.title = process.operator_name;
  if (const auto index = entry.find("process"); index != entry.end() && index->is_number_integer()) {
    process.title += ", process " + index->dump();
  }
  if (const auto cases = entry.find("cases"); cases != entry.end() && cases->is_array()) {
    for (const json& name : *cases) {
      if (!name.is_string()) continue;
      if (name == "") refuse(file, where + " lists a case without a name");
      process.cases.push_back(name.get<std::string>());
    }
  }
  if (const auto problems = entry.find("problems"); problems != entry.end() && problems->is_array()) {
    for (const json& problem : *problems) {
      if (!problem.is_object()) continue;
      const std::string state = text_of(problem, "state");
      process.told = process.told || state == "failed" || state == "wrong";
      if (state == "failed") process.failed[text_of(problem, "case")] = text_of(problem, "reason");
    }
  }
  return process;
}

/// Whether the run ended before the process did, or before it began.
bool not_measured(const ListedProcess& process) {
  return process.status == "pending" || process.status == "running";
}

/// "row_fold, process 3 crashed: signal 11".
std::string fate_of(const ListedProcess& process) {
  std::string fate = process.title;
  if (not_measured(process)) {
    fate += " was not measured";
  } else if (process.status == "timed_out") {
    fate += " timed out";
  } else {
    fate += " " + process.status;
  }
  return process.reason.empty() ? fate : fate + ": " + process.reason;
}

/// What a process came to on one case: it may have died of several, and gone on behind each.
std::string fate_of(const ListedProcess& process, const std::string& name) {
  const auto found = process.failed.find(name);
  const bool own = found != process.failed.end() && !found->second.empty() && found->second != process.reason;
  return own ? process.title + " failed: " + found->second : fate_of(process);
}

/// A row that one process crashed on has failed, whatever the other processes say of it.
void fail_what_was_lost(const ListedProcess& process, const Side& side, SideReader& reader) {
  for (const auto& [name, reason] : process.failed) {
    const Evidence* evidence = counterpart(side, name);
    const bool told = evidence == nullptr || (evidence->troubles && evidence->troubles->failed > 0);
    if (!told) reader.add_failure(evidence->name, fate_of(process, name));
  }
}

/// A file that lies under another process's name counts for the wrong one.
void require_own_rows(const ListedProcess& process, const SideReader& reader, const fs::path& run_file) {
  if (process.operator_name.empty()) return;
  for (const std::string& its : reader.operators_of_file()) {
    if (its == process.operator_name) continue;
    refuse(run_file, "lists " + printable(process.file) + " as a process of " +
                         printable(process.operator_name) + ", and it holds rows of " + printable(its));
  }
}

void read_folder(const fs::path& folder, Side& side, SideReader& reader) {
  const fs::path run_file = folder / "run.json";
  std::error_code ignored;
  if (!fs::exists(run_file, ignored)) {
    refuse(folder, "holds no run.json, so it is no result folder; give one, or name Google Benchmark files");
  }
  const json run = read_run(run_file);
  RunRecord record;
  record.folder = folder.string();
  record.status = text_of(run, "status");
  if (const auto names = run.find("not_selected"); names != run.end() && names->is_array()) {
    for (const json& name : *names) {
      if (name.is_string()) record.not_selected.insert(name.get<std::string>());
    }
  }
  std::vector<ListedProcess> processes;
  std::set<std::string> files;
  for (const json& entry : run["processes"]) {
    processes.push_back(listed_process(entry, run_file, processes.size()));
    const std::string& name = processes.back().file;
    if (!name.empty() && !files.insert(name).second) refuse(run_file, "lists " + printable(name) + " twice");
  }
  for (ListedProcess& process : processes) {
    const bool ok = process.status == "ok";
    record.not_ok += ok ? 0 : 1;
    record.failed += ok || not_measured(process) ? 0 : 1;
    const fs::path file = folder / process.file;
    if (process.file.empty() || !fs::exists(file, ignored)) {
      if (ok) refuse(run_file, "lists " + printable(process.file) + " as measured, and it is not there");
      continue;
    }
    if (ok) {
      reader.read_file(file.string());
      require_own_rows(process, reader, run_file);
      process.read = true;
      continue;
    }
    // What a process left behind that did not end well may be cut off; its rows then count as not measured.
    try {
      Side trial;
      SideReader(trial, "real_time").read_file(file.string());
    } catch (const UsageError& error) {
      side.notes.push_back(fate_of(process) + "; its file is left out: " + error.what());
      continue;
    }
    reader.read_file(file.string());
    require_own_rows(process, reader, run_file);
    process.read = true;
  }
  for (const ListedProcess& process : processes) {
    if (process.status == "ok") continue;
    fail_what_was_lost(process, side, reader);
    if (process.told) continue;
    bool measured = process.read || !process.cases.empty();
    for (const std::string& name : process.cases) {
      if (counterpart(side, name) != nullptr) continue;
      measured = false;
    }
    // Where it left every row, or other processes did, the loss would otherwise go unseen.
    if (!measured) continue;
    side.notes.push_back(fate_of(process) + (process.read ? "; its rows are compared all the same"
                                                          : "; its rows come from the other processes"));
  }
  std::set<std::string> lost;
  for (const ListedProcess& process : processes) {
    if (process.status == "ok") continue;
    for (const std::string& name : process.cases) {
      if (lost.count(name) != 0 || counterpart(side, name) == nullptr) {
        lost.insert(name);
        reader.add_failure(name, fate_of(process, name));
      }
    }
  }
  side.runs.push_back(std::move(record));
}

}  // namespace

Side read_side(const std::vector<std::string>& paths, const std::string& metric) {
  Side side;
  SideReader reader(side, metric);
  std::set<std::string> seen;
  for (const std::string& path : paths) {
    std::error_code failed;
    if (!fs::exists(path, failed))
      refuse(path, "does not exist; give a result folder or a Google Benchmark file");
    const fs::path canonical = fs::weakly_canonical(path, failed);
    if (!failed && !seen.insert(canonical.string()).second) refuse(path, "is named twice on one side");
    if (fs::is_directory(path, failed)) {
      read_folder(path, side, reader);
    } else {
      reader.read_file(path);
      side.single_files = true;
    }
  }
  reader.finish();
  return side;
}

}  // namespace strictbench
