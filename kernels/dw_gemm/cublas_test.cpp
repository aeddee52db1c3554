#ifdef STRICTBENCH_HAS_CUBLAS
#include <gtest/gtest.h>

#include <stdexcept>

#include "kernels/dw_gemm/test_inputs.h"

namespace strictbench::dw_gemm {
namespace {

constexpr Shape shape{8, 96, 200};

TEST(DwGemmCublas, EachStreamHasItsOwnFirstCallWhichIsNotCaptured) {
  if (test::devices().size() < 2) GTEST_SKIP() << "needs a GPU";
  const Inputs inputs = wide_integer_inputs(shape, random_key("inputs"));
  test::Array<Bf16> x(Device::cuda, inputs.x);
  test::Array<Bf16> dy(Device::cuda, inputs.dy);
  const auto on = [&](cudaStream_t stream, test::Array<Bf16>& dw) {
    cublas({shape, x.data(), dy.data(), dw.data(), nullptr}, stream);
  };
  const auto elements = static_cast<std::size_t>(shape.in * shape.out);
  test::Array<Bf16> first(Device::cuda, elements);
  try {
    on(nullptr, first);
  } catch (const std::runtime_error& error) {
    if (std::string(error.what()).find("could not be loaded") == std::string::npos) throw;
    GTEST_SKIP() << error.what();
  }
  EXPECT_EQ(test::bits(first.values()), test::bits(whole_oracle(shape, inputs)));  // exact in any order

  cudaStream_t stream = nullptr;
  cuda_check(cudaStreamCreate(&stream));
  test::Array<Bf16> second(Device::cuda, elements);
  cudaGraph_t graph = nullptr;
  cuda_check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  EXPECT_THROW(on(stream, second), std::runtime_error);
  cudaStreamEndCapture(stream, &graph);
  if (graph != nullptr) cudaGraphDestroy(graph);
  cudaGetLastError();
  on(stream, second);
  EXPECT_EQ(test::bits(second.values()), test::bits(first.values()));

  test::Array<Bf16> third(Device::cuda, elements);
  cudaGraphExec_t executable = nullptr;
  cuda_check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  on(stream, third);
  cuda_check(cudaStreamEndCapture(stream, &graph));
  cuda_check(cudaGraphInstantiate(&executable, graph, 0));
  cuda_check(cudaGraphLaunch(executable, stream));
  EXPECT_EQ(test::bits(third.values()), test::bits(first.values()));
  cuda_check(cudaGraphExecDestroy(executable));
  cuda_check(cudaGraphDestroy(graph));
  cuda_check(cudaStreamDestroy(stream));
}

}  // namespace
}  // namespace strictbench::dw_gemm
#endif
