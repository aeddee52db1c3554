#include "bench/harness/watch.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <optional>

namespace strictbench {
namespace {

constexpr std::chrono::milliseconds least_between_looks{100};
constexpr double clock_drop_share = 0.05;
constexpr std::chrono::seconds lag_of_use{1};  // of the driver's record of who used the GPU

bool contains(const std::vector<unsigned>& sorted, unsigned number) {
  return std::binary_search(sorted.begin(), sorted.end(), number);
}

unsigned long long grown(const std::optional<unsigned long long>& before,
                         const std::optional<unsigned long long>& after) {
  return before && after && *after > *before ? *after - *before : 0;
}

/// Other processes that computed between the states.
unsigned active_neighbours(const GpuState& before, const GpuState& after, OwnProcess own) {
  // A context costs its neighbours memory, and time only where it works; making one and ending it is work.
  // Only processes on a list count: the driver's record of use still names those that ended a moment before.
  const std::vector<unsigned> first = before.computing.value_or(std::vector<unsigned>{});
  const std::vector<unsigned> last = after.computing.value_or(std::vector<unsigned>{});
  std::vector<unsigned> listed;
  std::set_union(first.begin(), first.end(), last.begin(), last.end(), std::back_inserter(listed));
  unsigned active = 0;
  for (const unsigned pid : listed) {
    if (pid == own.pid) continue;
    const bool stayed =
        !before.computing || !after.computing || (contains(first, pid) && contains(last, pid));
    active += !stayed || !after.busy || contains(*after.busy, pid) ? 1 : 0;
  }
  const unsigned may_be_ours = own.pid == 0 ? 1 : 0;
  return active > may_be_ours ? active - may_be_ours : 0;
}

}  // namespace

OwnProcess own_process(unsigned own_id, const std::vector<unsigned>& before,
                       const std::vector<unsigned>& after) {
  std::vector<unsigned> fresh;
  std::set_difference(after.begin(), after.end(), before.begin(), before.end(), std::back_inserter(fresh));
  if (contains(fresh, own_id)) return {own_id};
  return {fresh.size() == 1 ? fresh[0] : 0};
}

std::optional<unsigned> neighbours(const GpuState& state, OwnProcess own) {
  if (!state.computing) return std::nullopt;
  const auto all = static_cast<unsigned>(state.computing->size());
  const bool one_is_ours = own.pid == 0 ? all > 0 : contains(*state.computing, own.pid);
  return all - (one_is_ours ? 1 : 0);
}

std::vector<Finding> findings(const GpuState& before, const GpuState& after, OwnProcess own,
                              unsigned fastest_mhz) {
  using namespace clock_event;
  std::vector<Finding> found;
  const unsigned long long reasons =
      before.clock_event_reasons.value_or(0) | after.clock_event_reasons.value_or(0);
  const unsigned long long heat_ns = grown(before.thermal_ns, after.thermal_ns);
  if ((reasons & hardware_slowdown) != 0) found.push_back({"hardware_slowdown", 1});
  if ((reasons & power_brake) != 0) found.push_back({"power_brake", 1});
  if ((reasons & (software_thermal | hardware_thermal)) != 0 || heat_ns > 0)
    found.push_back({"thermal_slowdown", 1});
  constexpr unsigned long long normal =
      idle | application_clocks | software_power_cap | sync_boost | display_clocks;
  // Without the driver's reasons nobody can tell an idle GPU's clock from one that was held down.
  const bool explained = !after.clock_event_reasons || (*after.clock_event_reasons & normal) != 0 ||
                         grown(before.power_ns, after.power_ns) > 0;
  if (after.sm_clock_mhz && !explained && *after.sm_clock_mhz < (1 - clock_drop_share) * fastest_mhz)
    found.push_back({"clock_drop", static_cast<double>(fastest_mhz - *after.sm_clock_mhz)});
  if (const unsigned active = active_neighbours(before, after, own); active > 0)
    found.push_back({"neighbours", static_cast<double>(active)});
  if (const unsigned long long errors = grown(before.ecc_uncorrected, after.ecc_uncorrected); errors > 0)
    found.push_back({"ecc_errors", static_cast<double>(errors)});
  return found;
}

MachineWatch MachineWatch::before_context() {
  MachineWatch watch;
  watch.nvml_ = std::make_shared<const Nvml>();
  watch.computing_before_ = watch.nvml_->computing();
  return watch;
}

void MachineWatch::attach(const std::string& gpu_uuid) {
  if (!nvml_) return;
  auto gpu = std::make_unique<NvmlGpu>(nvml_, gpu_uuid);
  if (!gpu->found()) return;
  gpu_ = std::move(gpu);
  look();
  const GpuState& now = readings_.back().state;
  if (now.computing) own_ = own_process(static_cast<unsigned>(getpid()), computing_before_, *now.computing);
  // Who was busy before this process was no neighbour of its samples.
  if (readings_.back().state.busy) readings_.back().state.busy->clear();
}

void MachineWatch::look() {
  if (!gpu_) return;
  GpuState state = gpu_->state();
  fastest_mhz_ = std::max(fastest_mhz_, state.sm_clock_mhz.value_or(0));
  readings_.push_back({Clock::now(), std::move(state)});
}

bool MachineWatch::look_if_due() {
  if (!gpu_ || Clock::now() - readings_.back().time < least_between_looks) return false;
  look();
  return true;
}

/// Each use is told once, up to a second late: who is named near a stretch was busy in it.
std::optional<std::vector<unsigned>> MachineWatch::busy_around(const Reading& before,
                                                               const Reading& after) const {
  if (!after.state.busy) return std::nullopt;
  std::vector<unsigned> pids;
  for (const Reading& reading : readings_) {
    const bool near = reading.time >= before.time - lag_of_use && reading.time <= after.time + lag_of_use;
    if (near && reading.state.busy)
      pids.insert(pids.end(), reading.state.busy->begin(), reading.state.busy->end());
  }
  std::sort(pids.begin(), pids.end());
  return pids;
}

std::vector<Finding> MachineWatch::against(std::size_t stretch) const {
  if (stretch >= readings_.size()) return {};
  const Reading& before = readings_[stretch];
  const Reading& after = readings_[std::min(stretch + 1, readings_.size() - 1)];
  GpuState end = after.state;
  end.busy = busy_around(before, after);
  std::vector<Finding> found = findings(before.state, end, own_, fastest_mhz_);
  // The counter of heat lags: what the next reading finds may have begun in the tenth of a second before it.
  if (stretch + 2 >= readings_.size()) return found;
  const Reading& next = readings_[stretch + 2];
  const bool hot = grown(after.state.thermal_ns, next.state.thermal_ns) > 0;
  const bool near = next.time - after.time < least_between_looks;
  const auto is_heat = [](const Finding& finding) { return finding.name == "thermal_slowdown"; };
  if (hot && near && std::none_of(found.begin(), found.end(), is_heat))
    found.push_back({"thermal_slowdown", 1});
  return found;
}

const GpuState* MachineWatch::state_after(std::size_t stretch) const {
  if (stretch >= readings_.size()) return nullptr;
  const GpuState& state = readings_[std::min(stretch + 1, readings_.size() - 1)].state;
  return state.clock_event_reasons || state.computing ? &state : nullptr;
}

std::vector<std::pair<std::string, std::string>> MachineWatch::context() const {
  if (!gpu_) return {};
  std::vector<std::pair<std::string, std::string>> context;
  if (const auto others = neighbours(readings_.back().state, own_))
    context.emplace_back("neighbours", std::to_string(*others));
  return context;
}

}  // namespace strictbench
