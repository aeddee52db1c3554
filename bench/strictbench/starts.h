/// Which cases of a process are started together: all of them at first, and when a start dies amid a case,
/// those that it did not get to. Decisions without input or output.
#pragma once
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace strictbench::runner {

/// How one start went.
struct StartResult {
  std::set<std::string> with_rows;  ///< cases of which it left a row
  bool died = false;                ///< ended amid a case: by a signal, its time limit, a lost device
  bool timed_out = false;
  bool told = false;  ///< it named what it died of by a row of that case, as one that lost its device does
  std::string at, phase;  ///< the case and phase that it named last; empty: none was begun
  std::string reason;     ///< why a case that it was to measure has no row
};

/// The starts of one process of a run. Every start that dies leaves fewer cases or smaller starts behind, and
/// starts without any row are soon enough, so that there is an end.
class Starts {
 public:
  /// Without `again` there is one start, whatever becomes of it.
  Starts(std::vector<std::string> cases, bool again);

  bool done() const { return waiting_.empty(); }
  /// The cases of the next start; there is one.
  const std::vector<std::string>& next() const { return waiting_.front(); }
  /// Takes in how the start of next() went.
  void ended(const StartResult& result);

  /// Cases that failed, and why; most have no row. Complete when done.
  const std::map<std::string, std::string>& lost() const { return lost_; }

 private:
  using Cases = std::vector<std::string>;

  /// Cases of which one killed a start, nobody knows which.
  struct Suspicion {
    Cases cases;
    std::string reason;
    std::size_t untried = 0;
  };

  void lose(const Cases& cases, const std::string& reason);
  void give_up(const std::string& reason);
  void start_again(Cases left, const StartResult& result);
  void tried_alone(bool died);

  std::deque<Cases> waiting_;
  std::map<std::string, std::string> lost_;
  std::optional<Suspicion> suspicion_;
  bool again_;
  int fruitless_ = 0;
};

}  // namespace strictbench::runner
