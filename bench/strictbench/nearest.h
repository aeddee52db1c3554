/// "Did you mean": the name closest to what was typed.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace strictbench::runner {

/// The fewest letters to insert, remove or change in `pattern` to find it somewhere in `text`.
int distance_within(std::string_view pattern, std::string_view text);

/// The name that holds something closest to `pattern`; empty where nothing is close.
std::string nearest_name(const std::string& pattern, const std::vector<std::string>& names);

}  // namespace strictbench::runner
