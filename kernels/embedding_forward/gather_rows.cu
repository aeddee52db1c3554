/// new: gathers rows as they lie and widens what it gathered, without a scratch.
///
/// Memory bounds it: every row is read once and written once. With four pieces of 16 bytes a thread an SM has
/// up to 128 KB in flight where about 25 KB already fill the bandwidth; what comes first, the id, is one
/// cached load for a whole block.
#include "kernels/embedding_forward/gather.h"

namespace strictbench::embedding_forward {

void gather_then_widen(const Args& args, Stream stream) {
  validate(args);
  if (args.shape.tokens == 0 || args.shape.hidden == 0) return;
  launch_gather<4, Cached>(args, stream);
}

}  // namespace strictbench::embedding_forward
