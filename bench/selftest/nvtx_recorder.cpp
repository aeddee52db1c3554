/// A library that NVTX loads in place of a profiler (NVTX_INJECTION64_PATH) and that writes each call it
/// sees, one a line, to the file named in NVTX_RECORD. For tests, which then need neither a GPU nor Nsight.
#include <nvtx3/nvToolsExt.h>

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <string>

namespace {

std::FILE* record() {
  static std::FILE* const file = std::fopen(std::getenv("NVTX_RECORD"), "w");
  return file;
}

/// Handles are the addresses of the kept names.
const std::string* keep(const char* name) {
  static std::deque<std::string> names;
  return &names.emplace_back(name);
}

template <class Handle>
const char* name_of(Handle handle) {
  return reinterpret_cast<const std::string*>(handle)->c_str();
}

nvtxDomainHandle_t domain_create(const char* name) {
  std::fprintf(record(), "domain\t%s\n", name);
  return reinterpret_cast<nvtxDomainHandle_t>(const_cast<std::string*>(keep(name)));
}

nvtxStringHandle_t register_string(nvtxDomainHandle_t domain, const char* name) {
  std::fprintf(record(), "register\t%s\t%s\n", name_of(domain), name);
  return reinterpret_cast<nvtxStringHandle_t>(const_cast<std::string*>(keep(name)));
}

int push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  const bool registered = event->messageType == NVTX_MESSAGE_TYPE_REGISTERED;
  std::fprintf(record(), "push\t%s\t%s\n", name_of(domain),
               registered ? name_of(event->message.registered) : "(not registered)");
  std::fflush(record());
  return 0;
}

int pop(nvtxDomainHandle_t domain) {
  std::fprintf(record(), "pop\t%s\n", name_of(domain));
  std::fflush(record());
  return 0;
}

template <class Function>
void set(NvtxFunctionTable table, int id, Function* function) {
  *table[id] = reinterpret_cast<NvtxFunctionPointer>(function);
}

}  // namespace

extern "C" int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_export_table) {
  const auto* const callbacks =
      static_cast<const NvtxExportTableCallbacks*>(get_export_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks == nullptr || callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0)
    return 0;
  set(table, NVTX_CBID_CORE2_DomainCreateA, domain_create);
  set(table, NVTX_CBID_CORE2_DomainRegisterStringA, register_string);
  set(table, NVTX_CBID_CORE2_DomainRangePushEx, push);
  set(table, NVTX_CBID_CORE2_DomainRangePop, pop);
  return 1;
}
