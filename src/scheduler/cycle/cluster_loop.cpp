#include "scheduler/cycle/cluster_loop.hpp"

#include <algorithm>
#include <type_traits>

namespace berth::cycle {

void ClusterLoop::Run(Handler& handler) {
  while (!stopping()) {
    if (!RunOnce(handler)) mailbox_->WaitUntil(NextDue(handler));
  }
}

bool ClusterLoop::RunOnce(Handler& handler) {
  const bool arrived = HandleMessages(handler);
  const bool due = timers_.RunDue();
  return handler.DoWork() || arrived || due;
}

bool ClusterLoop::HandleMessages(Handler& handler) {
  mailbox_->Take(batch_);
  for (Message& message : batch_) {
    std::visit(
        [&]<class T>(T& content) {
          if constexpr (std::is_same_v<T, ports::ClusterChange>) {
            handler.OnChange(content);
          } else if constexpr (std::is_same_v<T, Synced>) {
            synced_.store(true, std::memory_order_relaxed);
            handler.OnSynced();
          } else if constexpr (std::is_same_v<T, Work>) {
            content();
          }
        },
        message);
  }
  return !batch_.empty();
}

MonoTime ClusterLoop::NextDue(const Handler& handler) const {
  return std::min(handler.NextDue(), timers_.Next().value_or(MonoTime::max()));
}

void ClusterLoop::Stop() {
  stopping_.store(true, std::memory_order_relaxed);
  mailbox_->Post(Wake{});
}

void ClusterLoop::RunSucceededSteps() {
  for (Work& step : mailbox_->TakeSucceededSteps()) step();
}

void ClusterLoop::DropPending() {
  mailbox_->Take(batch_);
  batch_.clear();
  timers_.Clear();
}

}  // namespace berth::cycle
