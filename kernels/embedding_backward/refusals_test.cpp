#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <span>
#include <utility>

#include "kernels/common/test_typed.h"
#include "kernels/embedding_backward/embedding_backward.h"

namespace strictbench::embedding_backward {
namespace {

using test::last_address;
using test::moved;

TEST(EmbeddingBackwardIds, TheHostsCheckNamesPositionValueAndRange) {
  const Shape shape{4, 3, 1};
  const std::vector<std::int64_t> wide{0, 2, 3, -1};
  const std::vector<std::int32_t> narrow{0, 2, -7, 3};
  const std::vector<std::int32_t> good{0, 2, 1, 0};
  test::expect_refusal([&] { validate_ids(shape, wide.data()); },
                       "embedding_backward: ids[2] is 3, outside [0, 3)");
  test::expect_refusal([&] { validate_ids(shape, narrow.data()); },
                       "embedding_backward: ids[2] is -7, outside [0, 3)");
  EXPECT_NO_THROW(validate_ids(shape, good.data()));
}

/// Arguments that fit, of host memory that no refused launch reads.
struct Fitting {
  std::int64_t ids[4] = {};
  float grad[8] = {};
  float dweight[8] = {};
  std::int64_t sorted_ids[4] = {};
  std::int64_t positions[4] = {};
  Args args{.shape = {2, 2, 2},
            .ids = ids,
            .grad = grad,
            .grad_stride = 2,
            .dweight = dweight,
            .sorted = {sorted_ids, positions, nullptr, 0}};
};

using Faults = std::vector<std::pair<std::string, std::function<void(Fitting&)>>>;

void expect_refusals(const Faults& faults, const std::string& what,
                     const std::function<void(const Args&)>& launch) {
  for (const auto& [part, spoil] : faults) {
    SCOPED_TRACE(what);
    Fitting f;
    spoil(f);
    test::expect_refusal([&] { launch(f.args); }, part);
  }
}

/// Every variant on `faults`, and on `sorted_faults` those that read `sorted`.
void expect_every_variant_refuses(const Faults& faults, const Faults& sorted_faults) {
  for (const Device device : test::devices())
    for (const std::span<const Variant<Args>> table : {std::span(variants), std::span(whole_variants)})
      for (const auto& variant : table) {
        if (variant.device != device) continue;
        const auto launch = [&](const Args& args) { variant.launch(args, nullptr); };
        expect_refusals(faults, std::string(variant.name), launch);
        if (variant.name != "legacy") expect_refusals(sorted_faults, std::string(variant.name), launch);
      }
}

/// The sorts alone, and what begins with one.
void expect_every_sort_refuses(const Faults& faults) {
  expect_refusals(faults, "cpu_sort_ids", [](const Args& args) { cpu_sort_ids(args, nullptr); });
#ifdef STRICTBENCH_HAS_CUDA
  expect_refusals(faults, "sort_ids", [](const Args& args) { sort_ids(args, nullptr); });
#endif
  for (const auto& variant : whole_variants)
    if (variant.name != "legacy")
      expect_refusals(faults, "whole " + std::string(variant.name),
                      [&](const Args& args) { variant.launch(args, nullptr); });
}

TEST(EmbeddingBackward, RefusesArgumentsThatDoNotFitByName) {
  const Faults faults{
      {"shape.tokens", [](Fitting& f) { f.args.shape.tokens = -1; }},
      {"shape.vocab", [](Fitting& f) { f.args.shape.vocab = -1; }},
      {"shape.hidden", [](Fitting& f) { f.args.shape.hidden = -1; }},
      {"grad_stride", [](Fitting& f) { f.args.grad_stride = 1; }},
      {"ids must be int64", [](Fitting& f) { f.args.ids.type = static_cast<IdType>(9); }},
      {"grad must be fp32", [](Fitting& f) { f.args.grad.dtype = static_cast<Dtype>(9); }},
      {"dweight must be fp32", [](Fitting& f) { f.args.dweight.dtype = static_cast<Dtype>(9); }},
      {"ids must not be null", [](Fitting& f) { f.args.ids.data = nullptr; }},
      {"grad must not be null", [](Fitting& f) { f.args.grad.data = nullptr; }},
      {"dweight must not be null", [](Fitting& f) { f.args.dweight.data = nullptr; }},
      {"ids must be aligned", [](Fitting& f) { f.args.ids.data = moved(f.ids, 1); }},
      {"grad must be aligned", [](Fitting& f) { f.args.grad.data = moved(f.grad, 1); }},
      {"dweight must be aligned", [](Fitting& f) { f.args.dweight.data = moved(f.dweight, 1); }},
      {"dweight must not overlap grad", [](Fitting& f) { f.args.dweight.data = f.grad + 3; }},
      {"dweight must not overlap ids", [](Fitting& f) { f.args.dweight.data = f.ids + 1; }}};
  const Faults sorted_faults{
      {"sorted.ids must not be null", [](Fitting& f) { f.args.sorted.ids = nullptr; }},
      {"sorted.positions must not be null", [](Fitting& f) { f.args.sorted.positions = nullptr; }},
      {"sorted.ids must be aligned", [](Fitting& f) { f.args.sorted.ids = moved(f.sorted_ids, 1); }},
      {"sorted.positions must be aligned",
       [](Fitting& f) { f.args.sorted.positions = moved(f.positions, 1); }},
      {"overlap sorted.ids", [](Fitting& f) { f.args.dweight.data = f.sorted_ids; }},
      {"overlap sorted.positions", [](Fitting& f) { f.args.dweight.data = f.positions; }}};
  expect_every_variant_refuses(faults, sorted_faults);
  const Faults sort_faults{
      {"sorted.ids must not overlap sorted.positions",
       [](Fitting& f) { f.args.sorted.positions = f.sorted_ids + 1; }},
      {"sorted.ids must not overlap ids", [](Fitting& f) { f.args.sorted.ids = f.ids; }},
      {"sorted.positions must not overlap ids", [](Fitting& f) { f.args.sorted.positions = f.ids; }},
      {"sorted.workspace", [](Fitting& f) {
         f.args.sorted.workspace = f.grad;
         f.args.sorted.workspace_bytes = 8;
       }}};
  expect_every_sort_refuses(sort_faults);
  Fitting f;
  test::expect_refusal([&] { cpu_sort_ids_by_key(f.args, nullptr, nullptr); }, "keys must not be null");
  test::expect_refusal([&] { cpu_sort_ids_by_key(f.args, f.sorted_ids, nullptr); }, "must not overlap keys");
#ifdef STRICTBENCH_HAS_CUDA
  test::expect_refusal([&] { sort_ids_by_key(f.args, nullptr, nullptr); }, "keys must not be null");
#endif
}

/// Every size and stride so large that an offset, or its bytes, pass 2^63, and addresses too near to there.
TEST(EmbeddingBackward, RefusesWhatPasses64BitAddressesByName) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const char* const ids = "ids, shape.tokens of them";
  const char* const grad = "grad, shape.tokens * grad_stride elements";
  const char* const dweight = "dweight, shape.vocab * shape.hidden elements";
  Faults faults{{ids, [](Fitting& f) { f.args.ids.data = last_address<void>(); }},
                {grad, [](Fitting& f) { f.args.grad.data = last_address<void>(); }},
                {dweight, [](Fitting& f) { f.args.dweight.data = last_address<void>(); }}};
  for (const std::int64_t huge : {most, most / 2 + 1, most / 4 + 1, most / 8 + 1}) {  // 2^63 - 1 to 2^60
    faults.emplace_back("shape.tokens", [=](Fitting& f) { f.args.shape.tokens = huge; });
    faults.emplace_back(dweight, [=](Fitting& f) { f.args.shape.vocab = huge; });
    faults.emplace_back("shape.hidden", [=](Fitting& f) { f.args.shape.hidden = f.args.grad_stride = huge; });
    faults.emplace_back("grad_stride", [=](Fitting& f) {
      f.args.shape.tokens = 3;
      f.args.grad_stride = huge;
    });
  }
  const Faults sorted_faults{{"sorted.ids, shape.tokens of them",
                              [](Fitting& f) { f.args.sorted.ids = last_address<std::int64_t>(); }},
                             {"sorted.positions, shape.tokens of them",
                              [](Fitting& f) { f.args.sorted.positions = last_address<std::int64_t>(); }}};
  expect_every_variant_refuses(faults, sorted_faults);
  const Faults sort_faults{{"sorted.workspace", [](Fitting& f) {
                              f.args.sorted.workspace = f.sorted_ids + 4;
                              f.args.sorted.workspace_bytes = SIZE_MAX;
                            }}};
  expect_every_sort_refuses(sort_faults);
  Fitting f;
  test::expect_refusal([&] { cpu_sort_ids_by_key(f.args, last_address<std::int64_t>(), nullptr); },
                       "keys, shape.tokens of them");
#ifdef STRICTBENCH_HAS_CUDA
  test::expect_refusal([&] { sort_ids_by_key(f.args, last_address<std::int64_t>(), nullptr); },
                       "keys, shape.tokens of them");
  for (const std::int64_t tokens : {most, most / 2 + 1, most / 4 + 1, most / 8 + 1, std::int64_t{1} << 39})
    test::expect_refusal([&] { sort_workspace_bytes(tokens); }, "shape.tokens must fit a grid");
  test::expect_refusal([&] { sort_workspace_bytes(-1); }, "shape.tokens must not be negative");
#endif
}

TEST(EmbeddingBackward, AnyNumberOfRowsWithoutElementsTakesNoTime) {
  Fitting f;
  f.args.shape = {.tokens = 2, .vocab = std::int64_t{1} << 40, .hidden = 0};
  for (const Device device : test::devices())
    for (const auto& variant : variants)
      if (variant.device == device) variant.launch(f.args, nullptr);
}

}  // namespace
}  // namespace strictbench::embedding_backward
