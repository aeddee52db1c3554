/// What happens to the processes that a child started when we are killed and can end nothing any more.
#pragma once
#include <sys/types.h>

namespace strictbench::runner {

/// A small process that ends a group of processes when we die, even by SIGKILL: the kernel ends a child with
/// its parent, but not the child's own children. It goes when this object goes.
class Keeper {
 public:
  /// Throws std::system_error where no process can be started.
  Keeper();
  ~Keeper();
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  /// From now on `group` ends with us.
  void keep(pid_t group) const;

 private:
  pid_t pid_ = -1;
  int pipe_ = -1;  ///< its other end reads as closed when we are gone
};

}  // namespace strictbench::runner
