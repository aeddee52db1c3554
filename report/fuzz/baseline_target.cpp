/// Fuzz target: results through `strictbench accept` beside a neighbour, as the command line runs it, and
/// what was accepted through comparison and table. With two parts, the second is a baseline of the same
/// device that stands there.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <sstream>

#include "report/accept.h"
#include "report/commands.h"
#include "report/error.h"
#include "report/fuzz/checks.h"
#include "report/fuzz/fuzzing.h"

namespace strictbench::fuzz {
namespace {

namespace fs = std::filesystem;

/// Standard output into a text, while it lives.
class Captured {
 public:
  Captured() : before_(std::cout.rdbuf(text_.rdbuf())) {}
  ~Captured() { std::cout.rdbuf(before_); }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;
  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  std::streambuf* before_;
};

using Adder = void (*)(CLI::App&, Action&);

/// A command as main() runs it: its exit code, and what it wrote to standard output.
int command(Adder add, std::vector<std::string> words, std::string& text) {
  CLI::App app;
  Action action;
  add(app, action);
  std::reverse(words.begin(), words.end());  // CLI11 takes them from the back
  app.parse(words);
  const Captured captured;
  int code = 2;
  try {
    code = action();
  } catch (const UsageError& error) {
    check_error(error);
  }
  text = captured.text();
  return code;
}

/// The file under `folder` that was accepted; every folder must be of a plain name. What stood there before,
/// at most h200/main.json, is another's where there are two.
fs::path accepted_in(const fs::path& folder) {
  fs::path found;
  for (const fs::directory_entry& device : fs::directory_iterator(folder)) {
    const std::string name = device.path().filename().string();
    const bool plain = name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789.-") == std::string::npos;
    require(plain && name.front() != '.', "a folder of an odd name: " + name);
    for (const fs::directory_entry& file : fs::directory_iterator(device.path())) {
      if (file.path().filename() == "main.json" && (found.empty() || name != "h200")) found = file.path();
    }
  }
  require(!found.empty(), "accepted, and there is no file");
  return found;
}

void check_accepted(const std::string& result, const fs::path& accepted) {
  const Side before = read_side({accepted.string()}, "real_time");
  const Side after = read_side({result}, "real_time");
  check_side(before);
  const Comparison comparison = compare(before, after, CompareOptions{});
  check_comparison(before, after, comparison);
  for (const ComparedRow& row : comparison.rows)
    require(exit_code_of(row.verdict) != 1, "a result is called " + std::string(name_of(row.verdict)) +
                                                " beside the baseline that it became: " + row.name + " (" +
                                                row.reason + ")");
}

}  // namespace

void fuzz_one(std::string_view input) {
  static const Folder folder;
  folder.clear();
  const std::vector<std::string_view> parts = parts_of(input);
  const std::string result = folder.write("result.json", parts.front());
  const std::string baselines = folder.at("baselines");
  std::vector<std::string> words{"accept", result, "--baselines", baselines};
  if (parts.size() > 1) {
    // Under the name itself it is replaced, under another it is a neighbour.
    const bool replaced = choice_of(input, 2) == 1;
    folder.write(std::string("baselines/h200/") + (replaced ? "main.json" : "other.json"), parts.back());
    if (replaced) words.emplace_back("--force");
  }
  if (choice_of(input, 5) == 0) words.insert(words.end(), {"--filter", "/(new|legacy)/|[a-m]*x"});
  std::string text;
  const int code = command(add_accept_command, words, text);
  check_terminal(text);
  require(code == 0 || code == 2, "accept ends with " + std::to_string(code));
  if (code == 2) {
    require(text.empty() && !fs::exists(fs::path(folder.path()).parent_path() / "main.json"),
            "refused, and yet " + text);
    return;
  }
  const fs::path accepted = accepted_in(baselines);
  check_accepted(result, accepted);
  constexpr const char* formats[] = {"text", "markdown", "json"};
  const unsigned format = choice_of(input, 3);
  const int shown = command(add_table_command,
                            {"table", result, "--baseline", accepted.string(), "--published",
                             accepted.string(), "--format", formats[format]},
                            text);
  require(shown == 0, "table ends with " + std::to_string(shown) + " on what was accepted");
  if (format == 1) {
    check_markdown(text);
  } else if (format == 2) {
    check_json(text);
  } else {
    check_terminal(text);
  }
}

}  // namespace strictbench::fuzz
