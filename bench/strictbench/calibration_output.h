/// A calibration as JSON and as text.
#pragma once
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

#include "bench/strictbench/calibration.h"

namespace strictbench::calibration {

/// Where, when and of what build it was measured.
struct Provenance {
  std::string device;       // "h200", "cpu"
  std::string device_name;  // "NVIDIA H200", or the CPU's name
  std::string date;         // when the run began, UTC
  std::string commit;       // empty: not known
  bool dirty = false;
  int processes = 0;               // that the run was to start of each operator
  nlohmann::ordered_json machine;  // as the run's record has it
  Context context;                 // of one of the files: versions, clocks
};

/// The whole calibration; a number that does not exist is null.
nlohmann::ordered_json to_json(const Calibration& calibration, const Provenance& provenance);

/// For a person: false alarms, then what is seen of each size, then case by case, then what was left out.
void write_text(std::ostream& out, const Calibration& calibration, const Provenance& provenance);

}  // namespace strictbench::calibration
