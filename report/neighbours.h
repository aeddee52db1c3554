/// The other baselines of a device. All files of its folder are compared with together, so what a new one
/// repeats of them matters.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "report/results.h"

namespace strictbench {

/// A baseline beside the one that is being written.
struct Neighbour {
  std::string file;
  Side side;
};

/// The other baselines in the folder of `file`, by name; published figures are none. A file that cannot be
/// read is told in `notes`.
std::vector<Neighbour> neighbours_of(const std::filesystem::path& file, std::vector<std::string>& notes);

/// Why `side` cannot stand beside its neighbours: evidence that is in one of them already would count twice.
std::vector<std::string> neighbour_objections(const Side& side, const std::vector<Neighbour>& neighbours);

/// What `side` shares with its neighbours, and where the two disagree.
std::vector<std::string> neighbour_notes(const Side& side, const std::vector<Neighbour>& neighbours);

}  // namespace strictbench
