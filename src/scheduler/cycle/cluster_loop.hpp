// The loop on which the cluster's changes are applied: a mailbox, timers, and one handler. The scheduler, the
// shadow and the extender server run on it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "base/clock.hpp"
#include "base/timer_queue.hpp"
#include "kubernetes/ports/ports.hpp"
#include "scheduler/framework/handle.hpp"

namespace berth::cycle {

class Mailbox;
class LoopJournal;
struct Origin;
struct PostedWork;

// An iteration handles the messages that arrived, runs due timers, and lets the handler do one unit of work.
// Messages posted before the first iteration are kept until then. "The loop's thread" is the one that runs an
// iteration: that of Run, or the partner of ShareWith while that of Run waits; never both at once.
class ClusterLoop final : public framework::LoopExecutor {
 public:
  // All methods are called on the loop's thread.
  class Handler {
   public:
    virtual ~Handler() = default;
    virtual void OnChange(ports::ClusterChange& change) = 0;
    // All objects that existed at the start have been delivered.
    virtual void OnSynced() = 0;
    // Does one unit of work, such as a decision. Returns false if there was nothing to do.
    virtual bool DoWork() = 0;
    // When DoWork must be called even if no message has arrived; MonoTime::max(): not at all.
    virtual MonoTime NextDue() const = 0;
    // Whether DoWork, or what it has posted, may wait for another thread. Then iterations run only on the
    // thread of Run.
    virtual bool MayWait() const { return true; }
  };

  explicit ClusterLoop(const Clock& clock);
  // `journal` learns what the loop does, and must outlive it.
  ClusterLoop(const Clock& clock, LoopJournal& journal);
  ~ClusterLoop() override;

  // --- any thread ---
  // Receives the cluster's changes.
  ports::ClusterSink& sink();
  void Post(std::move_only_function<void()> work) override;
  framework::Poster poster() const override;
  // Queues a step of a binding cycle, also after the loop was destroyed. RunSucceededSteps executes steps
  // with `succeeded`.
  using StepPoster = std::function<void(bool succeeded, std::move_only_function<void()> step)>;
  StepPoster step_poster() const;
  // Makes Run return after the current iteration.
  void Stop();
  bool stopping() const { return stopping_.load(std::memory_order_relaxed); }
  // Whether all objects that existed at the start have been delivered.
  bool synced() const { return synced_.load(std::memory_order_relaxed); }

  // Another thread, such as the one that reads from sockets.
  struct Partner {
    std::function<bool()> is_current;  // whether the caller runs on it
    std::function<void(std::move_only_function<void()>)> post;
  };
  // During Run, the partner runs the iterations for messages that it posts itself, a few at a time, unless
  // the thread of Run is busy: this saves waking that thread for single messages, and waking the partner for
  // the answers. When an iteration was long, the partner runs none for twenty times as long. Must be called
  // before the first message. `is_current` is called as long as anybody has the sink or a poster; what is
  // posted to the partner may outlive the loop.
  void ShareWith(Partner partner);

  // --- the loop's thread ---
  // Returns after Stop.
  void Run(Handler& handler);
  // One iteration without waiting. Returns false if there was nothing to do. For tests and simulations.
  bool RunOnce(Handler& handler);
  MonoTime PostAfter(Duration delay, std::move_only_function<void()> work) override;
  void PostAt(MonoTime due, std::move_only_function<void()> work) override;
  MonoTime Now() const override { return clock_.Now(); }
  WallTime WallNow() const override { return clock_.WallNow(); }
  TimerQueue& timers() { return timers_; }
  // Whether there is posted work whose origin is neither outside nor a command.
  bool HasPostedWork() const;
  // Executes the steps that were posted as succeeded, before all other messages.
  void RunSucceededSteps();
  LoopJournal& journal() { return journal_; }

  // The parts of an iteration, for replays, which call them in the order of a recording instead of Run,
  // within an OriginScope of the loop.
  void HandleChange(Handler& handler, ports::ClusterChange& change);
  void HandleSynced(Handler& handler);
  // Executes the first posted work with this origin (kind and number). Returns false if there is none.
  bool RunPosted(const Origin& origin);
  bool RunTimers();
  bool DoWork(Handler& handler);
  // Drops all messages and timers. Must be called before the objects to which they refer are destroyed.
  void DropPending();

 private:
  struct Sharing;
  void RunHere(Sharing& sharing);
  bool RunIteration(Handler& handler);
  bool HandleMessages(Handler& handler);
  void Execute(PostedWork& posted);
  // Neither `work` nor what it posts is a part of a recording.
  template <class Work>
  void RunOutside(Work&& work);
  MonoTime NextDue(const Handler& handler) const;

  struct Batch;

  const Clock& clock_;
  LoopJournal& journal_;
  const std::shared_ptr<Mailbox> mailbox_;
  const std::unique_ptr<Batch> batch_;  // the messages being handled
  const std::shared_ptr<Sharing> sharing_;
  TimerQueue timers_;
  TimerQueue outside_timers_;  // set by work from outside: no part of a recording
  bool in_outside_work_ = false;
  bool held_ = false;  // the last unit of work was held back by the journal
  std::atomic<bool> synced_{false};
  std::atomic<bool> stopping_{false};
};

}  // namespace berth::cycle
