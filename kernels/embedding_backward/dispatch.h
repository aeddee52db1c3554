/// From the tags of Args to the template arguments of a kernel.
#pragma once
#include "kernels/embedding_backward/embedding_backward.h"

namespace strictbench::embedding_backward {

/// with_types(args, [&]<class Id, class Grad, class Weight>() {...})
template <class Work>
void with_types(const Args& args, Work&& work) {
  with_type(args.ids.type, [&]<class Id>() {
    with_type(args.grad.dtype, [&]<class Grad>() {
      with_type(args.dweight.dtype, [&]<class Weight>() { work.template operator()<Id, Grad, Weight>(); });
    });
  });
}

}  // namespace strictbench::embedding_backward
