/// The order in 32 bits: by one block, by chunks, or by CUB's sort, whichever the sizes allow.
#ifdef STRICTBENCH_HAS_CUDA
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/common/random.h"
#include "kernels/embedding_backward/test_case.h"

namespace strictbench::embedding_backward {
namespace {

std::vector<std::uint32_t> copied(const std::uint32_t* from, std::int64_t n) {
  std::vector<std::uint32_t> values(static_cast<std::size_t>(n));
  cuda_check(cudaMemcpy(values.data(), from, values.size() * sizeof(std::uint32_t), cudaMemcpyDefault));
  return values;
}

/// Without ids yet; what the gradient holds does not matter.
Case case_of(std::int64_t tokens, std::int64_t vocab, IdType type = IdType::int64) {
  return {.shape = {tokens, vocab, 1},
          .ids = {},
          .grad = std::vector<float>(static_cast<std::size_t>(tokens)),
          .id_type = type};
}

void expect_sorted(const Case& c) {
  SCOPED_TRACE(text(c));
  OnDevice on(Device::cuda, c);
  test::Array<std::byte> dweight(
      Device::cuda, std::vector<std::byte>(static_cast<std::size_t>(c.shape.vocab) * size_of(c.weight_type)));
  const NarrowOrder order = sort_ids_narrow(on.args(dweight.data()), nullptr);
  const auto id_of = [&](std::uint32_t t) {
    const std::int64_t id = c.ids[t];
    return static_cast<std::uint32_t>(id >= 0 && id < c.shape.vocab ? id : c.shape.vocab);
  };
  std::vector<std::uint32_t> positions(c.ids.size());
  std::iota(positions.begin(), positions.end(), 0u);
  std::stable_sort(positions.begin(), positions.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return id_of(a) < id_of(b); });
  std::vector<std::uint32_t> ids;
  for (const std::uint32_t t : positions) ids.push_back(id_of(t));
  EXPECT_TRUE(copied(order.ids, c.shape.tokens) == ids);
  EXPECT_TRUE(copied(order.positions, c.shape.tokens) == positions);
}

TEST(EmbeddingBackwardNarrowSort, IsStableAtEverySize) {
  if (test::devices().size() < 2) GTEST_SKIP() << "needs a GPU";
  for (const std::int64_t tokens :
       {1,    2,    31,   127,  128,  511,  512,   513,   1024,  1025,  3000,
        4095, 4096, 4097, 6143, 6144, 6145, 32768, 65535, 65536, 65537, 100'000}) {
    const auto count = static_cast<std::uint64_t>(tokens);
    for (const std::uint64_t vocab : {1ull, 7ull, 255ull, 151'936ull, (1ull << 19) - 1, 1ull << 19}) {
      Case c = case_of(tokens, static_cast<std::int64_t>(vocab));
      for (std::uint64_t t = 0; t < count; ++t)  // a few below and beyond the table
        c.ids.push_back(static_cast<std::int64_t>(random_below(random_key("ids"), t, vocab + 2)) - 1);
      expect_sorted(c);
    }
  }
}

TEST(EmbeddingBackwardNarrowSort, IdsOfEitherTypeAndInAnyOrder) {
  if (test::devices().size() < 2) GTEST_SKIP() << "needs a GPU";
  for (const std::int64_t tokens : {500, 5000}) {
    for (const IdType type : {IdType::int32, IdType::int64}) {
      Case c = case_of(tokens, 100'000, type);
      for (std::int64_t t = 0; t < tokens; ++t) c.ids.push_back(t);
      expect_sorted(c);
      std::reverse(c.ids.begin(), c.ids.end());
      expect_sorted(c);
      c.ids.assign(c.ids.size(), 777);
      expect_sorted(c);
      c.ids.assign(c.ids.size(), -1);
      expect_sorted(c);
    }
  }
}

}  // namespace
}  // namespace strictbench::embedding_backward
#endif
