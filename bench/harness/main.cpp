/// main() of every bench_<operator>: our flags, then Google Benchmark's, then its run.
#include <benchmark/benchmark.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <nlohmann/json.hpp>
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

constexpr const char* own_help =
    "Flags beside Google Benchmark's:\n"
    "  --device=cpu|cuda|N    where to run (default: GPU 0 where there is one, else the CPU)\n"
    "  --describe             print the cases as JSON and measure nothing\n"
    "  --oracle-cache=DIR     keep oracle results in DIR, shared by the processes of one run\n"
    "  --progress-fd=N        write one JSON object a line on progress to file descriptor N\n"
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
  bool describe = false;
  bool nvtx = false;
  int progress_fd = -1;
  int samples = default_samples;
};

/// The value of `--name=value`, if `argument` is that.
bool take(std::string_view argument, std::string_view name, std::string& value) {
  if (!argument.starts_with(name) || argument.size() <= name.size() || argument[name.size()] != '=') return false;
  value = argument.substr(name.size() + 1);
  return true;
}

int number(std::string_view flag, const std::string& text, int least) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < least)
    throw std::invalid_argument(std::string(flag) + " takes a whole number of at least " + std::to_string(least) +
                                ", not '" + text + "'");
  return value;
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
    } else if (take(argument, "--device", flags.device) || take(argument, "--oracle-cache", flags.oracle_cache)) {
    } else if (take(argument, "--progress-fd", value)) {
      flags.progress_fd = number("--progress-fd", value, 0);
    } else if (take(argument, "--benchmark_min_time", value) || take(argument, "--benchmark_min_warmup_time", value)) {
      std::fprintf(stderr, "note: %s is not used: the harness plans calls and warm-up\n", argument.c_str());
    } else {
      if (take(argument, "--benchmark_repetitions", value)) flags.samples = number("--benchmark_repetitions", value, 1);
      if (take(argument, "--benchmark_out", value)) flags.out = true;
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
  constexpr auto since_1_8 = []<class Run>(const Run*) { return requires(Run run) { run.skipped; }; };
  constexpr bool takes_suffix = since_1_8(static_cast<const benchmark::BenchmarkReporter::Run*>(nullptr));
  return takes_suffix ? "--benchmark_min_time=0s" : "--benchmark_min_time=0";
}

void describe(const OperatorBench& bench, const std::vector<Case>& cases, const Backend& backend) {
  nlohmann::ordered_json all{{"operator", bench.name}, {"device", backend.name()}, {"build_type", build_type()}};
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
}

int run(std::vector<std::string> arguments) {
  const Flags flags = take_flags(arguments);
  if (flags.nvtx && !enable_nvtx()) std::fprintf(stderr, "note: --nvtx: built without NVTX\n");
  const auto backend = make_backend(flags.device, /*blocking=*/!flags.nvtx);
  const OperatorBench bench = operator_bench(backend->device());
  const std::vector<Case> cases = select_cases(bench, flags.filter);
  if (flags.describe) {
    describe(bench, cases, *backend);
    return 0;
  }

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
    throw std::invalid_argument("filter '" + flags.filter + "' selects nothing of " + bench.name + " on " +
                                backend->name() + "; --describe lists the cases, for example " + cases.at(0).name);
  const auto display = make_reporter(flags.format);
  const auto file = make_reporter(flags.out_format);
  if (!display || !file) throw std::invalid_argument("formats are console, json and csv");
  for (const auto& [key, value] : environment()) benchmark::AddCustomContext(key, value);
  for (const auto& [key, value] : backend->context()) benchmark::AddCustomContext(key, value);

  const Progress progress(flags.progress_fd, selected);
  std::size_t done = 0;
  Measurer measurer(*backend, bench,
                    {.samples = flags.samples,
                     .oracle_cache = OracleCache(flags.oracle_cache),
                     .progress = [&](const Case& c, std::string_view phase) {
                       if (phase == "done") ++done;
                       progress(c.name, done, phase);
                     }});
  register_cases(bench, cases, measurer);
  // Selection is done; Google Benchmark would search names that carry its own suffix.
  benchmark::RunSpecifiedBenchmarks(display.get(), flags.out ? file.get() : nullptr, ".");
  return any_case_failed() ? exit_failed : 0;
}

}  // namespace

int main(int argc, char** argv) {
  // Loading code at a kernel's first launch would be timed, and would deadlock behind a blocking kernel.
  setenv("CUDA_MODULE_LOADING", "EAGER", /*overwrite=*/0);
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
