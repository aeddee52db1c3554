#include "bench/selftest/selftest.h"
#include "kernels/common/cuda_error.h"

namespace strictbench::selftest {
namespace {

__global__ void copy(Args args) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  std::uint32_t value = 0;
  if (i < args.count && value_at(args, i, *args.runs, value)) args.out[i] = value;
}

__global__ void count_run(std::uint32_t* runs) { ++*runs; }

__global__ void spin(std::int64_t nanoseconds) {
  unsigned long long start = 0;
  unsigned long long now = 0;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
  do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  while (static_cast<std::int64_t>(now - start) < nanoseconds);
}

__global__ void write_nowhere(std::uint32_t* nowhere) { *nowhere = 1; }

__global__ void trap() { asm volatile("trap;"); }

__global__ void hang(const volatile std::uint32_t* runs) {
  while (*runs != 0xffffffffu) {
  }
}

}  // namespace

void write_nowhere_cuda(Stream stream) {
  write_nowhere<<<1, 1, 0, stream>>>(nullptr);
  check_launch();
}

void trap_cuda(Stream stream) {
  trap<<<1, 1, 0, stream>>>();
  check_launch();
}

void hang_cuda(const std::uint32_t* runs, Stream stream) {
  hang<<<1, 1, 0, stream>>>(runs);
  check_launch();
}

void copy_cuda(const Args& args, Stream stream) {
  copy<<<static_cast<unsigned>((args.count + 255) / 256), 256, 0, stream>>>(args);
  check_launch();
  count_run<<<1, 1, 0, stream>>>(args.runs);
  check_launch();
}

void spin_cuda(std::int64_t nanoseconds, Stream stream) {
  spin<<<1, 1, 0, stream>>>(nanoseconds);
  check_launch();
}

}  // namespace strictbench::selftest
