/// main() of every bench_<operator>: our flags, then Google Benchmark's, then its run.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/harness/ceilings.h"
#include "bench/harness/environment.h"
#include "bench/harness/fixture.h"
#include "bench/harness/flags.h"
#include "bench/harness/inspect.h"
#include "bench/harness/measure.h"
#include "bench/harness/nvtx.h"
#include "bench/harness/progress.h"
#include "bench/harness/selection.h"
#include "bench/harness/watch.h"

namespace {

using namespace strictbench;

constexpr int exit_failed = 1;
constexpr int exit_unusable = 2;
constexpr int exit_device_lost = 3;  // strictbench starts another process for the cases left

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
    const Demand demand = demand_of(shape, c.variant);
    all["cases"].push_back({{"name", c.name},
                            {"variant", c.variant},
                            {"shape", shape.keys},
                            {"timer", name_of(c.timer)},
                            {"gating", c.gating},
                            {"selected", c.selected},
                            {"bytes", demand.bytes()},
                            {"operations", demand.operations},
                            {"demand",
                             {{"read", demand.read},
                              {"written", demand.written},
                              {"chain", demand.chain},
                              {"instructions", demand.instructions}}},
                            {"memory", shape.memory}});
  }
  std::printf("%s\n", all.dump(1).c_str());
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    throw std::runtime_error("cannot write to standard output");
}

/// Reports cases that could not be inspected; the exit code.
int inspected(const std::vector<CaseKernels>& results) {
  int code = 0;
  for (const CaseKernels& result : results) {
    if (result.error.empty()) continue;
    std::fprintf(stderr, "%s: %s\n", result.name.c_str(), result.error.c_str());
    code = exit_failed;
  }
  return code;
}

void write_kernels(const std::string& path, const OperatorBench& bench, const Backend& backend,
                   const std::vector<CaseKernels>& results) {
  nlohmann::ordered_json all{{"operator", bench.name}, {"context", nlohmann::ordered_json::object()}};
  for (const auto& entries : {environment(), backend.context()})
    for (const auto& [key, value] : entries) all["context"][key] = value;
  all["cases"] = nlohmann::ordered_json::array();
  for (const CaseKernels& result : results) {
    nlohmann::ordered_json one{{"name", result.name}, {"calls", result.calls}};
    if (!result.error.empty()) one["error"] = result.error;
    one["kernels"] = nlohmann::ordered_json::array();
    for (const KernelTime& kernel : result.kernels)
      one["kernels"].push_back({{"name", kernel.name},
                                {"launches", kernel.launches},
                                {"total_ns", kernel.total_ns},
                                {"min_ns", kernel.min_ns},
                                {"max_ns", kernel.max_ns}});
    all["cases"].push_back(std::move(one));
  }
  const std::string unfinished = path + ".part";
  std::ofstream file(unfinished);
  file << all.dump(1) << '\n';
  file.close();
  std::error_code error;
  if (file) std::filesystem::rename(unfinished, path, error);  // whole or not at all
  if (!file || error) {
    std::filesystem::remove(unfinished, error);
    throw std::runtime_error("--kernels: cannot write " + path);
  }
}

/// Watches the backend's GPU. The CPU has none, but tests may bring a library that plays one.
void attach(MachineWatch& watch, const Context& backend_context) {
  for (const auto& [key, value] : backend_context)
    if (key == "gpu_uuid") return watch.attach(value);
  if (other_nvml() != nullptr) watch.attach("");
}

void say_what_is_suspect(const SuspectCount& count) {
  if (count.suspect == 0) return;
  std::string why;
  for (const auto& [name, samples] : count.why)
    why += (why.empty() ? "" : ", ") + name + " " + std::to_string(samples);
  std::fprintf(stderr, "note: %zu of %zu samples are suspect (%s): comparisons leave them out\n",
               count.suspect, count.samples, why.c_str());
}

/// Measures what the floors of the selected cases need, and gives each its floor.
Context set_floors(std::vector<Case>& cases, const OperatorBench& bench, Backend& backend) {
  std::vector<std::pair<Demand, Timer>> needs;
  for (const Case& c : cases)
    if (c.selected) needs.emplace_back(demand_of(bench.shapes[c.shape], c.variant), c.timer);
  const Ceilings ceilings = measure_ceilings(backend, needs);
  for (Case& c : cases)
    if (c.selected)
      c.floor_seconds = floor_seconds(demand_of(bench.shapes[c.shape], c.variant), c.timer, ceilings);
  return context_of(ceilings);
}

int run(std::vector<std::string> arguments) {
  const Flags flags = take_flags(arguments);
  const bool ranges = flags.nvtx || flags.profile;
  const bool in_build = !ranges || enable_nvtx();
  const bool timed = !flags.describe && !ranges && flags.kernels.empty();
  MachineWatch watch = timed && flags.watch ? MachineWatch::before_context() : MachineWatch();
  const auto backend = make_backend(flags.device, /*blocking=*/!ranges);
  // On a CPU a profile needs no ranges: there is no profiler that would look for them.
  if (!in_build && (flags.nvtx || backend->device() == Device::cuda))
    std::fprintf(stderr, "note: built without NVTX: there are no ranges\n");
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
  if (flags.profile || !flags.kernels.empty()) {
    if (flags.out) throw std::invalid_argument("--benchmark_out: --profile and --kernels measure nothing");
    if (!flags.profile && backend->device() == Device::cpu)
      throw std::invalid_argument("--kernels records what runs on a GPU, and this is the CPU");
    Inspector inspector(*backend, bench, OracleCache(flags.oracle_cache));
    if (flags.profile) return inspected(inspector.profile(cases));
    const auto results = inspector.kernels(cases);
    write_kernels(flags.kernels, bench, *backend, results);
    return inspected(results);
  }

  const auto backend_context = backend->context();
  attach(watch, backend_context);
  // What carries ranges is not timed, and an arm of a calibration waits on purpose.
  const Context ceilings = timed && flags.delays.empty() ? set_floors(cases, bench, *backend) : Context{};
  for (const auto& entries : {environment(), backend_context, watch.context(), ceilings})
    for (const auto& [key, value] : entries) benchmark::AddCustomContext(key, value);

  const Progress progress(flags.progress_fd, selected);
  std::size_t done = 0;
  Measurer measurer(*backend, bench,
                    {.samples = flags.samples,
                     .placements = backend->device() == Device::cuda ? flags.placements : 1,
                     .oracle_cache = OracleCache(flags.oracle_cache),
                     .watch = std::move(watch),
                     .progress = [&](const Case& c, std::string_view phase) {
                       if (phase == "done") ++done;
                       progress(c.name, done, phase);
                     }});
  register_cases(bench, cases, measurer);
  // Whoever starts us reads what went wrong from the end of standard error: no description of the machine
  // there.
  if (flags.progress_fd >= 0) display->SetErrorStream(&std::cout);
  // Selection is done; Google Benchmark would search names that carry its own suffix.
  benchmark::RunSpecifiedBenchmarks(display.get(), flags.out ? file.get() : nullptr, ".");
  if (!everything_written())
    throw std::runtime_error("results could not be written in full: is the disk full?");
  if (flags.progress_fd < 0) say_what_is_suspect(suspect_count());  // else whoever started this one will
  if (measurer.lost()) {
    std::fprintf(stderr, "%s: the device can run nothing more in this process: cases are left out\n",
                 arguments[0].c_str());
    return exit_device_lost;
  }
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
