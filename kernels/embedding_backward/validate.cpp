#include "kernels/common/require.h"
#include "kernels/embedding_backward/embedding_backward.h"

namespace strictbench::embedding_backward {
namespace {

struct Extents {
  Extent ids;
  Extent grad;
  Extent dweight;
  Extent sorted_ids;
  Extent positions;
};

Extents extents(const Args& args) {
  const auto& [tokens, vocab, hidden] = args.shape;
  constexpr const char* tokens_rule = "embedding_backward: shape.tokens must fit the address space";
  const std::size_t wide = spanned_bytes(tokens, 1, 1, sizeof(std::int64_t), tokens_rule);
  return {
      .ids = {args.ids.data, wide / sizeof(std::int64_t) * size_of(args.ids.type)},
      .grad = {args.grad.data,
               spanned_bytes(tokens, hidden, args.grad_stride, size_of(args.grad.dtype),
                             "embedding_backward: shape.tokens * grad_stride must fit the address space")},
      .dweight = {args.dweight.data,
                  spanned_bytes(vocab, hidden, hidden, size_of(args.dweight.dtype),
                                "embedding_backward: shape.vocab * shape.hidden must fit the address space")},
      .sorted_ids = {args.sorted.ids, wide},
      .positions = {args.sorted.positions, wide}};
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
  const Extents all = extents(args);
  require_apart(all.dweight, all.ids, "embedding_backward: dweight must not overlap ids");
  require_apart(all.dweight, all.grad, "embedding_backward: dweight must not overlap grad");
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
  const Extents all = extents(args);
  require_apart(all.dweight, all.sorted_ids, "embedding_backward: dweight must not overlap sorted.ids");
  require_apart(all.dweight, all.positions, "embedding_backward: dweight must not overlap sorted.positions");
}

void validate_sort(const Args& args, const std::int64_t* keys) {
  validate_sorted(args);
  if (args.shape.tokens == 0) return;
  require_aligned(keys, sizeof(std::int64_t), "embedding_backward: keys must be aligned to its elements");
  const Extents all = extents(args);
  const Extent keys_extent{keys, keys == nullptr ? 0 : all.sorted_ids.bytes};
  const Extent workspace{args.sorted.workspace, args.sorted.workspace_bytes};
  require_apart(all.sorted_ids, all.positions,
                "embedding_backward: sorted.ids must not overlap sorted.positions");
  require_apart(all.sorted_ids, all.ids, "embedding_backward: sorted.ids must not overlap ids");
  require_apart(all.sorted_ids, all.grad, "embedding_backward: sorted.ids must not overlap grad");
  require_apart(all.sorted_ids, keys_extent, "embedding_backward: sorted.ids must not overlap keys");
  require_apart(all.positions, all.ids, "embedding_backward: sorted.positions must not overlap ids");
  require_apart(all.positions, all.grad, "embedding_backward: sorted.positions must not overlap grad");
  require_apart(all.positions, keys_extent, "embedding_backward: sorted.positions must not overlap keys");
  for (const Extent& other : {all.ids, all.grad, all.dweight, all.sorted_ids, all.positions, keys_extent})
    require_apart(workspace, other,
                  "embedding_backward: sorted.workspace must not overlap any other argument");
}

void validate_ids(const Shape& shape, const TypedIds& ids) {
  require_ids_in_range("embedding_backward", ids, shape.tokens, shape.vocab);
}

}  // namespace strictbench::embedding_backward
