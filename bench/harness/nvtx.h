/// NVTX ranges in the domain `strictbench`, by registered strings. Off until enabled: ranges cost time, so
/// timing runs carry none. A build without NVTX headers has the same functions and they do nothing.
#pragma once
#include <string>
#include <string_view>

namespace strictbench {

/// From now on ranges are emitted. Whether this build can.
bool enable_nvtx();

/// The name of a range: a case's row name and a phase, slashes turned to spaces, because Nsight Compute
/// treats a name with slashes as a path.
std::string nvtx_name(std::string_view row_name, std::string_view phase);

/// A push/pop range around a scope.
class NvtxRange {
 public:
  explicit NvtxRange(const std::string& name);
  ~NvtxRange();
  NvtxRange(const NvtxRange&) = delete;
  NvtxRange& operator=(const NvtxRange&) = delete;

 private:
  bool open_;
};

}  // namespace strictbench
