/// Work of the host shared among its processors: what an oracle of a large shape needs.
#pragma once
#include <algorithm>
#include <cstdint>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

namespace strictbench {

/// Calls `work` on as many ranges [first, last) as the machine has processors, at the same time; together
/// they are [0, n). Throws what the first range to fail threw, once all have ended.
inline void in_threads(std::int64_t n, const std::function<void(std::int64_t, std::int64_t)>& work) {
  const auto workers = static_cast<std::int64_t>(std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::exception_ptr> failed(static_cast<std::size_t>(workers));
  {
    std::vector<std::jthread> threads;
    for (std::int64_t w = 0; w < workers; ++w)
      threads.emplace_back([&, w] {
        try {
          work(w * n / workers, (w + 1) * n / workers);
        } catch (...) {
          failed[static_cast<std::size_t>(w)] = std::current_exception();
        }
      });
  }
  for (const std::exception_ptr& error : failed)
    if (error) std::rethrow_exception(error);
}

}  // namespace strictbench
