// A thread pool for work that may block, such as PreBind and Bind plugins that perform I/O.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "scheduler/cycle/loop_journal.hpp"

namespace berth::cycle {

// Starts threads on demand, at most `threads`. Post is thread-safe.
class WorkerPool {
 public:
  // What its work posts to a loop has this origin.
  WorkerPool(std::size_t threads, Origin::Kind origin) : limit_(threads), origin_(origin) {}
  ~WorkerPool() { End(); }
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  void Post(std::move_only_function<void()> work);
  // Drops work that has not started, waits for work that has, and drops later work. Not by its own work.
  void End();

 private:
  void Serve();

  const std::size_t limit_;
  const Origin::Kind origin_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<std::move_only_function<void()>> work_;
  std::vector<std::jthread> threads_;
  std::size_t idle_ = 0;
  bool ending_ = false;
};

}  // namespace berth::cycle
