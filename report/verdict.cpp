#include <algorithm>

#include "report/compare.h"

namespace strictbench {

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::wrong:
      return "wrong";
    case Verdict::failed:
      return "failed";
    case Verdict::missing:
      return "missing";
    case Verdict::slower:
      return "slower";
    case Verdict::incomparable:
      return "incomparable";
    case Verdict::inconclusive:
      return "inconclusive";
    case Verdict::faster:
      return "faster";
    case Verdict::added:
      return "new";
    case Verdict::same:
      return "same";
    case Verdict::skipped:
      return "skipped";
  }
  return "";
}

int exit_code_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::wrong:
    case Verdict::failed:
    case Verdict::missing:
    case Verdict::slower:
      return 1;
    case Verdict::incomparable:
    case Verdict::inconclusive:
      return 3;
    default:
      return 0;
  }
}

int Comparison::exit_code() const {
  if (process_failed) return 1;
  int code = 0;
  for (const Verdict verdict : all_verdicts) {
    if (count(verdict) == 0) continue;
    if (exit_code_of(verdict) == 1) return 1;
    code = std::max(code, exit_code_of(verdict));
  }
  return code;
}

bool Comparison::failed_unseen() const {
  return process_failed && std::ranges::none_of(all_verdicts, [this](Verdict verdict) {
           return exit_code_of(verdict) == 1 && count(verdict) > 0;
         });
}

std::string_view Comparison::verdict() const {
  const int code = exit_code();
  return code == 0 ? "pass" : code == 1 ? "regressed" : "undecided";
}

}  // namespace strictbench
