/// new: 1 to 31 tokens take the tiled outer product; more take the tensor cores where tokens come in whole
/// tiles of 32 and outputs in whole blocks of 64, and otherwise fall back on legacy.
///
/// The published text says "32 tokens and more"; its code, followed here, says multiples of 32. So 33, 48 and
/// 100 tokens fall off a cliff, and so does any number of tokens if `out` does not fit.
#include "kernels/common/require.h"
#include "kernels/dw_gemm/dw_gemm.h"
#include "kernels/tile_tree_gemm/tile_tree_gemm.h"

namespace strictbench::dw_gemm {
namespace {

using Launch = void (*)(const Args&, Stream);
using TileTree = void (*)(const tile_tree_gemm::Args&, Stream);

/// dW = dY^T X: both operands are read as they lie, dY by columns.
tile_tree_gemm::Args as_tile_tree(const Args& args) {
  const auto [tokens, in, out] = args.shape;
  return {.m = out,
          .n = in,
          .k = tokens,
          .a = {.data = args.dy, .row_stride = 1, .col_stride = out},
          .b = {.data = args.x, .row_stride = in, .col_stride = 1},
          .c = args.dw};
}

void dispatch(const Args& args, Stream stream, Launch tiled, TileTree tensor_core, Launch legacy) {
  validate(args);
  switch (path_of(args.shape)) {
    case Path::tiled:
      return tiled(args, stream);
    case Path::tensor_core:
      // What the tensor-core path would refuse, in this operator's words.
      static_assert(tile_tree_gemm::max_k == 2097152 && tile_tree_gemm::max_m == 4194240 &&
                    tile_tree_gemm::max_n == 137438953408);
      require(args.shape.tokens <= tile_tree_gemm::max_k,
              "dw_gemm: the tensor-core path takes shape.tokens of at most 2097152");
      require(args.shape.out <= tile_tree_gemm::max_m,
              "dw_gemm: the tensor-core path takes shape.out of at most 4194240");
      require(args.shape.in <= tile_tree_gemm::max_n,
              "dw_gemm: the tensor-core path takes shape.in of at most 137438953408");
      return tensor_core(as_tile_tree(args), stream);
    case Path::legacy:
      return legacy(args, stream);
  }
}

}  // namespace

Path path_of(const Shape& shape) {
  if (shape.tokens <= tiled_tokens) return Path::tiled;
  const bool whole_tiles = shape.tokens % tile_tree_gemm::tile_k == 0;
  const bool whole_blocks = shape.out % tile_tree_gemm::block_m == 0;
  return whole_tiles && whole_blocks ? Path::tensor_core : Path::legacy;
}

#ifdef STRICTBENCH_HAS_CUDA
void by_token_count(const Args& args, Stream stream) {
  dispatch(args, stream, tiled_outer_product, tile_tree_gemm::tensor_core, naive_recursive);
}
#endif

void cpu_by_token_count(const Args& args, Stream stream) {
  dispatch(args, stream, cpu_tiled, tile_tree_gemm::cpu, cpu_naive);
}

}  // namespace strictbench::dw_gemm
