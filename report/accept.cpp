#include "report/accept.h"

#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "report/environment.h"
#include "report/statistics.h"
#include "report/text.h"

namespace strictbench {
namespace {

// A row whose processes spread more than this would hide every change that matters.
constexpr double noisy_spread = 0.03;

constexpr std::array<const char*, 7> needed_keys{"date",     "git_commit", "git_dirty",    "build_type",
                                                 "compiler", "boot_id",    "binary_sha256"};
constexpr std::array<const char*, 3> needed_gpu_keys{"gpu_uuid", "driver_version", "cuda_version"};

/// "a.json" or "a.json and 5 more", for the sources that `matches`; empty where none does.
template <typename Matches>
std::string sources_where(const Side& side, const Matches& matches) {
  std::string first;
  std::size_t count = 0;
  for (const Source& source : side.sources) {
    if (!matches(source.context)) continue;
    if (count++ == 0) first = source.path;
  }
  return count < 2 ? first : first + " and " + std::to_string(count - 1) + " more";
}

void object_to_sources(const Side& side, std::vector<std::string>& found) {
  const auto object = [&](const std::string& why, const auto& matches) {
    const std::string who = sources_where(side, matches);
    if (!who.empty()) found.push_back(who + ": " + why);
  };
  const auto needs = [&](const char* key, bool of_gpus) {
    object(std::string("no ") + key + " in the context; measure with strictbench run",
           [&](const Context& context) {
             return stated(context, key).empty() && (!of_gpus || !stated(context, "gpu_name").empty());
           });
  };
  for (const char* key : needed_keys) needs(key, false);
  for (const char* key : needed_gpu_keys) needs(key, true);
  object("built from a tree with uncommitted changes; commit them and run again",
         [](const Context& context) { return is_true(stated(context, "git_dirty")); });
  object("a debug build; measure a release build",
         [](const Context& context) { return stated(context, "build_type") == "debug"; });
  object("figures published by others, not measured here",
         [](const Context& context) { return stated(context, "provenance") == "published"; });
}

/// The spread between processes of one session, over all of the row's sessions; 0 where nothing is known.
double spread_between_processes(const Evidence& evidence) {
  std::map<std::uint32_t, std::vector<double>> sessions;
  for (const ProcessRecord& process : evidence.processes) {
    const double value = process.value();
    if (!std::isnan(value)) sessions[process.session].push_back(std::log(value));
  }
  std::vector<Spread> spreads;
  for (const auto& [session, values] : sessions) spreads.push_back(spread_of(values));
  return std::sqrt(pooled(spreads).variance);
}

void object_to_troubles(const Evidence& evidence, std::vector<std::string>& found) {
  if (evidence.troubles && evidence.troubles->wrong > 0) {
    found.push_back(evidence.name + " is wrong: " + evidence.troubles->wrong_message);
  } else if (evidence.troubles && evidence.troubles->failed > 0) {
    found.push_back(evidence.name + " failed: " + evidence.troubles->failed_message);
  } else if (const std::string why = evidence.no_times(); !why.empty()) {
    found.push_back(evidence.name + " holds no times: " + why);
  } else if (evidence.troubles && evidence.troubles->skipped > 0 && !evidence.processes.empty()) {
    // Beside a baseline with a number a skipped row has failed: this result would not pass itself.
    found.push_back(evidence.name + " was skipped in part: " + evidence.troubles->skipped_message);
  }
}

void object_to_row(const Evidence& evidence, std::vector<std::string>& found) {
  object_to_troubles(evidence, found);
  if (evidence.suspect_rows() > 0) {
    found.push_back(evidence.name + " was measured while the machine was throttled or shared");
  }
  const double spread = spread_between_processes(evidence);
  if (spread > noisy_spread) {
    found.push_back(evidence.name + " is noisy: its processes spread by " + fixed(100 * spread, 2) +
                    " %, and " + fixed(100 * noisy_spread, 0) + " % is the most a baseline may have");
  }
}

void object_to_commits(const Side& side, std::vector<std::string>& found) {
  std::map<std::uint32_t, std::set<std::string>> commits;
  for (const Evidence& evidence : side.benchmarks) {
    for (const ProcessRecord& process : evidence.processes) {
      commits[process.session].insert(stated(side.sources[process.source].context, "git_commit"));
    }
  }
  for (const auto& [session, all] : commits) {
    if (all.size() < 2) continue;
    found.push_back("one session holds results of several commits (" + *all.begin() + ", " +
                    *std::next(all.begin()) + "); accept those of one");
  }
}

}  // namespace

std::vector<std::string> broken_rows(const Side& side) {
  std::vector<std::string> found;
  for (const Evidence& evidence : side.benchmarks) object_to_troubles(evidence, found);
  return found;
}

std::vector<std::string> objections(const Side& side) {
  std::vector<std::string> found;
  for (const RunRecord& run : side.runs) {
    if (run.status != "complete") found.push_back(run.folder + ": the run is not complete; resume it first");
    // Its rows may all be there, and yet nobody knows what it failed of.
    if (run.not_ok > 0)
      found.push_back(run.folder + ": " + counted(run.not_ok, "process") +
                      " did not end well; resume it first");
  }
  object_to_sources(side, found);
  object_to_commits(side, found);
  if (only_device(side).empty()) found.push_back("the files do not name one device, the same in all");
  bool any = false;
  for (const Evidence& evidence : side.benchmarks) {
    object_to_row(evidence, found);
    any = any || evidence.has_number();
  }
  if (!any) found.push_back("no row holds a number");
  return found;
}

std::string device_folder(std::string_view device) {
  std::string folder;
  std::string word;
  const auto finish_word = [&] {
    if (!word.empty() && word != "nvidia") folder += (folder.empty() ? "" : "-") + word;
    word.clear();
  };
  for (const char c : device) {
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const bool kept =
        (lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9') || (lower == '.' && !word.empty());
    if (kept) {
      word += lower;
    } else {
      finish_word();
    }
  }
  finish_word();
  return folder;
}

std::string only_device(const Side& side) {
  std::set<std::string> devices;
  for (const Source& source : side.sources) {
    const std::string gpu = stated(source.context, "gpu_name");
    devices.insert(gpu.empty() ? stated(source.context, "cpu_model") : gpu);
  }
  return devices.size() == 1 ? *devices.begin() : std::string();
}

}  // namespace strictbench
