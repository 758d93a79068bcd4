#include "scheduler/cycle/cluster_loop.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "scheduler/cycle/mailbox.hpp"

namespace berth::cycle {

struct ClusterLoop::Batch {
  std::vector<Message> messages;
};

ClusterLoop::ClusterLoop(const Clock& clock) : ClusterLoop(clock, LoopJournal::None()) {}

ClusterLoop::ClusterLoop(const Clock& clock, LoopJournal& journal)
    : clock_(clock),
      journal_(journal),
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

MonoTime ClusterLoop::PostAfter(Duration delay, Work work) {
  return timers_.After(delay, std::move(work)).time;
}

void ClusterLoop::PostAt(MonoTime due, Work work) { timers_.At(due, std::move(work)); }

void ClusterLoop::Run(Handler& handler) {
  while (!stopping()) {
    if (!RunOnce(handler)) mailbox_->WaitUntil(NextDue(handler));
  }
}

bool ClusterLoop::RunOnce(Handler& handler) {
  const OriginScope scope({.kind = Origin::Kind::kLoop});
  const bool arrived = HandleMessages(handler);
  const bool due = RunTimers();
  return DoWork(handler) || arrived || due;
}

bool ClusterLoop::HandleMessages(Handler& handler) {
  mailbox_->Take(batch_->messages);
  for (Message& message : batch_->messages) {
    std::visit(
        [&]<class T>(T& content) {
          if constexpr (std::is_same_v<T, ports::ClusterChange>) {
            HandleChange(handler, content);
          } else if constexpr (std::is_same_v<T, Synced>) {
            HandleSynced(handler);
          } else if constexpr (std::is_same_v<T, PostedWork>) {
            Execute(content);
          }
        },
        message);
  }
  return !batch_->messages.empty();
}

void ClusterLoop::HandleChange(Handler& handler, ports::ClusterChange& change) {
  journal_.BeginChange(change);
  handler.OnChange(change);
  journal_.End();
}

void ClusterLoop::HandleSynced(Handler& handler) {
  journal_.BeginSynced();
  synced_.store(true, std::memory_order_relaxed);
  handler.OnSynced();
  journal_.End();
}

void ClusterLoop::Execute(PostedWork& posted) {
  if (posted.origin.kind == Origin::Kind::kOutside) return posted.work();
  journal_.BeginWork(posted.origin);
  posted.work();
  journal_.End();
}

bool ClusterLoop::RunPosted(const Origin& origin) {
  std::optional<PostedWork> posted = mailbox_->TakeWork(origin);
  if (!posted) return false;
  Execute(*posted);
  return true;
}

bool ClusterLoop::RunTimers() {
  if (!timers_.Next()) return false;
  journal_.BeginTimers();
  const bool due = timers_.RunDue();
  journal_.End();
  return due;
}

bool ClusterLoop::HasPostedWork() const { return mailbox_->HasWork(); }

bool ClusterLoop::DoWork(Handler& handler) {
  held_ = !journal_.MayWork();
  if (held_) return false;
  journal_.BeginUnitOfWork();
  const bool done = handler.DoWork();
  journal_.End();
  return done;
}

MonoTime ClusterLoop::NextDue(const Handler& handler) const {
  constexpr Duration kHeldPoll = std::chrono::microseconds(200);
  if (held_) return clock_.Now() + kHeldPoll;
  return std::min(handler.NextDue(), timers_.Next().value_or(MonoTime::max()));
}

void ClusterLoop::Stop() {
  stopping_.store(true, std::memory_order_relaxed);
  mailbox_->WakeUp();
}

void ClusterLoop::RunSucceededSteps() {
  for (PostedWork& step : mailbox_->TakeSucceededSteps()) Execute(step);
}

void ClusterLoop::DropPending() {
  mailbox_->Take(batch_->messages);
  batch_->messages.clear();
  timers_.Clear();
}

}  // namespace berth::cycle
