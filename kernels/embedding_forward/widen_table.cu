/// legacy: widens the whole table to fp32 in a scratch of its size, then gathers rows from that.
///
/// Memory bounds it, and none of it is the tokens': at 151936 x 4096 in bf16 it reads 1.24 GB and writes 2.49
/// GB for even one token. For an output in the table's type the gathered fp32 is rounded back, which gives
/// every number its own bits again; a NaN comes back as NaN without its payload. A table in fp32 is its own
/// widening and is gathered as it is.
#include "kernels/common/cuda_error.h"
#include "kernels/common/require.h"
#include "kernels/embedding_forward/embedding_forward.h"

namespace strictbench::embedding_forward {
namespace {

constexpr int threads = 256;

template <class T>
__global__ void __launch_bounds__(threads) widen(const T* from, std::int64_t count, float* to) {
  const std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (i < count) to[i] = to_float(from[i]);
}

template <class Id, class Out>
__global__ void __launch_bounds__(threads)
    gather(Shape shape, const Id* ids, const float* table, Out* out, float missing_element) {
  const std::int64_t t = blockIdx.x;
  const std::int64_t h = std::int64_t{blockIdx.y} * threads + threadIdx.x;
  if (h >= shape.hidden) return;
  const std::int64_t id = ids[t];
  const bool found = id >= 0 && id < shape.vocab;
  out[t * shape.hidden + h] = rounded<Out>(found ? table[id * shape.hidden + h] : missing_element);
}

template <class T>
void launch_widen(const Args& args, unsigned blocks, Stream stream) {
  widen<<<blocks, threads, 0, stream>>>(args.weight.as<T>(), args.shape.vocab * args.shape.hidden,
                                        args.table_fp32);
  check_launch();
}

template <class Id, class Out>
void launch_gather(const Args& args, const float* table, dim3 grid, Stream stream) {
  const float missing_element =
      with_type(args.weight.dtype, [&]<class T>() { return to_float(missing<T>()); });
  gather<<<grid, threads, 0, stream>>>(args.shape, args.ids.as<Id>(), table, args.out.as<Out>(),
                                       missing_element);
  check_launch();
}

}  // namespace

void widen_table(const Args& args, Stream stream) {
  validate_legacy(args);
  const auto& [tokens, vocab, hidden] = args.shape;
  if (tokens == 0 || hidden == 0) return;
  const dim3 grid(grid_blocks(tokens, 1, grid_x, "embedding_forward: shape.tokens must fit a grid"),
                  grid_blocks(hidden, threads, grid_y, "embedding_forward: shape.hidden must fit a grid"));
  const unsigned table_blocks = grid_blocks(vocab * hidden, threads, grid_x,
                                            "embedding_forward: shape.vocab * shape.hidden must fit a grid");
  const bool wide = args.weight.dtype == Dtype::fp32;
  if (!wide && vocab > 0)
    with_type(args.weight.dtype, [&]<class T>() { launch_widen<T>(args, table_blocks, stream); });
  const float* const table = wide ? args.weight.as<float>() : args.table_fp32;
  with_type(args.ids.type, [&]<class Id>() {
    with_type(args.out.dtype, [&]<class Out>() { launch_gather<Id, Out>(args, table, grid, stream); });
  });
}

}  // namespace strictbench::embedding_forward
