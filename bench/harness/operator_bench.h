/// What a bench file hands to the harness: an operator's shapes, and how to set one up.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/harness/backend.h"
#include "bench/harness/sampler.h"

namespace strictbench {

/// An oracle's result: the whole output, or the rows of it that are not +0.
struct Expected {
  std::vector<std::byte> values;   ///< all elements, or the listed rows one after the other
  std::vector<std::int64_t> rows;  ///< which rows of the output `values` holds; meaningless if row_bytes is 0
  std::size_t row_bytes = 0;       ///< 0: `values` is the whole output
};

/// One shape of one operator on one device: owns inputs, scratch and output. Constructed with inputs filled.
class Problem {
 public:
  virtual ~Problem() = default;
  /// What every variant writes.
  virtual Tensor& output() = 0;
  /// Which definition the bits of `variant` follow on these inputs.
  virtual std::string_view oracle_of(std::string_view variant) const {
    static_cast<void>(variant);
    return "ascending";
  }
  /// That definition's result, computed on the CPU.
  virtual Expected oracle(std::string_view definition) const = 0;
  /// What `variant` needs before each call and is not timed (zeroing, sorting). Complete when it returns.
  virtual void prepare(std::string_view variant) { static_cast<void>(variant); }
  /// One timed call of `variant`. Valid as long as the problem.
  virtual Call call(std::string_view variant) = 0;
};

struct ShapeEntry {
  std::string keys;                   ///< "rows:64/cols:128/dtype:fp32", as in row names
  std::vector<std::string> variants;  ///< in the order they are shown, legacy first
  Timer gating;                       ///< the timer that the default run measures
  std::vector<Timer> others;          ///< measured on request
  double bytes;                       ///< the least a correct implementation moves in one call
  double operations;                  ///< the least it computes
  std::size_t memory;                 ///< bytes of device memory: inputs, scratch, output, expected output
  std::function<std::unique_ptr<Problem>(Backend&)> make;
};

struct OperatorBench {
  std::string name;
  std::vector<ShapeEntry> shapes;
};

/// The operator's shapes on a kind of device. Each bench file defines it.
OperatorBench operator_bench(Device device);

/// The names of a table's variants on a device, in the table's order.
template <class Table>
std::vector<std::string> variant_names(const Table& table, Device device) {
  std::vector<std::string> names;
  for (const auto& variant : table)
    if (variant.device == device) names.emplace_back(variant.name);
  return names;
}

/// The launcher of a table's variant on a device. Throws std::out_of_range if there is none.
template <class Table>
auto find_launch(const Table& table, std::string_view name, Device device) {
  for (const auto& variant : table)
    if (variant.name == name && variant.device == device) return variant.launch;
  throw std::out_of_range("no variant " + std::string(name));
}

/// Copies any contiguous values into an Expected that is the whole output.
template <class T>
Expected whole_output(const std::vector<T>& values) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(values.data());
  return {.values = {bytes, bytes + values.size() * sizeof(T)}, .rows = {}, .row_bytes = 0};
}

}  // namespace strictbench
