/// Turns results into a committed baseline.
#pragma once
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "report/results.h"

namespace strictbench {

/// Why a result cannot become a baseline: uncommitted changes, wrong, failed, throttled or noisy rows,
/// missing provenance. One sentence each; empty where it can. `side` was read by `real_time`.
std::vector<std::string> objections(const Side& side);

/// The objections that hold for a whole run even where only some of its rows are accepted: a row is wrong or
/// failed.
std::vector<std::string> broken_rows(const Side& side);

/// The folder of a device below `baselines`: "NVIDIA H100 80GB HBM3" gives "h100-80gb-hbm3".
std::string device_folder(std::string_view device);

/// The device that every source of a side names: its GPU, or its CPU where there is none. Empty unless one.
std::string only_device(const Side& side);

/// Writes a baseline as Google Benchmark JSON, one line a row, one row per process and benchmark: the medians
/// of each process. `cpu` is the same side, read by `cpu_time`. Both must have passed `objections`.
void write_baseline(std::ostream& out, const Side& real, const Side& cpu);

/// The same of any side, with rows that no baseline may have: error rows and skipped ones, one of a sort for
/// each benchmark, and, marked as suspect, the times of processes that have no others.
void write_summary(std::ostream& out, const Side& real, const Side& cpu);

}  // namespace strictbench
