/// tuned: the same gather, with rows marked as used once, and fewer pieces a thread.
///
/// Many tokens: a row that comes and goes needs no place in the L1, and what is written is not read again.
/// Two pieces a thread: 4,096 rows of fp32 take 36.7 us, in the same run with four 37.9; blocks that walk
/// over rows, wider loads where the result is wider, and either hint alone did not pay (H200). Few tokens:
/// one row of 8 KB by one SM takes longer than by four. In between it is the plain gather: rows that fit the
/// L2 together should stay there (512 tokens, H200: 2.3 us, marked as used once 2.6).
#include "kernels/embedding_forward/gather.h"

namespace strictbench::embedding_forward {
namespace {

/// Marked as used once, on both ways.
struct Streamed {
  template <class Piece>
  __device__ static Piece load(const Piece* from) {
    return __ldcs(from);
  }
  template <class Piece>
  __device__ static void store(Piece* to, Piece piece) {
    __stcs(to, piece);
  }
};

constexpr std::int64_t few_tokens = 32;
/// Elements, where each is a piece of its own.
constexpr std::int64_t longest_row(int pieces_per_thread) {
  return grid_y * gather_threads * pieces_per_thread;
}
constexpr std::int64_t many_tokens = 1024;

}  // namespace

void stream_rows(const Args& args, Stream stream) {
  validate(args);
  if (args.shape.tokens == 0 || args.shape.hidden == 0) return;
  if (args.shape.tokens <= few_tokens && args.shape.hidden <= longest_row(1))
    return launch_gather<1, Streamed>(args, stream);
  if (args.shape.tokens < many_tokens || args.shape.hidden > longest_row(2))
    return launch_gather<4, Cached>(args, stream);
  launch_gather<2, Streamed>(args, stream);
}

}  // namespace strictbench::embedding_forward
