/// What the forms of the speedup table have in common: what a cell says, and what stands above the table.
#pragma once
#include <string>
#include <vector>

#include "report/table.h"

namespace strictbench {

/// "5.21 x (5.20 to 5.21)"; empty where there is no ratio.
std::string ratio_cell(double ratio, double low, double high);

/// "93.5 %", the share of its floor that a variant reaches; a dash where no floor is stated.
std::string floor_cell(const Measured& measured);

/// What the shares of floors mean, in one line; empty where no row states a floor.
std::string floor_line(const SpeedupTable& table);

/// What the checks of a line's variants came to; the gravest wins. `bits` is said of those alone that were
/// held to every bit: "bits; cublas within 2 %".
std::string check_cell(const OperatorTable& group, const TableLine& line);

/// "steady", "MOVED" or "unclear"; empty where the line is no control.
std::string control_word(const TableLine& line);

/// "same" where that holds of all variants, else "legacy same, new slower +3.10 %"; empty without a baseline.
std::string verdict_cell(const OperatorTable& group, const TableLine& line);

/// How many controls an operator has and what became of them; empty where it has none.
std::string control_note(const OperatorTable& group);

/// "timer graph: mean of ..." for each timer of the table.
std::vector<std::string> timer_lines(const SpeedupTable& table);

/// How the figures came about, in one line.
std::string protocol_line(const SpeedupTable& table);

/// What the times of the operators in the table leave out, in one line; empty where that is nothing.
std::string excluded_line(const SpeedupTable& table);

/// Who was held to a tolerance, and how near they came; empty where every row was held to bits.
std::string tolerance_note(const SpeedupTable& table);

}  // namespace strictbench
