/// The pair's idea on a CPU: what is widened.
///
/// cpu_widen_table        every element of the table, then the rows are gathered from the fp32 copy
/// cpu_gather_then_widen  the gathered rows alone; none is copied twice
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "kernels/embedding_forward/embedding_forward.h"

namespace strictbench::embedding_forward {
namespace {

/// A T as itself or widened.
template <class Out, class T>
Out as(T x) {
  if constexpr (std::is_same_v<Out, T>)
    return x;
  else
    return to_float(x);
}

/// `row(id, to)` fills one row of out, for each token whose id is in range. T is the weight's type.
template <class T, class Out, class Row>
void for_each_row(const Args& args, const Row& row) {
  const auto& [tokens, vocab, hidden] = args.shape;
  with_type(args.ids.type, [&]<class Id>() {
    for (std::int64_t t = 0; t < tokens; ++t) {
      const std::int64_t id = args.ids.as<Id>()[t];
      Out* const to = args.out.as<Out>() + t * hidden;
      if (id >= 0 && id < vocab)
        row(id, to);
      else
        std::fill_n(to, hidden, as<Out>(missing<T>()));
    }
  });
}

template <class T>
void copy_rows(const Args& args) {
  const std::int64_t hidden = args.shape.hidden;
  for_each_row<T, T>(args, [&](std::int64_t id, T* to) {
    std::memcpy(to, args.weight.as<T>() + id * hidden, static_cast<std::size_t>(hidden) * sizeof(T));
  });
}

template <class T>
void gather_widened(const Args& args) {
  const std::int64_t hidden = args.shape.hidden;
  for_each_row<T, float>(args, [&](std::int64_t id, float* to) {
    std::transform(args.weight.as<T>() + id * hidden, args.weight.as<T>() + (id + 1) * hidden, to,
                   [](T x) { return to_float(x); });
  });
}

template <class T, class Out>
void gather_from_fp32(const Args& args) {
  const std::int64_t hidden = args.shape.hidden;
  for_each_row<T, Out>(args, [&](std::int64_t id, Out* to) {
    std::transform(args.table_fp32 + id * hidden, args.table_fp32 + (id + 1) * hidden, to,
                   [](float x) { return rounded<Out>(x); });
  });
}

}  // namespace

void cpu_widen_table(const Args& args, Stream) {
  validate_legacy(args);
  if (args.shape.tokens == 0 || args.shape.hidden == 0) return;
  if (args.weight.dtype == Dtype::fp32) return copy_rows<float>(args);
  with_type(args.weight.dtype, [&]<class T>() {
    std::transform(args.weight.as<T>(), args.weight.as<T>() + args.shape.vocab * args.shape.hidden,
                   args.table_fp32, [](T x) { return to_float(x); });
    args.out.dtype == args.weight.dtype ? gather_from_fp32<T, T>(args) : gather_from_fp32<T, float>(args);
  });
}

void cpu_gather_then_widen(const Args& args, Stream) {
  validate(args);
  if (args.shape.tokens == 0 || args.shape.hidden == 0) return;
  with_type(args.weight.dtype, [&]<class T>() {
    args.out.dtype == args.weight.dtype ? copy_rows<T>(args) : gather_widened<T>(args);
  });
}

}  // namespace strictbench::embedding_forward
