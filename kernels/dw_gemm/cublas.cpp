/// cublas: the vendor's GEMM, bf16 in and out, fp32 inside, in an order of its own.
///
/// The bar that the strict variants are seen beside, never equal to them. At few tokens the writes of dW
/// bound it. The library is loaded when it is first called, so that the other variants run where it is not
/// installed.
#ifdef STRICTBENCH_HAS_CUBLAS
#include <cublas_v2.h>
#include <dlfcn.h>

#include <map>
#include <mutex>
#include <source_location>
#include <stdexcept>
#include <string>
#include <utility>

#include "kernels/common/cuda_error.h"
#include "kernels/dw_gemm/dw_gemm.h"

namespace strictbench::dw_gemm {
namespace {

/// What is used of the library, each by its own name. Throws std::runtime_error where it cannot be loaded.
class Library {
 public:
  Library() : library_(dlopen(name().c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) throw std::runtime_error("cuBLAS could not be loaded: " + said());
    load(create, "cublasCreate_v2");
    load(destroy, "cublasDestroy_v2");
    load(set_stream, "cublasSetStream_v2");
    load(set_workspace, "cublasSetWorkspace_v2");
    load(gemm, "cublasGemmEx_64");
    load(status_name, "cublasGetStatusName");
    load(status_text, "cublasGetStatusString");
  }

  void check(cublasStatus_t status, std::source_location where = std::source_location::current()) const {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    throw std::runtime_error(std::string(status_name(status)) + ": " + status_text(status) + " (" +
                             where.file_name() + ":" + std::to_string(where.line()) + ")");
  }

  decltype(&cublasCreate_v2) create;
  decltype(&cublasDestroy_v2) destroy;
  decltype(&cublasSetStream_v2) set_stream;
  decltype(&cublasSetWorkspace_v2) set_workspace;
  decltype(&cublasGemmEx_64) gemm;
  decltype(&cublasGetStatusName) status_name;
  decltype(&cublasGetStatusString) status_text;

 private:
  static std::string name() { return "libcublas.so." + std::to_string(CUBLAS_VER_MAJOR); }
  static std::string said() {
    const char* const text = dlerror();
    return text != nullptr ? text : "no reason given";
  }
  template <class Function>
  void load(Function& function, const char* symbol) {
    function = reinterpret_cast<Function>(dlsym(library_, symbol));
    if (function == nullptr) throw std::runtime_error("cuBLAS lacks a function: " + said());
  }

  void* library_;
};

/// A stream's handle and workspace, made by the first call on it, and kept: a workspace that the handle took
/// from the stream's pool by itself could not be captured in a graph. Two streams that shared one would write
/// into each other's sums.
struct Context {
  Context(const Library& library, Stream stream) {
    cudaStreamCaptureStatus capture{};
    cuda_check(cudaStreamIsCapturing(stream, &capture));
    if (capture != cudaStreamCaptureStatusNone)
      throw std::runtime_error("dw_gemm: the first call of cublas on a stream must not be captured");
    library.check(library.create(&handle));
    try {
      cuda_check(cudaMalloc(&workspace, cublas_workspace_bytes));
      library.check(library.set_stream(handle, stream));  // before the workspace, which it would forget
      library.check(library.set_workspace(handle, workspace, cublas_workspace_bytes));
    } catch (...) {
      library.destroy(handle);
      cudaFree(workspace);
      throw;
    }
  }
  cublasHandle_t handle = nullptr;
  void* workspace = nullptr;
};

}  // namespace

void cublas(const Args& args, Stream stream) {
  validate(args);
  const auto [tokens, in, out] = args.shape;
  static std::mutex one_at_a_time;  // guards the map, and a stream's handle from two threads
  const std::lock_guard lock(one_at_a_time);
  static const Library library;
  static std::map<std::pair<int, Stream>, Context> contexts;  // by device and stream
  int device = 0;
  cuda_check(cudaGetDevice(&device));
  const Context& context = contexts.try_emplace({device, stream}, library, stream).first->second;
  // To cuBLAS, which counts down columns, dW [out, in] is [in, out] = X^T dY with X as [in, tokens].
  const float one = 1.0f;
  const float zero = 0.0f;
  library.check(library.gemm(context.handle, CUBLAS_OP_N, CUBLAS_OP_T, in, out, tokens, &one, args.x,
                             CUDA_R_16BF, in, args.dy, CUDA_R_16BF, out, &zero, args.dw, CUDA_R_16BF, in,
                             CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
}

}  // namespace strictbench::dw_gemm
#endif
