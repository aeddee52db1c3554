#include "report/neighbours.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <system_error>
#include <utility>

#include "report/error.h"
#include "report/row_evidence.h"
#include "report/row_name.h"
#include "report/text.h"

namespace strictbench {
namespace {

namespace fs = std::filesystem;

// The threshold of a comparison across sessions: what differs by more is more than the machine's doing.
constexpr double apart = 0.05;

std::string rows(std::size_t count) { return counted(count, "row"); }

/// The sessions of a row that can be told from others, by boot and GPU.
std::set<std::pair<std::string, std::string>> sessions_of(const Side& side, const Evidence& evidence) {
  std::set<std::pair<std::string, std::string>> sessions;
  for (const ProcessRecord& process : evidence.processes) {
    const Session& session = side.sessions[process.session];
    if (!session.boot_id.empty() && !session.gpu_uuid.empty())
      sessions.emplace(session.boot_id, session.gpu_uuid);
  }
  return sessions;
}

bool share_a_session(const Side& a, const Evidence& in_a, const Side& b, const Evidence& in_b) {
  const auto other = sessions_of(b, in_b);
  const auto own = sessions_of(a, in_a);
  return std::any_of(own.begin(), own.end(), [&](const auto& session) { return other.contains(session); });
}

}  // namespace

std::vector<Neighbour> neighbours_of(const fs::path& file, std::vector<std::string>& notes) {
  std::error_code ignored;
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(file.parent_path(), ignored)) {
    const fs::path name = entry.path().filename();
    const bool other = name != file.filename() && name != "published.json" && name.extension() == ".json";
    if (other && entry.is_regular_file(ignored)) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<Neighbour> neighbours;
  for (const fs::path& path : files) {
    try {
      neighbours.push_back({path.string(), read_side({path.string()}, "real_time")});
    } catch (const UsageError& error) {
      notes.emplace_back(error.what());
    }
  }
  return neighbours;
}

std::vector<std::string> neighbour_objections(const Side& side, const std::vector<Neighbour>& neighbours) {
  std::vector<std::string> found;
  for (const Neighbour& neighbour : neighbours) {
    std::size_t twice = 0;
    std::string first;
    for (const Evidence& evidence : side.benchmarks) {
      const Evidence* const other = counterpart(neighbour.side, evidence.name);
      if (other == nullptr || !share_a_session(side, evidence, neighbour.side, *other)) continue;
      if (twice++ == 0) first = evidence.name;
    }
    if (twice == 0) continue;
    const std::string name = fs::path(neighbour.file).stem().string();
    found.push_back(neighbour.file + " holds " + rows(twice) + " of the same session already (first " +
                    first + "), and a device's baselines count together: replace it (--name " + name +
                    " --force), or leave them out with --filter");
  }
  return found;
}

std::vector<std::string> neighbour_notes(const Side& side, const std::vector<Neighbour>& neighbours) {
  std::vector<std::string> notes;
  for (const Neighbour& neighbour : neighbours) {
    std::size_t shared = 0;
    std::size_t moved = 0;
    std::string first;
    for (const Evidence& evidence : side.benchmarks) {
      const Evidence* const other = counterpart(neighbour.side, evidence.name);
      if (other == nullptr || !other->has_number() || !evidence.has_number()) continue;
      if (!other->no_times().empty()) continue;
      ++shared;
      const double ratio = figures_of(evidence).median / figures_of(*other).median;
      if (std::abs(std::log(ratio)) <= std::log1p(apart)) continue;
      if (moved++ == 0) first = evidence.name + " by " + readable_change(ratio);
    }
    if (shared == 0) continue;
    std::string note = counted(shared, "row stands", "rows stand") + " in " + neighbour.file +
                       " too: the two count together, as sessions of one baseline";
    if (moved > 0) {
      note += "; " + rows(moved) + " of them moved by more than " + fixed(100 * apart, 0) + " %, first " +
              first +
              ": if the code changed in between, replace that file, or this spread hides real changes";
    }
    notes.push_back(std::move(note));
  }
  return notes;
}

}  // namespace strictbench
