/// What every operator's table of variants is made of.
#pragma once
#include <string_view>

struct CUstream_st;  // what cudaStream_t points to; named here so that headers need no CUDA

namespace strictbench {

enum class Device { cpu, cuda };

/// A CUDA stream, or null: CPU variants ignore it.
using Stream = CUstream_st*;

/// One way to compute an operator. `launch` neither allocates nor synchronises; it throws
/// std::invalid_argument for arguments that do not fit and std::runtime_error for a failed launch.
template <class Args>
struct Variant {
  std::string_view name;
  Device device;
  void (*launch)(const Args&, Stream);
};

}  // namespace strictbench
