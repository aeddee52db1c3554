/// Calls on several streams at once, and beside a capture: none waits for another, or writes into it.
#ifdef STRICTBENCH_HAS_CUDA
#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/embedding_backward/test_case.h"

namespace strictbench::embedding_backward {
namespace {

/// A stream with inputs and a result of its own.
class OnAStream {
 public:
  explicit OnAStream(Case c)
      : case_(std::move(c)),
        on_(Device::cuda, case_),
        dweight_(Device::cuda,
                 test::poisoned_bytes(case_.weight_type,
                                      static_cast<std::size_t>(case_.shape.vocab * case_.shape.hidden))) {
    cuda_check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    cuda_check(cudaDeviceSynchronize());  // the inputs are there: this stream waits for no other
  }
  ~OnAStream() { cudaStreamDestroy(stream_); }

  void launch(const Variant<Args>& variant) { variant.launch(on_.args(dweight_.data()), stream_); }
  void poison() {
    cuda_check(cudaMemsetAsync(dweight_.data(), 0x5a, dweight_.values().size(), stream_));
    cuda_check(cudaStreamSynchronize(stream_));
  }
  void expect(const Variant<Args>& variant) {
    const auto expected = variant.name == "legacy" ? step_tree(case_) : ascending(case_);
    EXPECT_TRUE(test::bits_any_nan(case_.weight_type, dweight_.values()) ==
                test::bits_any_nan(case_.weight_type, expected))
        << variant.name << ", " << text(case_);
  }
  cudaStream_t stream() const { return stream_; }

 private:
  const Case case_;
  OnDevice on_;
  test::Array<std::byte> dweight_;
  cudaStream_t stream_ = nullptr;
};

Case case_of(std::int64_t tokens) {
  const Shape shape{tokens, 3000, 512};
  return {.shape = shape, .ids = some_ids(shape), .grad = some_grad(shape)};
}

/// None without a GPU.
std::vector<Variant<Args>> whole_on_a_gpu() {
  std::vector<Variant<Args>> all;
  if (test::devices().size() >= 2)
    for (const auto& variant : whole_variants)
      if (variant.device == Device::cuda) all.push_back(variant);
  return all;
}

TEST(EmbeddingBackwardStreams, ACallMayRunBesideACapture) {
  const auto all = whole_on_a_gpu();
  if (all.empty()) GTEST_SKIP() << "needs a GPU";
  OnAStream captured(case_of(400));
  OnAStream plain(case_of(300));
  for (const auto& variant : all) {
    captured.launch(variant);  // what a first call sets up is not for a capture
    captured.poison();
    plain.poison();
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    cuda_check(cudaStreamBeginCapture(captured.stream(), cudaStreamCaptureModeThreadLocal));
    captured.launch(variant);
    plain.launch(variant);
    captured.launch(variant);
    cuda_check(cudaStreamEndCapture(captured.stream(), &graph));
    plain.expect(variant);
    plain.poison();
    cuda_check(cudaGraphInstantiate(&executable, graph, 0));
    cuda_check(cudaGraphLaunch(executable, captured.stream()));
    plain.launch(variant);
    cuda_check(cudaGraphLaunch(executable, captured.stream()));
    captured.expect(variant);
    plain.expect(variant);
    cuda_check(cudaGraphExecDestroy(executable));
    cuda_check(cudaGraphDestroy(graph));
  }
}

TEST(EmbeddingBackwardStreams, ThreadsDoNotMeet) {
  const auto all = whole_on_a_gpu();
  if (all.empty()) GTEST_SKIP() << "needs a GPU";
  std::deque<OnAStream> streams;
  for (const std::int64_t tokens : {100, 200, 300, 400}) streams.emplace_back(case_of(tokens));
  for (const auto& variant : all) {
    for (OnAStream& one : streams) one.poison();
    std::vector<std::thread> threads;
    for (OnAStream& one : streams)
      threads.emplace_back([&] {
        for (int i = 0; i < 20; ++i) one.launch(variant);
      });
    for (std::thread& thread : threads) thread.join();
    for (OnAStream& one : streams) one.expect(variant);
  }
}

}  // namespace
}  // namespace strictbench::embedding_backward
#endif
