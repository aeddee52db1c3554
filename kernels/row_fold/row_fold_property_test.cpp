#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "kernels/common/test_draw.h"
#include "kernels/row_fold/test_rows.h"

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace strictbench::row_fold {
namespace {

using test::Draw;

struct Drawn {
  Layout layout;            ///< data and dtype still open
  std::int64_t origin = 0;  ///< where layout.data lies in memory
  std::int64_t memory = 0;  ///< elements
};

/// Up to eight dimensions of at most about 4000 elements in all: in any order in memory, with gaps,
/// broadcast, mirrored; or strides without any such thought.
Drawn draw_layout(Draw& draw) {
  Drawn drawn;
  Layout& layout = drawn.layout;
  layout.rank = static_cast<int>(draw.between(1, max_rank));
  std::int64_t budget = 4000;
  for (int d = 0; d < layout.rank; ++d) {
    const std::int64_t least = draw.between(0, 19) == 0 ? 0 : 1;
    layout.sizes[d] = draw.size(least, d == 0 ? 100 : std::min<std::int64_t>(budget, 300));
    budget /= std::max<std::int64_t>(layout.sizes[d], 1);
  }
  int order[max_rank];  // of the dimensions in memory, innermost first
  for (int i = 0; i < layout.rank; ++i) order[i] = layout.rank - 1 - i;
  if (draw.flip())
    for (int i = layout.rank - 1; i > 0; --i) std::swap(order[i], order[draw.between(0, i)]);
  const bool any = draw.between(0, 3) == 0;
  std::int64_t next = 1;
  for (int i = 0; i < layout.rank; ++i) {
    const std::int64_t size = layout.sizes[order[i]];
    std::int64_t& stride = layout.strides[order[i]];
    if (any) {
      stride = draw.between(-9, 9);
    } else if (draw.between(0, 9) > 0) {  // else it stays zero
      stride = next + (draw.between(0, 3) == 0 ? draw.between(1, 3) : 0);
      next = stride * std::max<std::int64_t>(size, 1);
      if (draw.between(0, 5) == 0) stride = -stride;
    }
  }
  for (int d = 0; d < layout.rank; ++d) {
    const std::int64_t reach = std::max<std::int64_t>(layout.sizes[d] - 1, 0) * layout.strides[d];
    drawn.origin += reach < 0 ? -reach : 0;
    drawn.memory += std::abs(reach);
  }
  ++drawn.memory;
  return drawn;
}

template <class T>
std::vector<T> draw_memory(Draw& draw, std::int64_t count) {
  auto memory = test::wide_values<T>(draw.key(), count);
  if (draw.between(0, 3) == 0) {
    constexpr float inf = std::numeric_limits<float>::infinity();
    for (std::int64_t n = draw.between(1, 20); n > 0; --n)
      memory[static_cast<std::size_t>(draw.between(0, count - 1))] = rounded<T>(
          draw.pick({inf, -inf, std::numeric_limits<float>::quiet_NaN(), -0.0f, 0x1p-24f, -0x1p-130f}));
  }
  return memory;
}

TEST(RowFoldProperty, EveryVariantHasTheOraclesBitsOnAnyLayout) {
  test::for_all_draws("row_fold layouts", 400, [](Draw& draw) {
    const Drawn drawn = draw_layout(draw);
    with_type(draw.pick({Dtype::fp32, Dtype::bf16, Dtype::fp16}), [&]<class T>() {
      test::expect_all_variants(drawn.layout, draw_memory<T>(draw, drawn.memory), drawn.origin);
    });
  });
}

TEST(RowFoldProperty, AColumnDoesNotDependOnItsNeighbours) {
  test::for_all_draws("row_fold columns", 50, [](Draw& draw) {
    const std::int64_t rows = draw.size(0, 200);
    const std::int64_t cols = draw.between(1, 600);
    const std::int64_t first = draw.between(0, cols - 1);
    const std::int64_t some = draw.between(1, cols - first);
    const auto memory = draw_memory<float>(draw, rows * cols + 1);
    const auto all = test::expect_all_variants(test::tensor({rows, cols}, {cols, 1}), memory);
    const auto part =
        test::expect_all_variants(test::tensor({rows, some}, {cols, 1}), memory, rows == 0 ? 0 : first);
    test::expect_same(part, {all.begin() + first, all.begin() + first + some});
  });
}

// Beyond 32 bits --------------------------------------------------------------------------------------------

/// Memory of which only a few pages are ever touched; null where there is not so much of it.
class Vast {
 public:
  Vast(Device device, std::size_t bytes) : device_(device), bytes_(bytes) {
#ifdef STRICTBENCH_HAS_CUDA
    if (device == Device::cuda && cudaMalloc(&data_, bytes) != cudaSuccess) {
      cudaGetLastError();
      data_ = nullptr;
    }
#endif
#ifdef __linux__
    if (device == Device::cpu) {
      data_ =
          mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (data_ == MAP_FAILED) data_ = nullptr;
    }
#endif
  }
  ~Vast() {
    if (data_ == nullptr) return;
#ifdef STRICTBENCH_HAS_CUDA
    if (device_ == Device::cuda) cudaFree(data_);
#endif
#ifdef __linux__
    if (device_ == Device::cpu) munmap(data_, bytes_);
#endif
  }
  Vast(const Vast&) = delete;
  Vast& operator=(const Vast&) = delete;

  Bf16* data() const { return static_cast<Bf16*>(data_); }
  void set(std::int64_t at, float value) {
    const Bf16 x = to_bf16(value);
#ifdef STRICTBENCH_HAS_CUDA
    if (device_ == Device::cuda) cuda_check(cudaMemcpy(data() + at, &x, sizeof x, cudaMemcpyHostToDevice));
#endif
    if (device_ == Device::cpu) data()[at] = x;
  }

 private:
  Device device_;
  std::size_t bytes_;
  void* data_ = nullptr;
};

TEST(RowFoldProperty, OffsetsPassTwoToThe31) {
  constexpr std::int64_t far = (std::int64_t{1} << 31) + 5;
  for (const Device device : test::devices()) {
    Vast memory(device, (far + 2) * sizeof(Bf16));
    if (memory.data() == nullptr) continue;
    memory.set(0, 1);
    memory.set(1, 2);
    memory.set(far, 10);
    memory.set(far + 1, 20);
    for (const auto& variant : variants) {
      if (variant.device != device) continue;
      SCOPED_TRACE(std::string(variant.name) + " on " + strictbench::test::text(device));
      const auto fold = [&](Layout layout, std::int64_t origin) {
        layout.dtype = Dtype::bf16;
        layout.data = memory.data() + origin;
        test::Array<float> out(device, 2);
        variant.launch({.rows = layout, .out = out.data()}, nullptr);
        return out.values();
      };
      EXPECT_EQ(fold(test::tensor({2, 2}, {far, 1}), 0), (std::vector<float>{11, 22}));
      EXPECT_EQ(fold(test::tensor({2, 2}, {-far, 1}), far), (std::vector<float>{11, 22}));
      EXPECT_EQ(fold(test::tensor({2, 2}, {1, far}), 0), (std::vector<float>{3, 30}));
    }
  }
}

}  // namespace
}  // namespace strictbench::row_fold
