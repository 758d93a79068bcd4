#include "scheduler/cycle/cluster_loop.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include "scheduler/cycle/mailbox.hpp"

namespace berth::cycle {

struct ClusterLoop::Batch {
  std::vector<Message> messages;
};

ClusterLoop::ClusterLoop(const Clock& clock)
    : clock_(clock),
      mailbox_(std::make_shared<Mailbox>()),
      batch_(std::make_unique<Batch>()),
      timers_(clock) {}
ClusterLoop::~ClusterLoop() = default;

ports::ClusterSink& ClusterLoop::sink() { return *mailbox_; }

void ClusterLoop::Post(Work work) { mailbox_->Post(std::move(work)); }

framework::Poster ClusterLoop::poster() const {
  return [mailbox = mailbox_](Work work) { mailbox->Post(std::move(work)); };
}

ClusterLoop::StepPoster ClusterLoop::step_poster() const {
  return [mailbox = mailbox_](bool succeeded, Work step) { mailbox->PostStep(succeeded, std::move(step)); };
}

void ClusterLoop::PostAfter(Duration delay, Work work) { timers_.After(delay, std::move(work)); }

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
  mailbox_->Take(batch_->messages);
  for (Message& message : batch_->messages) {
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
  return !batch_->messages.empty();
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
  mailbox_->Take(batch_->messages);
  batch_->messages.clear();
  timers_.Clear();
}

}  // namespace berth::cycle
