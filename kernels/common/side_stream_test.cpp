#ifdef STRICTBENCH_HAS_CUDA
#include "kernels/common/side_stream.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "kernels/common/test_array.h"

namespace strictbench {
namespace {

class SideStreams : public testing::Test {
 protected:
  void SetUp() override {
    if (test::devices().size() < 2) GTEST_SKIP() << "needs a GPU";
    cuda_check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  void TearDown() override {
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }

  cudaStream_t stream_ = nullptr;
};

TEST_F(SideStreams, AreLentOneByOneAndAgain) {
  cudaStream_t first = nullptr;
  {
    SideWork work(stream_);
    first = work.get();
    SideWork beside(stream_);
    EXPECT_NE(beside.get(), first);
    beside.join();
    work.join();
  }
  for (int i = 0; i < 3; ++i) {
    SideWork one(stream_);
    SideWork two(nullptr);
    EXPECT_EQ(one.get(), first);
    EXPECT_NE(two.get(), first);
    two.join();
    one.join();
  }
}

TEST_F(SideStreams, OfOneStreamDoNotHoldAnother) {
  cudaStream_t other = nullptr;
  cuda_check(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  std::atomic<bool> released = false;
  const auto wait = [](void* flag) {
    while (!*static_cast<std::atomic<bool>*>(flag)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  cuda_check(cudaLaunchHostFunc(stream_, wait, &released));
  for (const cudaStream_t stream : {stream_, other}) {
    SideWork work(stream);
    work.join();
  }
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  cudaError_t state = cudaErrorNotReady;
  while (state == cudaErrorNotReady && std::chrono::steady_clock::now() < give_up)
    state = cudaStreamQuery(other);
  EXPECT_EQ(state, cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(stream_), cudaErrorNotReady);
  released = true;
  cuda_check(cudaDeviceSynchronize());
  cudaGetLastError();  // "not ready" is remembered as one
  cudaStreamDestroy(other);
}

/// Captures come and go; what they had is lent again.
TEST_F(SideStreams, OfEndedCapturesAreLentToOthers) {
  cudaStream_t first = nullptr;
  for (int i = 0; i < 3; ++i) {
    cudaGraph_t graph = nullptr;
    cuda_check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    {
      SideWork work(stream_);
      EXPECT_TRUE(i == 0 || work.get() == first);
      first = work.get();
      work.join();
    }
    cuda_check(cudaStreamEndCapture(stream_, &graph));
    cuda_check(cudaGraphDestroy(graph));
  }
}

TEST_F(SideStreams, OfACaptureStayInIt) {
  cudaStream_t other = nullptr;
  cuda_check(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  cuda_check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
  cudaStream_t captured = nullptr;
  for (int i = 0; i < 3; ++i) {
    SideWork work(stream_);
    EXPECT_TRUE(i == 0 || work.get() == captured);
    captured = work.get();
    work.join();
  }
  {
    SideWork work(other);
    EXPECT_NE(work.get(), captured);
    work.join();
  }
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
  if (graph != nullptr) cudaGraphDestroy(graph);
  EXPECT_EQ(cudaStreamSynchronize(other), cudaSuccess);
  cudaStreamDestroy(other);
}

/// What was begun beside the stream is joined, or the capture could not end.
TEST_F(SideStreams, JoinWhereAnExceptionComesFirst) {
  test::Array<int> four(Device::cuda, std::vector<int>(4, 7));
  cuda_check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
  try {
    SideWork work(stream_);
    cuda_check(cudaMemsetAsync(four.data(), 0, 4 * sizeof(int), work.get()));
    throw std::invalid_argument("what a launch refuses");
  } catch (const std::invalid_argument&) {
  }
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  cuda_check(cudaStreamEndCapture(stream_, &graph));
  EXPECT_EQ(four.values(), std::vector<int>(4, 7));
  cuda_check(cudaGraphInstantiate(&executable, graph, 0));
  cuda_check(cudaGraphLaunch(executable, stream_));
  EXPECT_EQ(four.values(), std::vector<int>(4, 0));
  cuda_check(cudaGraphExecDestroy(executable));
  cuda_check(cudaGraphDestroy(graph));
}

}  // namespace
}  // namespace strictbench
#endif
