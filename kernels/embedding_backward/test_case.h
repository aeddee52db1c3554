/// For the tests of embedding_backward: one set of inputs, and every variant on it against its oracle.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kernels/common/random.h"
#include "kernels/common/test_array.h"
#include "kernels/common/test_typed.h"
#include "kernels/embedding_backward/embedding_backward.h"

namespace strictbench::embedding_backward {

struct Case {
  Shape shape;
  std::vector<std::int64_t> ids;
  std::vector<float> grad;  ///< [tokens, hidden], each value exact in grad_type
  IdType id_type = IdType::int64;
  Dtype grad_type = Dtype::bf16;
  Dtype weight_type = Dtype::bf16;
  std::int64_t extra_stride = 0;
  std::vector<std::int64_t> keys = {};  ///< of the canonical form; none: the plain order of position
};

inline std::vector<std::int64_t> some_ids(const Shape& shape) {
  const auto key = random_key("any ids");
  std::vector<std::int64_t> ids;
  for (std::int64_t t = 0; t < shape.tokens; ++t)
    ids.push_back(static_cast<std::int64_t>(
        random_below(key, static_cast<std::uint64_t>(t), static_cast<std::uint64_t>(shape.vocab))));
  return ids;
}

inline std::vector<float> some_grad(const Shape& shape, Dtype dtype = Dtype::bf16) {
  return test::cancelling_values(random_key("grad"), shape.tokens, shape.hidden, dtype);
}

inline std::string text(const Case& c) {
  return std::to_string(c.shape.tokens) + " tokens, " + std::to_string(c.shape.vocab) + " x " +
         std::to_string(c.shape.hidden) + ", int" + std::to_string(8 * size_of(c.id_type)) + ", " +
         std::string(name_of(c.grad_type)) + " to " + std::string(name_of(c.weight_type)) + ", stride +" +
         std::to_string(c.extra_stride);
}

/// All of dweight, from the sums.
inline std::vector<std::byte> whole(const Case& c, const Sums& sums) {
  std::vector<std::byte> all(static_cast<std::size_t>(c.shape.vocab * c.shape.hidden) *
                             size_of(c.weight_type));  // +0
  for (const auto& [id, row] : sums) {
    const auto bytes = test::encoded(c.weight_type, row);
    std::copy(bytes.begin(), bytes.end(),
              all.begin() + id * c.shape.hidden * static_cast<std::int64_t>(size_of(c.weight_type)));
  }
  return all;
}

/// The case as the canonical form orders it, without keys.
inline Case in_order(const Case& c) {
  if (c.keys.empty()) return c;
  Case ordered = c;
  ordered.keys = {};
  ordered.ids = {};
  ordered.grad = {};
  for (const std::int64_t t : canonical_order(c.keys)) {
    ordered.ids.push_back(c.ids[static_cast<std::size_t>(t)]);
    const auto row = c.grad.begin() + t * c.shape.hidden;
    ordered.grad.insert(ordered.grad.end(), row, row + c.shape.hidden);
  }
  ordered.shape.tokens = static_cast<std::int64_t>(ordered.ids.size());
  return ordered;
}

inline std::vector<std::byte> ascending(const Case& c) {
  const Case ordered = in_order(c);
  return whole(c, oracle(ordered.shape, ordered.ids, ordered.grad));
}

inline std::vector<std::byte> step_tree(const Case& c) {
  return whole(c, oracle_step_tree(c.shape, c.ids, c.grad));
}

/// The case's inputs and room for sorting on a device.
class OnDevice {
 public:
  OnDevice(Device device, const Case& c)
      : case_(c),
        device_(device),
        stride_(c.shape.hidden + c.extra_stride),
        host_ids_(id_bytes(c)),
        host_grad_(spread(c, stride_)),
        ids_(device, host_ids_),
        grad_(device, host_grad_),
        keys_(device, c.keys),
        sorted_ids_(device, c.ids.size()),
        positions_(device, c.ids.size()),
        workspace_bytes_(workspace_bytes(device, c.shape.tokens)),
        workspace_(device, std::vector<std::byte>(workspace_bytes_)) {}

  Args args(void* dweight) {
    return {.shape = case_.shape,
            .ids = {ids_.data(), case_.id_type},
            .grad = {grad_.data(), case_.grad_type},
            .grad_stride = stride_,
            .dweight = {dweight, case_.weight_type},
            .sorted = {sorted_ids_.data(), positions_.data(), workspace_.data(), workspace_bytes_}};
  }

  /// Sorts by the case's keys if it has any.
  void sort(const Args& args) {
#ifdef STRICTBENCH_HAS_CUDA
    if (device_ == Device::cuda)
      return case_.keys.empty() ? sort_ids(args, nullptr) : sort_ids_by_key(args, keys_.data(), nullptr);
#endif
    case_.keys.empty() ? cpu_sort_ids(args, nullptr) : cpu_sort_ids_by_key(args, keys_.data(), nullptr);
  }

  /// dweight after `launch`, from poison or, with `zeroed`, from zeros and sorted ids. Inputs must not
  /// change.
  std::vector<std::byte> run(void (*launch)(const Args&, Stream), bool zeroed) {
    const auto elements = static_cast<std::size_t>(case_.shape.vocab * case_.shape.hidden);
    test::Array<std::byte> dweight(device_,
                                   zeroed ? std::vector<std::byte>(elements * size_of(case_.weight_type))
                                          : test::poisoned_bytes(case_.weight_type, elements));
    const Args all = args(dweight.data());
    if (zeroed) sort(all);
    launch(all, nullptr);
    const std::vector<std::byte> result = dweight.values();
    EXPECT_EQ(ids_.values(), host_ids_);
    EXPECT_EQ(grad_.values(), host_grad_);
    EXPECT_EQ(keys_.values(), case_.keys);
    return result;
  }

 private:
  static std::vector<std::byte> id_bytes(const Case& c) {
    return with_type(c.id_type, [&]<class Id>() {
      std::vector<std::byte> bytes(c.ids.size() * sizeof(Id));
      for (std::size_t t = 0; t < c.ids.size(); ++t) {
        const Id id = static_cast<Id>(c.ids[t]);
        std::memcpy(bytes.data() + t * sizeof(Id), &id, sizeof id);
      }
      return bytes;
    });
  }

  /// The gradient with poison between its rows.
  static std::vector<std::byte> spread(const Case& c, std::int64_t stride) {
    const auto size = static_cast<std::int64_t>(size_of(c.grad_type));
    const std::vector<std::byte> rows = test::encoded(c.grad_type, c.grad);
    std::vector<std::byte> all =
        test::poisoned_bytes(c.grad_type, static_cast<std::size_t>(c.shape.tokens * stride));
    for (std::int64_t t = 0; t < c.shape.tokens; ++t)
      std::copy_n(rows.begin() + t * c.shape.hidden * size, c.shape.hidden * size,
                  all.begin() + t * stride * size);
    return all;
  }

  static std::size_t workspace_bytes(Device device, std::int64_t tokens) {
#ifdef STRICTBENCH_HAS_CUDA
    if (device == Device::cuda) return sort_workspace_bytes(tokens);
#endif
    static_cast<void>(device);
    static_cast<void>(tokens);
    return 0;
  }

  const Case case_;
  Device device_;
  std::int64_t stride_;
  std::vector<std::byte> host_ids_;
  std::vector<std::byte> host_grad_;
  test::Array<std::byte> ids_;
  test::Array<std::byte> grad_;
  test::Array<std::int64_t> keys_;
  test::Array<std::int64_t> sorted_ids_;
  test::Array<std::int64_t> positions_;
  std::size_t workspace_bytes_;
  test::Array<std::byte> workspace_;
};

/// Where two tables first differ: row, column.
inline std::pair<std::int64_t, std::int64_t> first_difference(const std::vector<std::uint32_t>& left,
                                                              const std::vector<std::uint32_t>& right,
                                                              std::int64_t hidden) {
  const auto at = std::mismatch(left.begin(), left.end(), right.begin(), right.end()).first - left.begin();
  return {at / hidden, at % hidden};
}

enum class Legacy { too, left_out };  ///< it scans all tokens for every row

/// Every variant on every device, kernel alone and whole; legacy against the step tree, the others against
/// the ascending order. With keys only what can sort by them: the kernel alone, and not legacy.
inline void expect_all_variants(const Case& c, Legacy legacy = Legacy::too) {
  const auto expect = [&](OnDevice& on, const Variant<Args>& variant, const char* part, bool zeroed) {
    SCOPED_TRACE(std::string(variant.name) + " " + part + " on " + test::text(variant.device) + ", " +
                 text(c));
    const auto expected = variant.name == "legacy" ? step_tree(c) : ascending(c);
    const auto got = test::bits_any_nan(c.weight_type, on.run(variant.launch, zeroed));
    const auto wanted = test::bits_any_nan(c.weight_type, expected);
    EXPECT_EQ(got, wanted) << "first in row, column "
                           << testing::PrintToString(first_difference(got, wanted, c.shape.hidden));
  };
  for (const Device device : test::devices()) {
    OnDevice on(device, c);
    const auto meant = [&](const Variant<Args>& variant) {
      return variant.device == device && (variant.name != "legacy" || legacy == Legacy::too);
    };
    for (const auto& variant : variants)
      if (meant(variant) && (variant.name != "legacy" || c.keys.empty()))
        expect(on, variant, "kernel", variant.name != "legacy");
    for (const auto& variant : whole_variants)
      if (meant(variant) && c.keys.empty()) expect(on, variant, "whole", false);
  }
}

}  // namespace strictbench::embedding_backward
