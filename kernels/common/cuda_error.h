/// The one place where CUDA errors become exceptions.
#pragma once
#include <cuda_runtime_api.h>

#include <source_location>
#include <stdexcept>
#include <string>

namespace strictbench {

/// Throws std::runtime_error with the error's name, its text and the caller's place.
inline void cuda_check(cudaError_t error, std::source_location where = std::source_location::current()) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // or the next launch, an innocent one, would be blamed for it
  throw std::runtime_error(std::string(cudaGetErrorName(error)) + ": " + cudaGetErrorString(error) + " (" +
                           where.file_name() + ":" + std::to_string(where.line()) + ")");
}

/// Call right after a launch: a bad configuration shows nowhere else.
inline void check_launch(std::source_location where = std::source_location::current()) {
  cuda_check(cudaGetLastError(), where);
}

}  // namespace strictbench
