#include "bench/harness/flags.h"

#include <charconv>
#include <cstdio>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace strictbench {
namespace {

constexpr const char* own_help =
    "Flags beside Google Benchmark's:\n"
    "  --device=cpu|cuda|N    where to run (default: GPU 0 where there is one, else the CPU)\n"
    "  --describe             print the cases as JSON and measure nothing\n"
    "  --oracle-cache=DIR     keep oracle results in DIR, a folder that the processes of one run share\n"
    "  --progress-fd=N        write one JSON object a line on progress to file descriptor N\n"
    "  --cases=FILE           measure the row names listed in FILE, one a line, whatever the filter says\n"
    "  --placements=N         sets of buffers that a call of a few microseconds is averaged over (default "
    "4)\n"
    "  --delays=A,B,...       measure each case once per delay: a wait of that share of its time after each "
    "call\n"
    "  --no-watch             do not look at the GPU's clocks, temperature and neighbours between samples\n"
    "  --nvtx                 wrap each case and phase in an NVTX range; for profilers, not for timing\n"
    "  --profile              run each case once in an NVTX range, for a profiler, and measure nothing\n"
    "  --kernels=FILE         record which kernels each case runs, as JSON, and measure nothing\n"
    "A --benchmark_filter that does not say 'timer:' selects each case's gating timer only.\n"
    "--benchmark_repetitions=N takes N samples of a case at most (default 20); how many calls a sample\n"
    "averages is planned by the harness, so --benchmark_min_time is not used.\n\n";

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

}  // namespace

Flags take_flags(std::vector<std::string>& arguments) {
  Flags flags;
  std::vector<std::string> rest;
  for (const std::string& argument : arguments) {
    std::string value;
    if (argument == "--describe") {
      flags.describe = true;
    } else if (argument == "--nvtx") {
      flags.nvtx = true;
    } else if (argument == "--profile") {
      flags.profile = true;
    } else if (argument == "--no-watch") {
      flags.watch = false;
    } else if (argument == "--help") {
      std::fputs(own_help, stdout);
      rest.push_back(argument);
    } else if (take(argument, "--device", flags.device) ||
               take(argument, "--oracle-cache", flags.oracle_cache) ||
               take(argument, "--cases", flags.cases) || take(argument, "--kernels", flags.kernels)) {
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
  if (flags.profile && !flags.kernels.empty())
    throw std::invalid_argument("--profile and --kernels: one of them at a time");
  arguments = std::move(rest);
  return flags;
}

}  // namespace strictbench
