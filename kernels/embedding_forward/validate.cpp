#include "kernels/common/require.h"
#include "kernels/embedding_forward/embedding_forward.h"

namespace strictbench::embedding_forward {
namespace {

Extent ids_of(const Args& args) {
  return require_addressed(args.ids.data, args.shape.tokens, 1, 1, size_of(args.ids.type),
                           "embedding_forward: ids, shape.tokens of them, must stay within 64-bit addresses");
}

Extent weight_of(const Args& args) {
  return require_addressed(
      args.weight.data, args.shape.vocab, args.shape.hidden, args.shape.hidden, size_of(args.weight.dtype),
      "embedding_forward: weight, shape.vocab * shape.hidden elements, must stay within 64-bit addresses");
}

Extent out_of(const Args& args) {
  return require_addressed(
      args.out.data, args.shape.tokens, args.shape.hidden, args.shape.hidden, size_of(args.out.dtype),
      "embedding_forward: out, shape.tokens * shape.hidden elements, must stay within 64-bit addresses");
}

Extent table_of(const float* table, const Shape& shape) {
  return require_addressed(
      table, shape.vocab, shape.hidden, shape.hidden, sizeof(float),
      "embedding_forward: table_fp32, shape.vocab * shape.hidden elements, must stay within 64-bit "
      "addresses");
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
  const Extent out = out_of(args);
  require_apart(out, ids_of(args), "embedding_forward: out must not overlap ids");
  require_apart(out, weight_of(args), "embedding_forward: out must not overlap weight");
}

void validate_legacy(const Args& args) {
  validate(args);
  if (legacy_scratch_bytes(args.shape, args.weight.dtype) == 0) return;
  require(args.table_fp32 != nullptr, "embedding_forward: table_fp32 must not be null for legacy");
  require_aligned(args.table_fp32, sizeof(float),
                  "embedding_forward: table_fp32 must be aligned to its elements");
  const Extent table = table_of(args.table_fp32, args.shape);
  require_apart(table, ids_of(args), "embedding_forward: table_fp32 must not overlap ids");
  require_apart(table, weight_of(args), "embedding_forward: table_fp32 must not overlap weight");
  require_apart(table, out_of(args), "embedding_forward: table_fp32 must not overlap out");
}

void validate_ids(const Shape& shape, const TypedIds& ids) {
  require_ids_in_range("embedding_forward", ids, shape.tokens, shape.vocab);
}

std::size_t legacy_scratch_bytes(const Shape& shape, Dtype weight) {
  require(shape.vocab >= 0, "embedding_forward: shape.vocab must not be negative");
  require(shape.hidden >= 0, "embedding_forward: shape.hidden must not be negative");
  return weight == Dtype::fp32 ? 0 : table_of(nullptr, shape).bytes;
}

}  // namespace strictbench::embedding_forward
