// Threads for work that may block: PreBind and Bind plugins that wait for somebody.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace berth::cycle {

// Threads start when there is work for them, at most `threads`. Work that has not begun when the pool ends is
// dropped; work that has begun is waited for. Post is safe from any thread.
class WorkerPool {
 public:
  explicit WorkerPool(std::size_t threads) : limit_(threads) {}
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  void Post(std::move_only_function<void()> work);

 private:
  void Serve();

  const std::size_t limit_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<std::move_only_function<void()>> work_;
  std::vector<std::jthread> threads_;
  std::size_t idle_ = 0;
  bool ending_ = false;
};

}  // namespace berth::cycle
