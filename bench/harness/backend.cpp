#include "bench/harness/backend.h"

#include <charconv>
#include <stdexcept>

#include "bench/harness/backends.h"

namespace strictbench {

std::unique_ptr<Backend> make_backend(std::string_view choice, bool blocking) {
  if (choice == "cpu") return make_cpu_backend();
  int index = 0;
  if (!choice.empty() && choice != "cuda") {
    const auto [end, error] = std::from_chars(choice.data(), choice.data() + choice.size(), index);
    if (error != std::errc{} || end != choice.data() + choice.size() || index < 0)
      throw std::invalid_argument("unknown device '" + std::string(choice) + "': " + existing_devices());
  }
  if (choice.empty() && cuda_device_count() == 0) return make_cpu_backend();
  if (index >= cuda_device_count())
    throw std::invalid_argument("no GPU " +
                                (choice == "cuda" ? std::string("found") : std::to_string(index)) + ": " +
                                existing_devices());
  return make_cuda_backend(index, blocking);
}

std::string existing_devices() {
  const int count = cuda_device_count();
  std::string text = "--device takes cpu";
  if (count > 0) text += ", cuda";
  for (int i = 0; i < count; ++i) text += ", " + std::to_string(i);
  return text + (count == 0 ? " here (" + why_no_cuda() + ")" : " here");
}

#ifndef STRICTBENCH_HAS_CUDA
int cuda_device_count() { return 0; }
std::string why_no_cuda() { return "built without CUDA"; }
std::unique_ptr<Backend> make_cuda_backend(int, bool) { throw std::invalid_argument("built without CUDA"); }
#endif

}  // namespace strictbench
