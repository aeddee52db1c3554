/// The cases that `calibrate` measures where no filter is given.
#pragma once
#include <string>
#include <vector>

namespace strictbench::calibration {

/// A dozen that span 2 us to 3 ms, of every operator: on a GPU by the timer graph, half of them by cold and
/// wall too; on a CPU by its own timer. Row names.
std::vector<std::string> default_cases(bool gpu);

/// The filter that selects exactly the rows named.
std::string filter_of(const std::vector<std::string>& names);

}  // namespace strictbench::calibration
