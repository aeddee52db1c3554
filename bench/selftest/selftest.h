/// selftest: out[i] = in[i], right and deliberately wrong. Built for the tests only: it proves that the
/// harness catches what it promises to catch.
#pragma once
#include <cstdint>

#include "kernels/common/variant.h"

namespace strictbench::selftest {

/// How a variant goes wrong.
enum class Fault {
  none,
  one_bit,    ///< flips the last bit of element 1000
  unwritten,  ///< leaves element 77 alone
  flaky,      ///< flips a bit of element 5 in every second run
  late,       ///< flips a bit of element 5 from run 30 on: after the first checks, while being timed
  nan,        ///< writes NaN to element 2
};

struct Args {
  const std::uint32_t* in;
  std::uint32_t* out;
  std::int64_t count;
  std::uint32_t* runs;  ///< counts the runs, in the device's memory
  Fault fault;
};

/// What run number `run` (from 0) writes to element i; false: it writes nothing there.
constexpr bool value_at(const Args& args, std::int64_t i, std::uint32_t run, std::uint32_t& value) {
  value = args.in[i];
  switch (args.fault) {
    case Fault::none:
      return true;
    case Fault::one_bit:
      value ^= i == 1000 ? 1u : 0u;
      return true;
    case Fault::unwritten:
      return i != 77;
    case Fault::flaky:
      value ^= i == 5 ? run & 1u : 0u;
      return true;
    case Fault::late:
      value ^= i == 5 && run >= 30 ? 1u : 0u;
      return true;
    case Fault::nan:
      if (i == 2) value = 0x7fc00000u;
      return true;
  }
  return true;
}

void copy_cpu(const Args& args, Stream stream);
void copy_cuda(const Args& args, Stream stream);

/// Writes where there is no memory: an error that no later call of the process gets past.
void write_nowhere_cuda(Stream stream);

/// Ends the kernel by a trap instruction.
void trap_cuda(Stream stream);

/// Never ends. `runs` as in Args.
void hang_cuda(const std::uint32_t* runs, Stream stream);

/// Keeps the device busy for `nanoseconds` by its own clock.
void spin_cuda(std::int64_t nanoseconds, Stream stream);

}  // namespace strictbench::selftest
