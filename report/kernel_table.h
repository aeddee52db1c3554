/// GPU time per kernel, before and after a change.
#pragma once
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "report/benchmark_file.h"
#include "report/kernel_side.h"

namespace strictbench {

/// Kernels that variants of one operator have in common: the tensor-core product of the whole layer and what
/// stands around it, which a change of a weight gradient leaves alone.
inline constexpr std::string_view default_controls = "^(tile_tree|swiglu|swiglu_gradient|add_elements)$";

/// What one side says of a kernel, or of all of them.
struct KernelFigures {
  double launches = 0;
  double total_ns = 0;
  double average_ns = no_number;
  double share = no_number;  // of the side's total
};

struct KernelRow {
  std::string name;  // short; kernels that differ in the rest of their names are one row
  std::optional<KernelFigures> before = {};
  std::optional<KernelFigures> after = {};
  double speedup = no_number;    // total before / after
  double reduction = no_number;  // 1 - total after / before
  bool control = false;          // is not expected to move
  bool moved = false;            // and did, by more than control_threshold
};

struct KernelTable {
  std::string before, after;    // titles of the sides
  std::vector<KernelRow> rows;  // the largest total of either side first
  KernelRow total;
  std::vector<std::string> notes;
};

/// Compares two sides whose cases are paired. Kernels whose short names `controls` finds are controls.
KernelTable make_kernel_table(const KernelSide& before, const KernelSide& after, const NamePattern& controls);

/// "before 1.20 ms, after 600 us: 2.00 x".
std::string headline(const KernelTable& table);

void write_kernels_text(std::ostream& out, const KernelTable& table);
void write_kernels_markdown(std::ostream& out, const KernelTable& table);
void write_kernels_json(std::ostream& out, const KernelTable& table);

}  // namespace strictbench
