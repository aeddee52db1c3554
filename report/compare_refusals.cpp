#include "report/compare_refusals.h"

#include <string>
#include <vector>

#include "report/environment.h"
#include "report/error.h"
#include "report/text.h"

namespace strictbench {
namespace {

/// Our executables time their samples themselves and hand them to Google Benchmark, whose loop only passes
/// them on: the cpu_time that it adds is of the loop, whatever the case took.
void refuse_cpu_time_of_ours(const Side& side) {
  for (const Evidence& row : side.benchmarks) {
    if (row.checked == 0 || timer_of(row.name).empty()) continue;
    throw UsageError(
        "--metric cpu_time: " + shortened(printable(row.name), 200) +
        " is a row of StrictBench, whose cpu_time is that of the loop which hands its samples on, "
        "not of the case; leave --metric out to compare real_time");
  }
}

}  // namespace

void refuse_hopeless(const Side& baseline, const Side& contender, const CompareOptions& options) {
  if (baseline.benchmarks.empty())
    throw UsageError("--baseline: the files hold no rows, so there is nothing to compare with");
  const std::vector<std::string> devices = stated_values(baseline, "gpu_name");
  if (devices.size() > 1) {
    throw UsageError("--baseline: files of different devices, " + printable(devices[0]) + " and " +
                     printable(devices[1]) + "; name those of one device");
  }
  if (options.metric == "cpu_time") {
    refuse_cpu_time_of_ours(baseline);
    refuse_cpu_time_of_ours(contender);
  }
  if (options.metric != "real_time" && baseline.with_metric + contender.with_metric == 0) {
    throw UsageError("--metric " + printable(options.metric) +
                     ": no row of either side has it; real_time and " +
                     "cpu_time always exist, counters where a benchmark sets them");
  }
}

}  // namespace strictbench
