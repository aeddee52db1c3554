/// Which GPU CUDA would call number N, found out without CUDA: asking that makes a context, which whoever
/// measures on the GPU sees as a neighbour.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace strictbench {

/// A GPU as the driver's management library lists them, by PCI bus.
struct ListedGpu {
  std::string uuid;  ///< "GPU-..."
  std::string name;
  bool mig = false;  ///< cut into instances, of which CUDA then shows one or more in its place
};

/// The UUID, as CUDA tells it, of GPU `index` by CUDA's count. `visible` is CUDA_VISIBLE_DEVICES (null: all),
/// `by_bus` whether CUDA_DEVICE_ORDER is PCI_BUS_ID; else CUDA counts the fastest first, which is the
/// driver's order where all have one name. Nothing where there is no such GPU or any doubt which it is.
std::optional<std::string> visible_gpu(const std::vector<ListedGpu>& listed, std::size_t index,
                                       const char* visible, bool by_bus);

/// The same of this machine and environment. Nothing, too, where the library or one of its answers is
/// missing.
std::optional<std::string> visible_gpu(std::size_t index);

}  // namespace strictbench
