#include "scheduler/cycle/cluster_loop.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "scheduler/cycle/mailbox.hpp"

namespace berth::cycle {

namespace {

// With more messages both threads have enough to do.
constexpr std::size_t kMostMessages = 16;

}  // namespace

struct ClusterLoop::Batch {
  std::vector<Message> messages;
};

// What the two threads that may run iterations share. The partner may hold it longer than the loop exists.
struct ClusterLoop::Sharing {
  // --- the partner's thread ---
  bool posted = false;       // it will run iterations
  std::size_t messages = 0;  // that it has posted to the loop meanwhile

  std::mutex iteration;  // held during iterations
  // --- under `iteration` ---
  Handler* handler = nullptr;  // that of Run; null: Run is not in progress
  bool busy = false;           // the thread of Run does not wait
  MonoTime not_before{};       // the partner runs no iteration earlier
};

ClusterLoop::ClusterLoop(const Clock& clock) : ClusterLoop(clock, LoopJournal::None()) {}

ClusterLoop::ClusterLoop(const Clock& clock, LoopJournal& journal)
    : clock_(clock),
      journal_(journal),
      mailbox_(std::make_shared<Mailbox>()),
      batch_(std::make_unique<Batch>()),
      sharing_(std::make_shared<Sharing>()),
      timers_(clock),
      outside_timers_(clock) {}
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
  return (in_outside_work_ ? outside_timers_ : timers_).After(delay, std::move(work)).time;
}

void ClusterLoop::PostAt(MonoTime due, Work work) {
  (in_outside_work_ ? outside_timers_ : timers_).At(due, std::move(work));
}

void ClusterLoop::Run(Handler& handler) {
  const auto set_handler = [&](Handler* value) {
    const std::scoped_lock lock(sharing_->iteration);
    sharing_->handler = value;
  };
  set_handler(&handler);
  while (!stopping()) {
    {
      const std::scoped_lock lock(sharing_->iteration);
      sharing_->busy = RunOnce(handler);
      if (sharing_->busy) continue;
      mailbox_->SetDeadline(NextDue(handler));
    }
    mailbox_->Wait();
  }
  set_handler(nullptr);
}

void ClusterLoop::ShareWith(Partner partner) {
  mailbox_->SetHandledByCaller(
      [this, partner = std::move(partner), sharing = sharing_, mailbox = std::weak_ptr(mailbox_)] {
        if (!partner.is_current()) return false;
        if (++sharing->messages > kMostMessages) return false;
        if (std::exchange(sharing->posted, true)) return true;
        partner.post([this, sharing, mailbox] {
          sharing->posted = false;
          sharing->messages = 0;
          const std::unique_lock lock(sharing->iteration, std::try_to_lock);
          if (lock && sharing->handler != nullptr) return RunHere(*sharing);
          if (const auto left = mailbox.lock()) left->Notify();
        });
        return true;
      });
}

// On the partner's thread, with `iteration` held.
void ClusterLoop::RunHere(Sharing& sharing) {
  constexpr int kMostIterations = 4;
  // An iteration that takes longer delays what the partner does for others.
  constexpr Duration kLong = std::chrono::milliseconds(1);
  constexpr int kPause = 20;  // times the duration

  Handler& handler = *sharing.handler;
  MonoTime now = clock_.Now();
  bool worked = true;
  for (int i = 0; i < kMostIterations && worked; ++i) {
    // Stop, and work that another thread has posted, are for the thread of Run.
    if (sharing.busy || stopping() || handler.MayWait() || now < sharing.not_before ||
        !mailbox_->TakeUnlessWaking(batch_->messages)) {
      break;
    }
    worked = RunIteration(handler);
    const MonoTime end = clock_.Now();
    if (end - now > kLong) sharing.not_before = end + kPause * (end - now);
    now = end;
  }
  mailbox_->SetDeadline(worked ? now : NextDue(handler));
}

template <class Work>
void ClusterLoop::RunOutside(Work&& work) {
  const OriginScope origin({.kind = Origin::Kind::kOutside});
  in_outside_work_ = true;
  work();
  in_outside_work_ = false;
}

bool ClusterLoop::RunOnce(Handler& handler) {
  mailbox_->Take(batch_->messages);
  return RunIteration(handler);
}

bool ClusterLoop::RunIteration(Handler& handler) {
  const OriginScope scope({.kind = Origin::Kind::kLoop});
  const bool arrived = HandleMessages(handler);
  if (outside_timers_.Next()) RunOutside([this] { outside_timers_.RunDue(); });
  const bool due = RunTimers();
  return DoWork(handler) || arrived || due;
}

bool ClusterLoop::HandleMessages(Handler& handler) {
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
  if (posted.origin.kind == Origin::Kind::kOutside) return RunOutside(posted.work);
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
  return std::min({handler.NextDue(), timers_.Next().value_or(MonoTime::max()),
                   outside_timers_.Next().value_or(MonoTime::max())});
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
  outside_timers_.Clear();
}

}  // namespace berth::cycle
