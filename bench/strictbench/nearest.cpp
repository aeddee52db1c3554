#include "bench/strictbench/nearest.h"

#include <algorithm>
#include <cstddef>

namespace strictbench::runner {

int distance_within(std::string_view pattern, std::string_view text) {
  // Edit distance, one row a letter of the text; a match may begin anywhere, so each row begins with 0.
  std::vector<int> row(pattern.size() + 1);
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = static_cast<int>(i);
  int best = row.back();
  for (const char letter : text) {
    int diagonal = row[0];
    for (std::size_t i = 1; i < row.size(); ++i) {
      const int changed = diagonal + (pattern[i - 1] == letter ? 0 : 1);
      diagonal = row[i];
      row[i] = std::min({changed, row[i] + 1, row[i - 1] + 1});
    }
    best = std::min(best, row.back());
  }
  return best;
}

std::string nearest_name(const std::string& pattern, const std::vector<std::string>& names) {
  int best = static_cast<int>(pattern.size()) / 2;  // half of it wrong: no longer near
  std::string nearest;
  for (const std::string& name : names) {
    if (const int distance = distance_within(pattern, name); distance < best) {
      best = distance;
      nearest = name;
    }
  }
  return nearest;
}

}  // namespace strictbench::runner
