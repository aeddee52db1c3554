/// main() of every bench_<operator>: our flags, then Google Benchmark's, then its run.
#include <benchmark/benchmark.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bench/harness/environment.h"
#include "bench/harness/fixture.h"
#include "bench/harness/measure.h"
#include "bench/harness/nvtx.h"
#include "bench/harness/progress.h"
#include "bench/harness/selection.h"

namespace {

using namespace strictbench;

constexpr int exit_failed = 1;
constexpr int exit_unusable = 2;
constexpr int default_samples = 20;
constexpr int default_placements = 4;

constexpr const char* own_help =
    "Flags beside Google Benchmark's:\n"
    "  --device=cpu|cuda|N    where to run (default: GPU 0 where there is one, else the CPU)\n"
    "  --describe             print the cases as JSON and measure nothing\n"
    "  --oracle-cache=DIR     keep oracle results in DIR, shared by the processes of one run\n"
    "  --progress-fd=N        write one JSON object a line on progress to file descriptor N\n"
    "  --cases=FILE           measure the row names listed in FILE, one a line, whatever the filter says\n"
    "  --placements=N         sets of buffers that a call of a few microseconds is averaged over (default "
    "4)\n"
    "  --delays=A,B,...       measure each case once per delay: a wait of that share of its time after each "
    "call\n"
    "  --nvtx                 wrap each case and phase in an NVTX range; for profilers, not for timing\n"
    "A --benchmark_filter that does not say 'timer:' selects each case's gating timer only.\n"
    "--benchmark_repetitions=N takes N samples of a case at most (default 20); how many calls a sample\n"
    "averages is planned by the harness, so --benchmark_min_time is not used.\n\n";

struct Flags {
  std::string device;
  std::string oracle_cache;
  std::string filter;
  std::string format = "console";
  std::string out_format = "json";
  bool out = std::getenv("BENCHMARK_OUT") != nullptr;
  std::string out_path;
  bool describe = false;
  bool nvtx = false;
  int progress_fd = -1;
  int samples = default_samples;
  int placements = default_placements;
  std::string cases;
  std::vector<double> delays;
};

/// The value of `--name=value`, if `argument` is that.
bool take(std::string_view argument, std::string_view name, std::string& value) {
  if (!argument.starts_with(name) || argument.size() <= name.size() || argument[name.size()] != '=')
    return false;
  value = argument.substr(name.size() + 1);
  return true;
}

int number(std::string_view flag, const std::string& text, int least) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < least)
    throw std::invalid_argument(std::string(flag) + " takes a whole number of at least " +
                                std::to_string(least) + ", not '" + text + "'");
  return value;
}

/// "0,0.01,0.1" as numbers of [0, 1], the first of them 0.
std::vector<double> shares(std::string_view flag, const std::string& text) {
  std::vector<double> values;
  std::istringstream stream(text);
  for (std::string item; std::getline(stream, item, ',');) {
    double value = -1;
    const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), value);
    if (error != std::errc{} || end != item.data() + item.size() || !(value >= 0 && value <= 1))
      throw std::invalid_argument(std::string(flag) + " takes numbers from 0 to 1, not '" + item + "'");
    values.push_back(value);
  }
  if (values.empty() || values[0] != 0)
    throw std::invalid_argument(std::string(flag) + " must begin with 0: the others are measured against it");
  return values;
}

/// Selects the cases whose row names stand in `path`, one a line. Throws std::invalid_argument for a name
/// that there is not, or a file that cannot be read.
void select_listed(std::vector<Case>& cases, const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::invalid_argument("--cases: cannot read " + path);
  std::set<std::string> names;
  for (std::string name; std::getline(file, name);)
    if (!name.empty()) names.insert(name);
  for (Case& c : cases) c.selected = names.erase(c.name) > 0;
  if (!names.empty())
    throw std::invalid_argument("--cases: " + path + " names " + *names.begin() + ", which does not exist");
}

/// Takes our flags out of `arguments` and reads those of Google Benchmark's that the harness shares.
Flags take_flags(std::vector<std::string>& arguments) {
  Flags flags;
  std::vector<std::string> rest;
  for (const std::string& argument : arguments) {
    std::string value;
    if (argument == "--describe") {
      flags.describe = true;
    } else if (argument == "--nvtx") {
      flags.nvtx = true;
    } else if (argument == "--help") {
      std::fputs(own_help, stdout);
      rest.push_back(argument);
    } else if (take(argument, "--device", flags.device) ||
               take(argument, "--oracle-cache", flags.oracle_cache) ||
               take(argument, "--cases", flags.cases)) {
    } else if (take(argument, "--placements", value)) {
      flags.placements = number("--placements", value, 1);
    } else if (take(argument, "--delays", value)) {
      flags.delays = shares("--delays", value);
    } else if (take(argument, "--progress-fd", value)) {
      flags.progress_fd = number("--progress-fd", value, 0);
    } else if (take(argument, "--benchmark_min_time", value) ||
               take(argument, "--benchmark_min_warmup_time", value)) {
      std::fprintf(stderr, "note: %s is not used: the harness plans calls and warm-up\n", argument.c_str());
    } else {
      if (take(argument, "--benchmark_repetitions", value))
        flags.samples = number("--benchmark_repetitions", value, 1);
      if (take(argument, "--benchmark_out", flags.out_path)) flags.out = true;
      take(argument, "--benchmark_filter", flags.filter);
      take(argument, "--benchmark_format", flags.format);
      take(argument, "--benchmark_out_format", flags.out_format);
      rest.push_back(argument);
    }
  }
  arguments = std::move(rest);
  return flags;
}

/// One iteration per repetition: only the mean of a repetition's iterations would be kept. With no minimal
/// time Google Benchmark's search stops at the first. Set by flag, since what is set in code enters the name.
const char* no_minimal_time() {
  constexpr auto since_1_8 = []<class Run>(const Run*) {
    return requires(Run run) { run.skipped; };
  };
  constexpr bool takes_suffix = since_1_8(static_cast<const benchmark::BenchmarkReporter::Run*>(nullptr));
  return takes_suffix ? "--benchmark_min_time=0s" : "--benchmark_min_time=0";
}

void describe(const OperatorBench& bench, const std::vector<Case>& cases, const Backend& backend) {
  nlohmann::ordered_json all{
      {"operator", bench.name}, {"device", backend.name()}, {"build_type", build_type()}};
  for (const auto& [key, value] : backend.context())
    if (key == "gpu_name" || key == "gpu_uuid") all[key] = value;
  all["cases"] = nlohmann::ordered_json::array();
  for (const Case& c : cases) {
    const ShapeEntry& shape = bench.shapes[c.shape];
    all["cases"].push_back({{"name", c.name},
                            {"variant", c.variant},
                            {"shape", shape.keys},
                            {"timer", name_of(c.timer)},
                            {"gating", c.gating},
                            {"selected", c.selected},
                            {"bytes", shape.bytes},
                            {"operations", shape.operations},
                            {"memory", shape.memory}});
  }
  std::printf("%s\n", all.dump(1).c_str());
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    throw std::runtime_error("cannot write to standard output");
}

int run(std::vector<std::string> arguments) {
  const Flags flags = take_flags(arguments);
  if (flags.nvtx && !enable_nvtx()) std::fprintf(stderr, "note: --nvtx: built without NVTX\n");
  const auto backend = make_backend(flags.device, /*blocking=*/!flags.nvtx);
  const OperatorBench bench = operator_bench(backend->device());
  std::vector<Case> cases = select_cases(bench, flags.filter);
  if (!flags.cases.empty()) select_listed(cases, flags.cases);
  if (!flags.delays.empty()) cases = with_delays(bench, cases, flags.delays);
  if (flags.describe) {
    describe(bench, cases, *backend);
    return 0;
  }

  // Google Benchmark would end the process itself, each time with another exit code.
  const auto display = make_reporter(flags.format);
  const auto file = make_reporter(flags.out_format);
  if (!display || !file) throw std::invalid_argument("formats are console, json and csv");
  if (!flags.out_path.empty() && !std::ofstream(flags.out_path, std::ios::app))
    throw std::invalid_argument("--benchmark_out: cannot write " + flags.out_path);

  arguments.insert(arguments.begin() + 1,
                   {no_minimal_time(), "--benchmark_repetitions=" + std::to_string(default_samples),
                    "--benchmark_display_aggregates_only=true"});  // before the user's own, which win
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  int argc = static_cast<int>(argv.size());
  benchmark::Initialize(&argc, argv.data());
  if (benchmark::ReportUnrecognizedArguments(argc, argv.data())) return exit_unusable;

  std::size_t selected = 0;
  for (const Case& c : cases) selected += c.selected ? 1 : 0;
  if (selected == 0)
    throw std::invalid_argument(
        (flags.cases.empty() ? "filter '" + flags.filter + "'" : "--cases " + flags.cases) +
        " selects nothing of " + bench.name + " on " + backend->name() +
        "; --describe lists the cases, for example " + cases.at(0).name);
  for (const auto& [key, value] : environment()) benchmark::AddCustomContext(key, value);
  for (const auto& [key, value] : backend->context()) benchmark::AddCustomContext(key, value);

  const Progress progress(flags.progress_fd, selected);
  std::size_t done = 0;
  Measurer measurer(*backend, bench,
                    {.samples = flags.samples,
                     .placements = backend->device() == Device::cuda ? flags.placements : 1,
                     .oracle_cache = OracleCache(flags.oracle_cache),
                     .progress = [&](const Case& c, std::string_view phase) {
                       if (phase == "done") ++done;
                       progress(c.name, done, phase);
                     }});
  register_cases(bench, cases, measurer);
  // Selection is done; Google Benchmark would search names that carry its own suffix.
  benchmark::RunSpecifiedBenchmarks(display.get(), flags.out ? file.get() : nullptr, ".");
  if (!everything_written())
    throw std::runtime_error("results could not be written in full: is the disk full?");
  return any_case_failed() ? exit_failed : 0;
}

}  // namespace

int main(int argc, char** argv) {
  // Loading code at a kernel's first launch would be timed, and would deadlock behind a blocking kernel.
  setenv("CUDA_MODULE_LOADING", "EAGER", /*overwrite=*/1);
  try {
    return run({argv, argv + argc});
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return exit_unusable;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return exit_failed;
  }
}
