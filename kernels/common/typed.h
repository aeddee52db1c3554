/// Addresses whose element type is known only when the program runs: what an operator's Args hold where it
/// takes several types.
#pragma once
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

#include "kernels/common/dtype.h"

namespace strictbench {

template <class T>
concept Element = std::is_same_v<T, float> || std::is_same_v<T, Bf16> || std::is_same_v<T, Fp16>;

/// Elements that an operator reads.
struct TypedInput {
  const void* data;
  Dtype dtype;

  TypedInput(const void* address, Dtype type) : data(address), dtype(type) {}
  template <Element T>
  TypedInput(const T* elements) : data(elements), dtype(dtype_of<T>) {}
  template <class T>
  const T* as() const {
    return static_cast<const T*>(data);
  }
};

/// Elements that an operator writes.
struct TypedOutput {
  void* data;
  Dtype dtype;

  TypedOutput(void* address, Dtype type) : data(address), dtype(type) {}
  template <Element T>
  TypedOutput(T* elements) : data(elements), dtype(dtype_of<T>) {}
  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
};

/// Token ids of either width.
struct TypedIds {
  const void* data;
  IdType type;

  TypedIds(const void* address, IdType id_type) : data(address), type(id_type) {}
  TypedIds(const std::int64_t* ids) : data(ids), type(IdType::int64) {}
  TypedIds(const std::int32_t* ids) : data(ids), type(IdType::int32) {}
  template <class Id>
  const Id* as() const {
    return static_cast<const Id*>(data);
  }
};

/// Whether the tag is one of the named values, and no other number.
constexpr bool known(Dtype dtype) {
  return dtype == Dtype::fp32 || dtype == Dtype::bf16 || dtype == Dtype::fp16;
}
constexpr bool known(IdType type) { return type == IdType::int64 || type == IdType::int32; }

/// For host memory. Throws std::invalid_argument for the first of `count` ids outside [0, vocab), with its
/// position, its value and the range.
inline void require_ids_in_range(std::string_view operator_name, const TypedIds& ids, std::int64_t count,
                                 std::int64_t vocab) {
  with_type(ids.type, [&]<class Id>() {
    for (std::int64_t t = 0; t < count; ++t)
      if (const std::int64_t id = ids.as<Id>()[t]; id < 0 || id >= vocab)
        throw std::invalid_argument(std::string(operator_name) + ": ids[" + std::to_string(t) + "] is " +
                                    std::to_string(id) + ", outside [0, " + std::to_string(vocab) + ")");
  });
}

}  // namespace strictbench
