/// For the tests of embedding_forward: one set of inputs, and every variant on it against the oracle.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/common/random.h"
#include "kernels/common/test_array.h"
#include "kernels/common/test_special.h"
#include "kernels/common/test_typed.h"
#include "kernels/embedding_forward/embedding_forward.h"

namespace strictbench::embedding_forward {

struct Case {
  Shape shape;
  std::vector<std::int64_t> ids;
  Dtype dtype = Dtype::bf16;  ///< of weight
  bool wide = false;          ///< out in fp32
  IdType id_type = IdType::int64;
  std::int64_t lead = 0;  ///< elements that weight and out begin after an aligned address
  std::uint64_t key = random_key("weight");

  Dtype out_type() const { return wide ? Dtype::fp32 : dtype; }
  std::size_t table_elements() const { return static_cast<std::size_t>(shape.vocab * shape.hidden); }
  std::size_t out_elements() const { return static_cast<std::size_t>(shape.tokens * shape.hidden); }
};

inline std::string text(const Case& c) {
  return std::to_string(c.shape.tokens) + " tokens, " + std::to_string(c.shape.vocab) + " x " +
         std::to_string(c.shape.hidden) + ", int" + std::to_string(8 * size_of(c.id_type)) + ", " +
         std::string(name_of(c.dtype)) + " to " + std::string(name_of(c.out_type())) + ", lead " +
         std::to_string(c.lead);
}

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  const auto* const first = reinterpret_cast<const std::byte*>(values.data());
  return {first, first + values.size() * sizeof(T)};
}

/// Any bits, NaNs with every payload among them, and special values mixed in.
inline std::vector<std::byte> weight_bytes(const Case& c) {
  return with_type(c.dtype, [&]<class T>() {
    std::vector<T> weight;
    for (std::size_t i = 0; i < c.table_elements(); ++i)
      weight.push_back(test::from_bits<T>(static_cast<std::uint32_t>(mix(c.key + i))));
    test::Draw draw(mix(~c.key));
    test::mix_in_specials(draw, weight);
    return bytes_of(weight);
  });
}

/// The oracle's output, as bytes of out's type.
inline std::vector<std::byte> expected(const Case& c) {
  return with_type(c.dtype, [&]<class T>() {
    std::vector<T> weight(c.table_elements());
    const auto bytes = weight_bytes(c);
    if (!bytes.empty()) std::memcpy(weight.data(), bytes.data(), bytes.size());
    const std::vector<T> rows = oracle(c.shape, c.ids, weight);
    return c.wide ? bytes_of(widened(rows)) : bytes_of(rows);
  });
}

/// out after `variant`. What lies before and behind it and all inputs must not change.
inline std::vector<std::byte> run(const Variant<Args>& variant, const Case& c) {
  const std::size_t in_size = size_of(c.dtype);
  const std::size_t out_size = size_of(c.out_type());
  const auto lead = static_cast<std::size_t>(c.lead);
  constexpr std::size_t behind = 64;
  std::vector<std::byte> table = test::poisoned_bytes(c.dtype, lead);
  const auto weight = weight_bytes(c);
  table.insert(table.end(), weight.begin(), weight.end());
  const std::vector<std::byte> ids = with_type(c.id_type, [&]<class Id>() {
    std::vector<Id> some;
    for (const std::int64_t id : c.ids) some.push_back(static_cast<Id>(id));
    return bytes_of(some);
  });
  test::Array<std::byte> device_table(variant.device, table);
  test::Array<std::byte> device_ids(variant.device, ids);
  test::Array<std::byte> out(variant.device,
                             test::poisoned_bytes(c.out_type(), lead + c.out_elements() + behind));
  const bool legacy = variant.name == "legacy";
  test::Array<float> scratch(variant.device, legacy ? c.table_elements() : 0);
  variant.launch({.shape = c.shape,
                  .ids = {device_ids.data(), c.id_type},
                  .weight = {device_table.data() + lead * in_size, c.dtype},
                  .out = {out.data() + lead * out_size, c.out_type()},
                  .table_fp32 = legacy ? scratch.data() : nullptr},
                 nullptr);
  EXPECT_EQ(device_table.values(), table);
  EXPECT_EQ(device_ids.values(), ids);
  const std::vector<std::byte> all = out.values();
  const auto first = all.begin() + static_cast<std::ptrdiff_t>(lead * out_size);
  const auto last = first + static_cast<std::ptrdiff_t>(c.out_elements() * out_size);
  EXPECT_EQ(std::vector<std::byte>(all.begin(), first), test::poisoned_bytes(c.out_type(), lead));
  EXPECT_EQ(std::vector<std::byte>(last, all.end()), test::poisoned_bytes(c.out_type(), behind));
  return {first, last};
}

/// Whether the variant keeps the payloads of NaNs: `new` does, except that fp16's are widened by the device's
/// own conversion; legacy rounds its fp32 back.
inline bool keeps_payloads(const Variant<Args>& variant, const Case& c) {
  return c.wide ? c.dtype != Dtype::fp16 : variant.name != "legacy" || c.dtype == Dtype::fp32;
}

/// Every variant on every device against the oracle, bit for bit.
inline void expect_all_variants(const Case& c) {
  const auto wanted = expected(c);
  for (const Device device : test::devices())
    for (const auto& variant : variants) {
      if (variant.device != device) continue;
      SCOPED_TRACE(std::string(variant.name) + " on " + test::text(device) + ", " + text(c));
      const auto got = run(variant, c);
      if (keeps_payloads(variant, c)) {
        EXPECT_EQ(test::bits(c.out_type(), got), test::bits(c.out_type(), wanted));
      } else {
        EXPECT_EQ(test::bits_any_nan(c.out_type(), got),
                  test::bits_any_nan(c.out_type(), wanted, test::Poison::is_a_nan));
      }
    }
}

}  // namespace strictbench::embedding_forward
