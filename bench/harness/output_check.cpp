#include "bench/harness/output_check.h"

#include <algorithm>
#include <cstdio>
#include <stdexcept>

namespace strictbench {
namespace {

std::string hex(std::uint32_t bits, Dtype dtype) {
  char text[16];
  std::snprintf(text, sizeof text, dtype == Dtype::fp32 ? "0x%08x" : "0x%04x", bits);
  return text;
}

std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

/// The oracle's result in the backend's memory.
Tensor place(Backend& backend, const Tensor& output, const Expected& expected) {
  Tensor placed(backend, output.dtype(), output.count());
  if (expected.row_bytes == 0) {
    if (expected.values.size() != placed.bytes())
      throw std::logic_error("the oracle's result has another size");
    backend.upload(placed.as(), expected.values.data(), expected.values.size());
    return placed;
  }
  placed.zero();
  for (std::size_t i = 0; i < expected.rows.size(); ++i)
    backend.upload(placed.as<std::byte>() + static_cast<std::size_t>(expected.rows[i]) * expected.row_bytes,
                   expected.values.data() + i * expected.row_bytes, expected.row_bytes);
  return placed;
}

/// The variant whose earlier run `variant` must repeat to the bit; empty: none, or the oracle's bits say it.
std::string_view repeats(const Claim& claim, std::string_view variant) {
  if (claim.tolerance == 0) return {};
  if (!claim.same_as.empty()) return claim.same_as;
  return claim.repeatable ? variant : std::string_view{};
}

}  // namespace

std::string describe(const Difference& difference, Dtype dtype, std::size_t count) {
  const std::uint32_t poison = dtype == Dtype::fp32 ? poison32 : poison16;
  return "element " + std::to_string(difference.first_index) + " of " + std::to_string(count) + " is " +
         hex(difference.got, dtype) + (difference.got == poison ? " (never written)" : "") + ", expected " +
         hex(difference.expected, dtype) + "; " + std::to_string(difference.count) +
         (difference.count == 1 ? " element differs" : " elements differ");
}

std::string label_of(const Claim& claim) {
  std::string label = "oracle:" + std::string(claim.oracle);
  if (claim.tolerance > 0) label += " within " + short_number(claim.tolerance);
  return label;
}

void poison_and_prepare(Problem& problem, std::string_view variant) {
  for (const Output& output : problem.outputs()) output.tensor->poison();
  problem.prepare(variant);
}

void OutputCheck::before(std::string_view variant) {
  const std::string_view other = repeats(problem_.claim(variant), variant);
  if (other.empty() || kept_.contains(other)) return;
  poison_and_prepare(problem_, other);
  problem_.call(other)(backend_.stream());
  backend_.synchronize();
  std::vector<Tensor> copies;
  for (const Output& output : problem_.outputs()) {
    copies.emplace_back(backend_, output.tensor->dtype(), output.tensor->count());
    copies.back().copy_from(*output.tensor);
  }
  kept_.emplace(other, std::move(copies));
}

OutputCheck::Result OutputCheck::compare(Problem& problem, std::string_view variant) {
  Result result;
  const Claim claim = problem.claim(variant);
  result.against = "oracle " + std::string(claim.oracle);
  const std::vector<Output> outputs = problem.outputs();
  const auto differs = [&](const std::vector<Tensor>& from, std::size_t i) {
    const Tensor& got = *outputs[i].tensor;
    const Difference difference = got.compare(from[i]);
    if (difference.count == 0) return std::string{};
    const std::string whose = outputs.size() > 1 ? std::string(outputs[i].name) + ": " : "";
    return whose + describe(difference, got.dtype(), got.count());
  };
  const std::string_view repeated = repeats(claim, variant);
  for (std::size_t i = 0; i < outputs.size() && result.wrong.empty(); ++i) {
    if (claim.tolerance == 0) {
      result.wrong = differs(expected(claim.oracle), i);
      continue;
    }
    const RelativeError error = outputs[i].tensor->relative_error(expected(claim.oracle)[i]);
    result.error.whole = std::max(result.error.whole, error.whole);
    result.error.worst_part = std::max(result.error.worst_part, error.worst_part);
    const std::string name(outputs[i].name);
    if (!(error.whole <= claim.tolerance)) {  // NaN, as of an element never written, is no small error
      result.wrong = name + " is off by " + short_number(error.whole) + " (relative L2 error), " +
                     short_number(claim.tolerance) + " is allowed";
    } else if (!(error.worst_part <= part_allowance * claim.tolerance)) {
      result.wrong = name + " is off by " + short_number(error.worst_part) + " in its worst " +
                     std::to_string(part_elements) + " elements (relative L2 error), " +
                     short_number(part_allowance * claim.tolerance) + " is allowed";
    } else if (!repeated.empty()) {
      result.wrong = differs(kept_.find(repeated)->second, i);
      if (!result.wrong.empty())
        result.against = repeated == variant ? "an earlier run on the same inputs"
                                             : "the bits of " + std::string(repeated);
    }
  }
  return result;
}

const std::vector<Tensor>& OutputCheck::expected(std::string_view definition) {
  const auto found = expected_.find(definition);
  if (found != expected_.end()) return found->second;
  const std::vector<Output> outputs = problem_.outputs();
  std::vector<std::string_view> names;
  for (const Output& output : outputs) names.push_back(output.name);
  const std::vector<Expected> results =
      cache_.get(key_ + "/" + std::string(definition), names, [&] { return problem_.oracle(definition); });
  if (results.size() != outputs.size()) throw std::logic_error("the oracle gave another number of outputs");
  std::vector<Tensor> placed;
  for (std::size_t i = 0; i < outputs.size(); ++i)
    placed.push_back(place(backend_, *outputs[i].tensor, results[i]));
  return expected_.emplace(definition, std::move(placed)).first->second;
}

}  // namespace strictbench
