/// What a bench file hands to the harness: an operator's shapes, and how to set one up.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/harness/backend.h"
#include "bench/harness/ceilings.h"
#include "bench/harness/sampler.h"

namespace strictbench {

/// An oracle's result: the whole output, or the rows of it that are not +0.
struct Expected {
  std::vector<std::byte> values;   ///< all elements, or the listed rows one after the other
  std::vector<std::int64_t> rows;  ///< which rows of the output `values` holds; meaningless if row_bytes is 0
  std::size_t row_bytes = 0;       ///< 0: `values` is the whole output
};

/// What the outputs of a variant are held to before, between and after its timing.
struct Claim {
  std::string_view oracle = "ascending";  ///< a definition that Problem::oracle() knows
  double tolerance = 0;           ///< 0: the oracle's bits; else the largest relative L2 error against it
                                  ///< (of its worst part: part_allowance times as much)
  bool repeatable = true;         ///< with a tolerance: every run has the bits of the first
  std::string_view same_as = {};  ///< with a tolerance: the variant whose bits it must have, if any
};

/// A few roundings that fell the other way are more of a part than of the whole; an element that is missing
/// is far more than this.
inline constexpr double part_allowance = 10;

struct Output {
  std::string_view name;
  Tensor* tensor;
};

/// One shape of one operator on one device: owns inputs, scratch and outputs. Constructed with inputs filled.
class Problem {
 public:
  virtual ~Problem() = default;
  /// What every variant writes, in the order of oracle()'s results.
  virtual std::vector<Output> outputs() = 0;
  /// What `variant` promises on these inputs.
  virtual Claim claim(std::string_view variant) const {
    static_cast<void>(variant);
    return {};
  }
  /// That definition's results, one per output, computed on the CPU.
  virtual std::vector<Expected> oracle(std::string_view definition) const = 0;
  /// A promise beside its bits that `variant` breaks, such as batch invariance; empty if it keeps them all.
  /// Asked once, before timing.
  virtual std::string broken_promise(std::string_view variant) {
    static_cast<void>(variant);
    return {};
  }
  /// Bytes of device memory that `variant` needs beside inputs and outputs.
  virtual std::size_t scratch_bytes(std::string_view variant) const {
    static_cast<void>(variant);
    return 0;
  }
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
  Demand demand;                      ///< the least that a correct implementation moves and computes
  std::size_t memory;                 ///< bytes of device memory: inputs, scratch, outputs, expected outputs
  std::function<std::unique_ptr<Problem>(Backend&)> make;
  std::optional<int> samples = {};          ///< how many a published protocol takes in a process
  bool control = false;                     ///< legacy and new run the same code here: their times must agree
  std::vector<std::string> any_order = {};  ///< variants that need not add in the definition's order
};

/// What `variant` cannot do with less.
inline Demand demand_of(const ShapeEntry& shape, std::string_view variant) {
  const bool free = std::ranges::find(shape.any_order, variant) != shape.any_order.end();
  return free ? shape.demand.in_any_order() : shape.demand;
}

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
