/// Work is timed between two events with the host out of the way: both events and what lies between them are
/// enqueued while a blocking kernel holds the stream, and only then released. Launch cost, 4 to 6 us a
/// kernel, is paid before the first event is reached.
///
/// What would deadlock behind a blocking kernel and how it is avoided: more launches than the queue holds (a
/// call of several launches goes behind it as one graph), a module loaded on first use (modules load eagerly,
/// see main, and every sampler's call has run once before), a profiler (blocking is off in those modes).
/// Whatever else: the wait has a time limit.
#include <chrono>
#include <stdexcept>
#include <string>

#include "bench/harness/samplers_cuda.h"
#include "kernels/common/cuda_error.h"

namespace strictbench {
namespace {

constexpr unsigned long long gate_limit_ns = 5'000'000'000;

struct GateState {
  int open;
  int timed_out;
};

__global__ void wait_at_gate(volatile GateState* gate, unsigned long long limit_ns) {
  unsigned long long start = 0;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
  while (gate->open == 0) {
    __nanosleep(100);
    unsigned long long now = 0;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    if (now - start > limit_ns) {
      gate->timed_out = 1;
      return;
    }
  }
}

/// Holds a stream until opened, so that what is enqueued meanwhile runs without waiting for the host.
class Gate {
 public:
  Gate(cudaStream_t stream, bool blocking) : stream_(stream), blocking_(blocking) {
    cuda_check(cudaHostAlloc(&state_, sizeof(GateState), cudaHostAllocMapped));
  }
  ~Gate() { cudaFreeHost(state_); }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  void close() {
    if (!blocking_) return;
    *state_ = {};
    wait_at_gate<<<1, 1, 0, stream_>>>(state_, gate_limit_ns);
    check_launch();
  }
  void open() { static_cast<volatile GateState*>(state_)->open = 1; }

  /// Call when the stream is idle: a gate that gave up did not hide anything.
  void check() const {
    if (blocking_ && state_->timed_out != 0)
      throw std::runtime_error(
          "the blocking kernel gave up after 5 s: the host could not enqueue the timed work");
  }

 private:
  GateState* state_ = nullptr;
  cudaStream_t stream_;
  bool blocking_;
};

/// Opens the gate on every way out, an exception while enqueuing included.
class Held {
 public:
  explicit Held(Gate& gate) : gate_(gate) { gate_.close(); }
  ~Held() { gate_.open(); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

 private:
  Gate& gate_;
};

/// `calls` calls as one executable graph.
class Graph {
 public:
  Graph(const Call& call, int calls, cudaStream_t stream) {
    cudaGraph_t graph = nullptr;
    cuda_check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    try {
      for (int i = 0; i < calls; ++i) call(stream);
    } catch (...) {
      cudaStreamEndCapture(stream, &graph);  // leaves the stream usable for the cases that follow
      if (graph != nullptr) cudaGraphDestroy(graph);
      cudaGetLastError();
      throw;
    }
    cuda_check(cudaStreamEndCapture(stream, &graph));
    cudaError_t error = cudaGraphGetNodes(graph, nullptr, &nodes_);
    if (error == cudaSuccess) error = cudaGraphInstantiate(&executable_, graph, 0);
    cudaGraphDestroy(graph);
    cuda_check(error);
    cuda_check(cudaGraphUpload(executable_, stream));
    cuda_check(cudaStreamSynchronize(stream));
  }
  ~Graph() { cudaGraphExecDestroy(executable_); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  std::size_t nodes() const { return nodes_; }
  void launch(cudaStream_t stream) const { cuda_check(cudaGraphLaunch(executable_, stream)); }

 private:
  cudaGraphExec_t executable_ = nullptr;
  std::size_t nodes_ = 0;
};

}  // namespace

struct CudaTimers::Shared {
  Shared(cudaStream_t s, std::size_t bytes, bool blocking)
      : stream(s), gate(s, blocking), flush_bytes(bytes) {
    cuda_check(cudaEventCreate(&start));
    cuda_check(cudaEventCreate(&stop));
    {  // the blocking kernel itself must have run once before anything waits behind it
      const Held held(gate);
    }
    cuda_check(cudaStreamSynchronize(stream));
  }
  ~Shared() {
    cudaEventDestroy(start);
    cudaEventDestroy(stop);
    cudaFree(flush_buffer);
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  /// Overwrites the flush buffer, so that nothing of the operator's data is left in the caches.
  void flush() {
    if (flush_buffer == nullptr) cuda_check(cudaMalloc(&flush_buffer, flush_bytes));
    cuda_check(cudaMemsetAsync(flush_buffer, 0, flush_bytes, stream));
  }

  /// Seconds between the two events, everything enqueued by `work` in between.
  template <class Work>
  double between_events(const Work& work) {
    try {
      const Held held(gate);
      cuda_check(cudaEventRecord(start, stream));
      work();
      cuda_check(cudaEventRecord(stop, stream));
    } catch (...) {
      cudaStreamSynchronize(stream);  // the gate is read until its kernel ends, and must not be closed before
      throw;
    }
    const double seconds = elapsed();
    gate.check();
    return seconds;
  }

  /// Seconds between the two events, once the stream is idle.
  double elapsed() const {
    cuda_check(cudaStreamSynchronize(stream));
    float milliseconds = 0;
    cuda_check(cudaEventElapsedTime(&milliseconds, start, stop));
    return static_cast<double>(milliseconds) * 1e-3;
  }

  cudaStream_t stream;
  Gate gate;
  std::size_t flush_bytes;
  void* flush_buffer = nullptr;
  cudaEvent_t start = nullptr;
  cudaEvent_t stop = nullptr;
};

namespace {

using Shared = CudaTimers::Shared;

/// refresh() is one call that is not timed: what the case before left in the L2 is that case's matter. Of
/// 33 MB a first call takes 5 % longer behind another variant, and 20 % behind a flush (0.7 ms, H200).
class GraphSampler : public Sampler {
 public:
  GraphSampler(Shared& shared, const Call& call, int calls)
      : shared_(shared), calls_(calls), graph_(call, calls, shared.stream), single_(call, 1, shared.stream) {}
  void refresh() override {
    constexpr double long_call = 5e-3;  // of which reading all of the L2 anew is 0.3 %
    if (last_ < long_call) single_.launch(shared_.stream);
  }
  double sample() override {
    last_ = shared_.between_events([&] { graph_.launch(shared_.stream); }) / calls_;
    return last_;
  }

 private:
  Shared& shared_;
  int calls_;
  Graph graph_;
  Graph single_;
  double last_ = 0;
};

class ColdSampler : public Sampler {
 public:
  ColdSampler(Shared& shared, Call call)
      : shared_(shared), call_(std::move(call)), graph_(call_, 1, shared.stream) {}
  double sample() override {
    shared_.flush();
    return shared_.between_events([&] {
      if (graph_.nodes() == 1)
        call_(shared_.stream);
      else
        graph_.launch(shared_.stream);  // many launches may not fit the queue behind the gate
    });
  }

 private:
  Shared& shared_;
  Call call_;
  Graph graph_;
};

class WallSampler : public Sampler {
 public:
  WallSampler(Shared& shared, Call call, int calls)
      : shared_(shared), call_(std::move(call)), calls_(calls) {}
  double sample() override {
    cuda_check(cudaStreamSynchronize(shared_.stream));
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < calls_; ++i) call_(shared_.stream);
    cuda_check(cudaStreamSynchronize(shared_.stream));
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    return elapsed.count() / calls_;
  }

 private:
  Shared& shared_;
  Call call_;
  int calls_;
};

class EventSampler : public Sampler {
 public:
  EventSampler(Shared& shared, Call call) : shared_(shared), call_(std::move(call)) {}
  double sample() override {
    cuda_check(cudaEventRecord(shared_.start, shared_.stream));
    call_(shared_.stream);
    cuda_check(cudaEventRecord(shared_.stop, shared_.stream));
    return shared_.elapsed();
  }

 private:
  Shared& shared_;
  Call call_;
};

}  // namespace

CudaTimers::CudaTimers(cudaStream_t stream, std::size_t flush_bytes, bool blocking)
    : shared_(std::make_unique<CudaTimers::Shared>(stream, flush_bytes, blocking)) {}
CudaTimers::~CudaTimers() = default;

std::unique_ptr<Sampler> CudaTimers::make_sampler(Timer timer, Call call, int calls) {
  switch (timer) {
    case Timer::graph:
      return std::make_unique<GraphSampler>(*shared_, call, calls);
    case Timer::cold:
      return std::make_unique<ColdSampler>(*shared_, std::move(call));
    case Timer::wall:
      return std::make_unique<WallSampler>(*shared_, std::move(call), calls);
    case Timer::event:
      return std::make_unique<EventSampler>(*shared_, std::move(call));
    case Timer::cpu:
      break;
  }
  throw std::invalid_argument("the timer " + std::string(name_of(timer)) + " does not run on a GPU");
}

}  // namespace strictbench
