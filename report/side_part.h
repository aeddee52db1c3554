/// A part of a side: some of its rows, of some of its files, as if nothing else had been read.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "report/results.h"

namespace strictbench {

/// A row of a side, and the name it goes by in the part.
struct PickedRow {
  const Evidence* evidence = nullptr;
  std::string_view name;
};

/// The rows `rows` of `whole`, in their order, as the files `sources` (places in whole.sources, each once)
/// have them. What the files say of themselves comes along, so that compare() sees what it would see of the
/// files themselves. A row that none of them measured is there without a number; troubles, which belong to
/// no file, are not copied.
Side part_of(const Side& whole, std::span<const PickedRow> rows, std::span<const std::uint32_t> sources);

}  // namespace strictbench
