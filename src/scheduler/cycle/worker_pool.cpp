#include "scheduler/cycle/worker_pool.hpp"

#include <utility>

#include "base/fatal_signals.hpp"
#include "scheduler/cycle/loop_journal.hpp"

namespace berth::cycle {

void WorkerPool::End() {
  std::deque<std::move_only_function<void()>> dropped;
  {
    std::scoped_lock lock(mutex_);
    ending_ = true;
    dropped.swap(work_);
  }
  arrived_.notify_all();
  threads_.clear();  // joins
}

void WorkerPool::Post(std::move_only_function<void()> work) {
  std::scoped_lock lock(mutex_);
  if (ending_) return;
  work_.push_back(std::move(work));
  if (idle_ < work_.size() && threads_.size() < limit_) threads_.emplace_back([this] { Serve(); });
  arrived_.notify_one();
}

void WorkerPool::Serve() {
  const AlternateStack stack;
  const OriginScope origin({.kind = origin_});
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    arrived_.wait(lock, [&] { return ending_ || !work_.empty(); });
    --idle_;
    if (ending_) return;
    std::move_only_function<void()> work = std::move(work_.front());
    work_.pop_front();
    lock.unlock();
    work();
    work = nullptr;  // destroys captured objects outside the lock
    lock.lock();
  }
}

}  // namespace berth::cycle
