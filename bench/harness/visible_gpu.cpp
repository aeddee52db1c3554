#include "bench/harness/visible_gpu.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <sstream>

#include "bench/harness/nvml.h"

namespace strictbench {
namespace {

using Handle = void*;

bool one_name(const std::vector<ListedGpu>& listed) {
  return std::all_of(listed.begin(), listed.end(),
                     [&](const ListedGpu& gpu) { return gpu.name == listed.front().name; });
}

std::optional<std::string> whole_gpu(const ListedGpu& gpu) {
  return gpu.mig ? std::nullopt : std::optional(gpu.uuid);
}

/// The number that all of `word` is.
std::optional<std::size_t> number(std::string_view word) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

/// What one entry of CUDA_VISIBLE_DEVICES stands for.
std::optional<std::string> named(const std::vector<ListedGpu>& listed, std::string_view entry,
                                 bool order_known) {
  constexpr std::string_view gpu_prefix = "GPU-";
  constexpr std::string_view mig_prefix = "MIG-";
  if (entry.starts_with(mig_prefix)) {
    // CUDA tells the UUID of an instance as it does a GPU's. The older MIG-GPU-<uuid>/1/0 names no UUID.
    const std::string_view rest = entry.substr(mig_prefix.size());
    if (rest.size() != 36 || rest.find('/') != std::string_view::npos) return std::nullopt;
    return std::string(gpu_prefix) + std::string(rest);
  }
  if (entry.starts_with(gpu_prefix)) {  // whole, or as many digits as tell it from the others
    std::optional<std::string> found;
    for (const ListedGpu& gpu : listed) {
      if (!gpu.uuid.starts_with(entry)) continue;
      if (found) return std::nullopt;
      if (!(found = whole_gpu(gpu))) return std::nullopt;
    }
    return found;
  }
  const auto index = number(entry);
  if (!index || *index >= listed.size() || !order_known) return std::nullopt;
  return whole_gpu(listed[*index]);
}

std::optional<std::vector<ListedGpu>> listed_gpus() {
  const Nvml nvml;
  unsigned count = 0;
  if (!nvml.ready() || !nvml.call<int(unsigned*)>("nvmlDeviceGetCount_v2", &count)) return std::nullopt;
  std::vector<ListedGpu> listed;
  for (unsigned i = 0; i < count; ++i) {
    Handle device = nullptr;
    char uuid[96] = {};
    char name[96] = {};
    // One that may not be looked at is none of CUDA's either, or is: then its numbers are others.
    using Text = int(Handle, char*, unsigned);
    if (!nvml.call<int(unsigned, Handle*)>("nvmlDeviceGetHandleByIndex_v2", i, &device) ||
        !nvml.call<Text>("nvmlDeviceGetUUID", device, uuid, unsigned{sizeof uuid - 1}) ||
        !nvml.call<Text>("nvmlDeviceGetName", device, name, unsigned{sizeof name - 1}))
      return std::nullopt;
    unsigned mig = 0;
    unsigned pending = 0;
    // Where the driver does not know the question there is no MIG.
    const bool asked =
        nvml.call<int(Handle, unsigned*, unsigned*)>("nvmlDeviceGetMigMode", device, &mig, &pending);
    listed.push_back({uuid, name, asked && mig != 0});
  }
  return listed;
}

}  // namespace

std::optional<std::string> visible_gpu(const std::vector<ListedGpu>& listed, std::size_t index,
                                       const char* visible, bool by_bus) {
  // With a GPU in instances among them CUDA counts otherwise than the driver.
  const bool whole = std::none_of(listed.begin(), listed.end(), [](const ListedGpu& gpu) { return gpu.mig; });
  const bool order_known = whole && (by_bus || one_name(listed));
  if (visible == nullptr) {
    if (index >= listed.size() || !order_known) return std::nullopt;
    return listed[index].uuid;
  }
  std::istringstream entries(visible);
  std::vector<std::string> found;
  for (std::string entry; found.size() <= index && std::getline(entries, entry, ',');) {
    const auto gpu = named(listed, entry, order_known);
    // Behind one that does not exist CUDA sees none, and one that is named twice is an error.
    if (!gpu || std::find(found.begin(), found.end(), *gpu) != found.end()) return std::nullopt;
    found.push_back(*gpu);
  }
  return index < found.size() ? std::optional(found[index]) : std::nullopt;
}

std::optional<std::string> visible_gpu(std::size_t index) {
  const auto listed = listed_gpus();
  if (!listed) return std::nullopt;
  const char* const order = std::getenv("CUDA_DEVICE_ORDER");
  return visible_gpu(*listed, index, std::getenv("CUDA_VISIBLE_DEVICES"),
                     order != nullptr && std::string_view(order) == "PCI_BUS_ID");
}

}  // namespace strictbench
