#include "report/kernel_table.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "report/environment.h"
#include "report/kernel_name.h"
#include "report/table.h"
#include "report/text.h"

namespace strictbench {
namespace {

constexpr std::size_t most_names = 3;           // of one side's full names in a note
constexpr std::size_t most_name_columns = 160;  // of each
constexpr std::size_t most_notes = 10;          // of one sort

struct FullNames {
  std::set<std::string_view> before, after;
};

/// Sums the kernels of both sides by their short names.
class Summer {
 public:
  explicit Summer(KernelTable& table) : table_(table) {}

  void add(const KernelSide& side, std::optional<KernelFigures> KernelRow::*which,
           std::set<std::string_view> FullNames::*names) {
    for (const RecordedCase& one : side.cases) {
      for (const KernelUse& kernel : one.kernels) {
        std::string name = short_kernel_name(kernel.name);
        const auto [place, added] = places_.try_emplace(name, table_.rows.size());
        if (added) {
          table_.rows.push_back({.name = std::move(name)});
          full_names_.emplace_back();
        }
        std::optional<KernelFigures>& figures = table_.rows[place->second].*which;
        if (!figures) figures.emplace();
        figures->launches += kernel.launches;
        figures->total_ns += kernel.total_ns;
        (full_names_[place->second].*names).insert(kernel.name);
      }
    }
  }

  /// Whether a row stands for several kernels, or for others before than after.
  std::vector<std::string> notes() const {
    std::vector<std::string> found;
    std::size_t more = 0;
    for (std::size_t i = 0; i < table_.rows.size(); ++i) {
      std::set<std::string_view> all = full_names_[i].before;
      all.insert(full_names_[i].after.begin(), full_names_[i].after.end());
      if (all.size() < 2) continue;
      if (found.size() == most_notes) {
        ++more;
        continue;
      }
      found.push_back(table_.rows[i].name + " sums up " + std::to_string(all.size()) +
                      " full names; before: " + listed(full_names_[i].before) +
                      "; after: " + listed(full_names_[i].after));
    }
    if (more > 0) {
      found.push_back(counted(more, "more kernel sums up several full names",
                              "more kernels sum up several full names each"));
    }
    return found;
  }

 private:
  static std::string listed(const std::set<std::string_view>& names) {
    if (names.empty()) return "none";
    std::string text;
    std::size_t count = 0;
    for (const std::string_view name : names) {
      if (count == most_names) break;
      text += (count++ > 0 ? ", " : "") + shortened(name, most_name_columns);
    }
    if (names.size() > count) text += " and " + std::to_string(names.size() - count) + " more";
    return text;
  }

  KernelTable& table_;
  std::vector<FullNames> full_names_;
  std::unordered_map<std::string, std::size_t> places_;
};

void add_to(std::optional<KernelFigures>& total, const std::optional<KernelFigures>& figures) {
  if (!total) total.emplace();
  if (!figures) return;
  total->launches += figures->launches;
  total->total_ns += figures->total_ns;
}

void derive(KernelRow& row, const KernelRow& total) {
  const auto derive_side = [](std::optional<KernelFigures>& figures, const KernelFigures& all) {
    if (!figures) return;
    if (figures->launches > 0) figures->average_ns = figures->total_ns / figures->launches;
    if (all.total_ns > 0) figures->share = figures->total_ns / all.total_ns;
  };
  derive_side(row.before, *total.before);
  derive_side(row.after, *total.after);
  if (!row.before || !row.after) return;
  const double before = row.before->total_ns;
  const double after = row.after->total_ns;
  if (before > 0 && after > 0) row.speedup = before / after;
  if (before > 0) row.reduction = 1 - after / before;
  const bool stood_still =
      before == after || (before > 0 && after > 0 && row.speedup <= 1 + control_threshold &&
                          row.speedup >= 1 / (1 + control_threshold));
  // Launched more often on one side, it did other work there and shows nothing.
  const bool same_work = std::abs(row.before->launches - row.after->launches) < 1e-9;
  row.moved = row.control && same_work && !stood_still;
}

std::string note_of_control(const KernelRow& row) {
  if (!row.before || !row.after) {
    return "control " + row.name + " ran on one side alone: " + (row.before ? "before" : "after");
  }
  const double before = row.before->total_ns;
  const double after = row.after->total_ns;
  const std::string change = before > 0 ? " (" + readable_change(after / before) + ")" : "";
  return "control " + row.name + " MOVED from " + readable_time(before) + " to " + readable_time(after) +
         change + ", by more than " + fixed(100 * control_threshold, 0) +
         " %: the machine or the measurement changed too, and may have moved the other rows with it";
}

void note_controls(KernelTable& table) {
  std::size_t count = 0;
  for (const KernelRow& row : table.rows) {
    const bool alone = !row.before || !row.after;
    if (!row.control || (!alone && !row.moved) || ++count > most_notes) continue;
    table.notes.push_back(note_of_control(row));
  }
  if (count > most_notes) table.notes.push_back(counted(count - most_notes, "more control") + " like these");
}

void note_devices(const KernelSide& before, const KernelSide& after, KernelTable& table) {
  std::set<std::string> devices(before.devices.begin(), before.devices.end());
  devices.insert(after.devices.begin(), after.devices.end());
  if (devices.size() < 2) return;
  table.notes.push_back("recorded on different GPUs: " + joined({devices.begin(), devices.end()}));
}

double larger_total(const KernelRow& row) {
  return std::max(row.before ? row.before->total_ns : 0, row.after ? row.after->total_ns : 0);
}

}  // namespace

KernelTable make_kernel_table(const KernelSide& before, const KernelSide& after,
                              const NamePattern& controls) {
  KernelTable table;
  table.before = before.title;
  table.after = after.title;
  table.notes = before.notes;
  table.notes.insert(table.notes.end(), after.notes.begin(), after.notes.end());
  note_devices(before, after, table);
  Summer summer(table);
  summer.add(before, &KernelRow::before, &FullNames::before);
  summer.add(after, &KernelRow::after, &FullNames::after);
  const std::vector<std::string> name_notes = summer.notes();
  table.total.name = "total";
  for (KernelRow& row : table.rows) {
    row.control = controls.found_in(row.name);
    add_to(table.total.before, row.before);
    add_to(table.total.after, row.after);
  }
  if (!table.rows.empty()) {
    for (KernelRow& row : table.rows) derive(row, table.total);
    derive(table.total, table.total);
  }
  std::ranges::stable_sort(table.rows, std::greater<>(), larger_total);
  note_controls(table);
  table.notes.insert(table.notes.end(), name_notes.begin(), name_notes.end());
  return table;
}

}  // namespace strictbench
