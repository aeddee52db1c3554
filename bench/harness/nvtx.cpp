#include "bench/harness/nvtx.h"

#include <algorithm>
#include <map>

#ifdef STRICTBENCH_HAS_NVTX
#include <nvtx3/nvToolsExt.h>
#endif

namespace strictbench {
namespace {

bool enabled = false;

#ifdef STRICTBENCH_HAS_NVTX
nvtxDomainHandle_t domain() {
  static const nvtxDomainHandle_t handle = nvtxDomainCreateA("strictbench");
  return handle;
}

/// Nsight Systems' capture matches registered strings only.
nvtxStringHandle_t registered(const std::string& name) {
  static std::map<std::string, nvtxStringHandle_t> strings;
  const auto [entry, is_new] = strings.try_emplace(name, nullptr);
  if (is_new) entry->second = nvtxDomainRegisterStringA(domain(), name.c_str());
  return entry->second;
}

void push(const std::string& name) {
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = registered(name);
  nvtxDomainRangePushEx(domain(), &attributes);
}

void pop() { nvtxDomainRangePop(domain()); }
constexpr bool built_in = true;
#else
void push(const std::string&) {}
void pop() {}
constexpr bool built_in = false;
#endif

}  // namespace

bool enable_nvtx() { return enabled = built_in; }

std::string nvtx_name(std::string_view row_name, std::string_view phase) {
  std::string name(row_name);
  std::replace(name.begin(), name.end(), '/', ' ');
  return name.append(" ").append(phase);
}

NvtxRange::NvtxRange(const std::string& name) : open_(enabled) {
  if (open_) push(name);
}

NvtxRange::~NvtxRange() {
  if (open_) pop();
}

}  // namespace strictbench
