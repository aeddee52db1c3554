#include "kernels/common/require.h"
#include "kernels/embedding_backward/embedding_backward.h"

namespace strictbench::embedding_backward {
namespace {

Extent ids_of(const Args& args) {
  return require_addressed(
      args.ids.data, args.shape.tokens, 1, 1, size_of(args.ids.type),
      "embedding_backward: ids, shape.tokens of them, must stay within 64-bit addresses");
}

Extent grad_of(const Args& args) {
  return require_addressed(
      args.grad.data, args.shape.tokens, args.shape.hidden, args.grad_stride, size_of(args.grad.dtype),
      "embedding_backward: grad, shape.tokens * grad_stride elements, must stay within 64-bit addresses");
}

Extent dweight_of(const Args& args) {
  return require_addressed(
      args.dweight.data, args.shape.vocab, args.shape.hidden, args.shape.hidden, size_of(args.dweight.dtype),
      "embedding_backward: dweight, shape.vocab * shape.hidden elements, must stay within 64-bit addresses");
}

/// One int64 for each token.
Extent wide_of(const Args& args, const std::int64_t* data, const char* rule) {
  return require_addressed(data, args.shape.tokens, 1, 1, sizeof(std::int64_t), rule);
}

Extent sorted_ids_of(const Args& args) {
  return wide_of(args, args.sorted.ids,
                 "embedding_backward: sorted.ids, shape.tokens of them, must stay within 64-bit addresses");
}

Extent positions_of(const Args& args) {
  return wide_of(
      args, args.sorted.positions,
      "embedding_backward: sorted.positions, shape.tokens of them, must stay within 64-bit addresses");
}

}  // namespace

void validate(const Args& args) {
  const auto& [tokens, vocab, hidden] = args.shape;
  require(tokens >= 0, "embedding_backward: shape.tokens must not be negative");
  require(vocab >= 0, "embedding_backward: shape.vocab must not be negative");
  require(hidden >= 0, "embedding_backward: shape.hidden must not be negative");
  require(args.grad_stride >= hidden, "embedding_backward: grad_stride must be at least shape.hidden");
  require(known(args.ids.type), "embedding_backward: ids must be int64 or int32");
  require(known(args.grad.dtype), "embedding_backward: grad must be fp32, bf16 or fp16");
  require(known(args.dweight.dtype), "embedding_backward: dweight must be fp32, bf16 or fp16");
  require(args.ids.data != nullptr || tokens == 0, "embedding_backward: ids must not be null");
  require(args.grad.data != nullptr || tokens == 0 || hidden == 0,
          "embedding_backward: grad must not be null");
  require(args.dweight.data != nullptr || vocab == 0 || hidden == 0,
          "embedding_backward: dweight must not be null");
  require_aligned(args.ids.data, size_of(args.ids.type),
                  "embedding_backward: ids must be aligned to its elements");
  require_aligned(args.grad.data, size_of(args.grad.dtype),
                  "embedding_backward: grad must be aligned to its elements");
  require_aligned(args.dweight.data, size_of(args.dweight.dtype),
                  "embedding_backward: dweight must be aligned to its elements");
  const Extent dweight = dweight_of(args);
  require_apart(dweight, ids_of(args), "embedding_backward: dweight must not overlap ids");
  require_apart(dweight, grad_of(args), "embedding_backward: dweight must not overlap grad");
}

void validate_sorted(const Args& args) {
  validate(args);
  if (args.shape.tokens == 0) return;
  require(args.sorted.ids != nullptr, "embedding_backward: sorted.ids must not be null");
  require(args.sorted.positions != nullptr, "embedding_backward: sorted.positions must not be null");
  require_aligned(args.sorted.ids, sizeof(std::int64_t),
                  "embedding_backward: sorted.ids must be aligned to its elements");
  require_aligned(args.sorted.positions, sizeof(std::int64_t),
                  "embedding_backward: sorted.positions must be aligned to its elements");
  const Extent dweight = dweight_of(args);
  require_apart(dweight, sorted_ids_of(args), "embedding_backward: dweight must not overlap sorted.ids");
  require_apart(dweight, positions_of(args), "embedding_backward: dweight must not overlap sorted.positions");
}

void validate_sort(const Args& args, const std::int64_t* keys) {
  validate_sorted(args);
  if (args.shape.tokens == 0) return;
  require_aligned(keys, sizeof(std::int64_t), "embedding_backward: keys must be aligned to its elements");
  const Extent ids = ids_of(args);
  const Extent grad = grad_of(args);
  const Extent sorted_ids = sorted_ids_of(args);
  const Extent positions = positions_of(args);
  const Extent read_keys =
      keys == nullptr
          ? Extent{}
          : wide_of(args, keys,
                    "embedding_backward: keys, shape.tokens of them, must stay within 64-bit addresses");
  const Extent workspace{args.sorted.workspace, args.sorted.workspace_bytes};
  require_apart(sorted_ids, positions, "embedding_backward: sorted.ids must not overlap sorted.positions");
  require_apart(sorted_ids, ids, "embedding_backward: sorted.ids must not overlap ids");
  require_apart(sorted_ids, grad, "embedding_backward: sorted.ids must not overlap grad");
  require_apart(sorted_ids, read_keys, "embedding_backward: sorted.ids must not overlap keys");
  require_apart(positions, ids, "embedding_backward: sorted.positions must not overlap ids");
  require_apart(positions, grad, "embedding_backward: sorted.positions must not overlap grad");
  require_apart(positions, read_keys, "embedding_backward: sorted.positions must not overlap keys");
  for (const Extent& other : {ids, grad, dweight_of(args), sorted_ids, positions, read_keys})
    require_apart(workspace, other,
                  "embedding_backward: sorted.workspace must not overlap any other argument");
}

void validate_ids(const Shape& shape, const TypedIds& ids) {
  require_ids_in_range("embedding_backward", ids, shape.tokens, shape.vocab);
}

}  // namespace strictbench::embedding_backward
