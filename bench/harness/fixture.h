/// Cases as Google Benchmark fixtures, and the reporters that write their rows.
#pragma once
#include <benchmark/benchmark.h>

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/harness/measure.h"

namespace strictbench {

/// Registers the selected cases. Google Benchmark runs benchmarks one after the other, and SetUp again for
/// every repetition; so the first case of a shape and timer to be run measures all of them, interleaved, and
/// each repetition then takes one stored sample. Everything passed must outlive RunSpecifiedBenchmarks().
void register_cases(const OperatorBench& bench, const std::vector<Case>& cases, Measurer& measurer);

/// Whether any case that ran failed its check or threw.
bool any_case_failed();

/// How many of the samples that were watched are suspect, and how many for each finding against them.
struct SuspectCount {
  std::size_t samples = 0;
  std::size_t suspect = 0;
  std::map<std::string, std::size_t> why;
};
const SuspectCount& suspect_count();

/// Whether every reporter could write what it had to.
bool everything_written();

/// A Google Benchmark reporter for `format` (json, console or csv) that leaves out the repetitions for which
/// there was no sample, and Google Benchmark's own suffix of the name. Null for an unknown format.
std::unique_ptr<benchmark::BenchmarkReporter> make_reporter(const std::string& format);

}  // namespace strictbench
