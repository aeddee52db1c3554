#include "kernels/common/require.h"
#include "kernels/embedding_forward/embedding_forward.h"

namespace strictbench::embedding_forward {
namespace {

struct Extents {
  Extent ids;
  Extent weight;
  Extent out;
  Extent table;
};

Extents extents(const Args& args) {
  const auto& [tokens, vocab, hidden] = args.shape;
  constexpr const char* table_rule =
      "embedding_forward: shape.vocab * shape.hidden must fit the address space";
  constexpr const char* out_rule =
      "embedding_forward: shape.tokens * shape.hidden must fit the address space";
  return {.ids = {args.ids.data, spanned_bytes(tokens, 1, 1, size_of(args.ids.type),
                                               "embedding_forward: shape.tokens must fit the address space")},
          .weight = {args.weight.data,
                     spanned_bytes(vocab, hidden, hidden, size_of(args.weight.dtype), table_rule)},
          .out = {args.out.data, spanned_bytes(tokens, hidden, hidden, size_of(args.out.dtype), out_rule)},
          .table = {args.table_fp32, spanned_bytes(vocab, hidden, hidden, sizeof(float), table_rule)}};
}

}  // namespace

void validate(const Args& args) {
  const auto& [tokens, vocab, hidden] = args.shape;
  require(tokens >= 0, "embedding_forward: shape.tokens must not be negative");
  require(vocab >= 0, "embedding_forward: shape.vocab must not be negative");
  require(hidden >= 0, "embedding_forward: shape.hidden must not be negative");
  require(known(args.ids.type), "embedding_forward: ids must be int64 or int32");
  require(known(args.weight.dtype), "embedding_forward: weight must be fp32, bf16 or fp16");
  require(args.out.dtype == args.weight.dtype || args.out.dtype == Dtype::fp32,
          "embedding_forward: out must be of the weight's type or fp32");
  const bool empty = tokens == 0 || hidden == 0;
  require(args.ids.data != nullptr || tokens == 0, "embedding_forward: ids must not be null");
  require(args.weight.data != nullptr || vocab == 0 || hidden == 0,
          "embedding_forward: weight must not be null");
  require(args.out.data != nullptr || empty, "embedding_forward: out must not be null");
  require_aligned(args.ids.data, size_of(args.ids.type),
                  "embedding_forward: ids must be aligned to its elements");
  require_aligned(args.weight.data, size_of(args.weight.dtype),
                  "embedding_forward: weight must be aligned to its elements");
  require_aligned(args.out.data, size_of(args.out.dtype),
                  "embedding_forward: out must be aligned to its elements");
  const Extents all = extents(args);
  require_apart(all.out, all.ids, "embedding_forward: out must not overlap ids");
  require_apart(all.out, all.weight, "embedding_forward: out must not overlap weight");
}

void validate_legacy(const Args& args) {
  validate(args);
  if (legacy_scratch_bytes(args.shape, args.weight.dtype) == 0) return;
  require(args.table_fp32 != nullptr, "embedding_forward: table_fp32 must not be null for legacy");
  require_aligned(args.table_fp32, sizeof(float),
                  "embedding_forward: table_fp32 must be aligned to its elements");
  const Extents all = extents(args);
  require_apart(all.table, all.ids, "embedding_forward: table_fp32 must not overlap ids");
  require_apart(all.table, all.weight, "embedding_forward: table_fp32 must not overlap weight");
  require_apart(all.table, all.out, "embedding_forward: table_fp32 must not overlap out");
}

void validate_ids(const Shape& shape, const TypedIds& ids) {
  require_ids_in_range("embedding_forward", ids, shape.tokens, shape.vocab);
}

std::size_t legacy_scratch_bytes(const Shape& shape, Dtype weight) {
  return weight == Dtype::fp32 ? 0 : static_cast<std::size_t>(shape.vocab * shape.hidden) * sizeof(float);
}

}  // namespace strictbench::embedding_forward
