#include "report/kernel_side.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "report/error.h"
#include "report/input_file.h"
#include "report/json_source.h"
#include "report/row_name.h"
#include "report/text.h"

namespace strictbench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view record_suffix = ".kernels.json";

[[noreturn]] void refuse(const std::string& path, const std::string& what) {
  throw UsageError(printable(path) + ": " + what);
}

std::string read_text(const std::string& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) {
    refuse(path, "does not exist; give a result folder, a " + std::string(record_suffix) +
                     " file or a kernel summary of Nsight Systems as CSV");
  }
  return read_input(path);
}

/// "3 cases (a, b and 1 more)".
std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t most_named = 2;
  std::string text = counted(names.size(), "case") + " (";
  for (std::size_t i = 0; i < std::min(names.size(), most_named); ++i) text += (i > 0 ? ", " : "") + names[i];
  if (names.size() > most_named) text += " and " + std::to_string(names.size() - most_named) + " more";
  return text + ")";
}

/// Reads what `bench_<operator> --kernels=FILE` writes.
class KernelRecord {
 public:
  explicit KernelRecord(const std::string& path) : path_(path) {}

  void read(const std::string& text, const std::vector<NamePattern>& patterns, KernelSide& side) const {
    json all;
    try {
      require_shallow(text);  // an error that is no string is written as it stands
      all = json::parse(text);
    } catch (const UsageError& error) {
      refuse(path_, std::string(error.what()) + "; give a record that bench_<operator> --kernels=FILE wrote");
    } catch (const json::parse_error& error) {
      refuse(path_, "not valid JSON at byte " + std::to_string(error.byte) + "; is the file cut off?");
    } catch (const json::exception&) {
      refuse(path_, "holds what no JSON document can");
    }
    if (!all.is_object() || !all.contains("cases") || !all["cases"].is_array()) {
      refuse(path_,
             "holds no \"cases\" array, so it is no record of kernels; give one that bench_<operator> "
             "--kernels=FILE wrote");
    }
    if (const auto context = all.find("context"); context != all.end() && context->is_object()) {
      const auto gpu = context->find("gpu_name");
      if (gpu != context->end() && gpu->is_string()) side.devices.push_back(gpu->get<std::string>());
    }
    const std::size_t failed_before = side.failed.size();
    std::size_t at = 0;
    for (const json& entry : all["cases"]) {
      read_case(entry, "\"cases\"[" + std::to_string(at++) + "]", patterns, side);
    }
    if (side.failed.size() > failed_before) {
      std::vector<std::string> failed;
      for (std::size_t i = failed_before; i < side.failed.size(); ++i) failed.push_back(side.failed[i].name);
      side.notes.push_back(path_ + ": no kernels, but an error, of " + listed(failed));
    }
  }

 private:
  void read_case(const json& entry, const std::string& where, const std::vector<NamePattern>& patterns,
                 KernelSide& side) const {
    const std::string name = string_of(entry, where, "name");
    if (!std::ranges::all_of(patterns, [&](const NamePattern& one) { return one.found_in(name); })) return;
    if (const auto error = entry.find("error"); error != entry.end()) {
      side.failed.push_back({path_, name, error->is_string() ? error->get<std::string>() : error->dump()});
      return;
    }
    const double calls = number_of(entry, where, "calls", most_launches);
    if (calls < 1) refuse(path_, where + " was called " + fixed(calls, 2) + " times and has no error");
    const auto kernels = entry.find("kernels");
    if (kernels == entry.end() || !kernels->is_array()) refuse(path_, where + " has no \"kernels\" array");
    if (kernels->empty()) refuse(path_, where + " launched no kernel and has no error");
    RecordedCase recorded{name, {}};
    for (const json& kernel : *kernels) {
      const std::string at = where + " kernel " + std::to_string(recorded.kernels.size());
      // Sides differ in how often they called; one call is alike.
      recorded.kernels.push_back({string_of(kernel, at, "name"),
                                  number_of(kernel, at, "launches", most_launches) / calls,
                                  number_of(kernel, at, "total_ns", most_kernel_ns) / calls});
    }
    side.cases.push_back(std::move(recorded));
  }

  std::string string_of(const json& object, const std::string& where, const char* key) const {
    if (!object.is_object()) refuse(path_, where + " is no object");
    const auto found = object.find(key);
    if (found == object.end() || !found->is_string()) refuse(path_, where + " has no string \"" + key + "\"");
    return found->get<std::string>();
  }

  double number_of(const json& object, const std::string& where, const char* key, double most) const {
    const auto found = object.find(key);
    const double value = found != object.end() && found->is_number() ? found->get<double>() : -1;
    if (!(value >= 0 && value <= most))
      refuse(path_, where + " has no number \"" + key + "\" from 0 to " + readable_number(most));
    return value;
  }

  const std::string& path_;
};

std::vector<std::string> records_in(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.size() > record_suffix.size() && name.ends_with(record_suffix))
      files.push_back(entry.path().string());
  }
  if (error) refuse(folder, "cannot be read: " + error.message());
  if (files.empty()) {
    refuse(folder, "holds no <operator>" + std::string(record_suffix) +
                       "; measure with strictbench run --kernels, or write one with bench_<operator> "
                       "--kernels=FILE");
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// What is the same in two builds of one case. The timer is not: kernels are recorded once for all of them.
std::string case_key(const std::string& name) {
  const RowName parts = parse_row_name(name);
  return parts.complete() ? parts.op + "/" + parts.variant + "/" + parts.shape : name;
}

std::string shape_key(const std::string& name) {
  const RowName parts = parse_row_name(name);
  return parts.complete() ? parts.op + "/" + parts.shape : name;
}

/// A case that stands twice counts once.
void drop_repeated(KernelSide& side) {
  std::set<std::string> seen;
  const auto repeated = [&](const RecordedCase& one) { return !seen.insert(case_key(one.name)).second; };
  const std::size_t dropped = std::erase_if(side.cases, repeated);
  if (dropped == 0) return;
  side.notes.push_back(side.title + ": " + counted(dropped, "case stands", "cases stand") +
                       " twice and counts once");
}

using Key = std::string (*)(const std::string&);

/// Keys of a side, and the case that has each.
std::map<std::string, std::string> keys_of(const KernelSide& side, Key key) {
  std::map<std::string, std::string> keys;
  for (const RecordedCase& one : side.cases) {
    const auto [place, added] = keys.try_emplace(key(one.name), one.name);
    if (added) continue;
    throw UsageError(printable(side.title) + ": holds both " + printable(place->second) + " and " +
                     printable(one.name) +
                     ", and no case of the other side is named like either; choose one "
                     "variant with --before-case and --after-case");
  }
  return keys;
}

void keep_shared(KernelSide& side, const std::map<std::string, std::string>& others, Key key,
                 std::vector<std::string>& left_out) {
  std::erase_if(side.cases, [&](const RecordedCase& one) {
    const bool alone = !others.contains(key(one.name));
    if (alone) left_out.push_back(one.name);
    return alone;
  });
}

}  // namespace

KernelSide read_kernel_side(const std::string& path, const std::vector<NamePattern>& patterns) {
  KernelSide side;
  side.title = path;
  std::error_code ignored;
  const bool folder = fs::is_directory(path, ignored);
  for (const std::string& file : folder ? records_in(path) : std::vector<std::string>{path}) {
    const std::string text = read_text(file);
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first == std::string::npos) refuse(file, "is empty");
    if (text[first] == '{' || folder) {
      side.recorded = true;
      KernelRecord(file).read(text, patterns, side);
      continue;
    }
    if (!patterns.empty()) {
      refuse(file, "is a whole profile and knows no cases: leave out --case, --before-case and --after-case");
    }
    side.cases.push_back({"", parse_kernel_csv(text, file, side.notes)});
  }
  if (side.cases.empty() && !side.failed.empty()) {
    const UnrecordedCase& first = side.failed.front();
    refuse(path, "holds no case with kernels; " + printable(first.name) + ": " + printable(first.error));
  }
  if (side.cases.empty()) {
    refuse(path, patterns.empty() ? "holds no case with kernels" : "has no case with kernels of that name");
  }
  if (side.recorded) drop_repeated(side);
  return side;
}

void pair_cases(KernelSide& before, KernelSide& after, std::vector<std::string>& notes) {
  if (!before.recorded && !after.recorded) return;
  if (before.recorded != after.recorded) {
    notes.push_back(
        (before.recorded ? after : before).title +
        " counts a whole profile and the other side one call of each case: totals compare only where "
        "the profile holds one call of each");
    return;
  }
  Key key = case_key;
  const std::map<std::string, std::string> named = keys_of(before, key);
  const auto on_both = [&](const RecordedCase& one) { return named.contains(case_key(one.name)); };
  if (std::ranges::none_of(after.cases, on_both)) key = shape_key;
  const std::string first_before = before.cases.front().name;
  const std::string first_after = after.cases.front().name;
  const std::map<std::string, std::string> keys_before = keys_of(before, key);
  const std::map<std::string, std::string> keys_after = keys_of(after, key);
  std::vector<std::string> left_out;
  keep_shared(before, keys_after, key, left_out);
  keep_shared(after, keys_before, key, left_out);
  if (before.cases.empty()) {
    throw UsageError("no case stands on both sides: " + printable(before.title) + " has " +
                     printable(first_before) + ", " + printable(after.title) + " has " +
                     printable(first_after));
  }
  const std::size_t count = before.cases.size();
  notes.push_back("launches and times are of one call of each of " +
                  counted(count, "case, ", "cases, added up, ") +
                  (key == case_key ? "the same on both sides" : "paired by operator and shape"));
  if (!left_out.empty()) {
    notes.push_back("left out, since on one side alone: " + listed(left_out));
  }
}

}  // namespace strictbench
