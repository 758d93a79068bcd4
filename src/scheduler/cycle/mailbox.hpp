// The mailbox of the scheduler loop. Thread-safe.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <variant>
#include <vector>

#include "base/clock.hpp"
#include "kubernetes/ports/ports.hpp"
#include "scheduler/cycle/loop_journal.hpp"

namespace berth::cycle {

struct Synced {};
// Wakes the loop, for example to stop it.
struct Wake {};

// Work for the loop's thread: results of asynchronous plugins, and work posted by plugins.
using Work = std::move_only_function<void()>;

struct PostedWork {
  Work work;
  Origin origin;  // that of the thread which posted it; kStep instead of kLoop for a step after a success
};

// A change of the cluster, or a message from another thread of the scheduler.
using Message = std::variant<ports::ClusterChange, Synced, PostedWork, Wake>;

// Appending takes a lock briefly and never waits; the loop takes all messages in one batch, in order of
// arrival.
class Mailbox final : public ports::ClusterSink {
 public:
  Mailbox();
  ~Mailbox() override;

  // The function is called by every thread that appends a message, before it does. It returns whether that
  // thread ensures that the message is handled; any other message wakes the thread that waits. Must be set
  // before the first message.
  void SetHandledByCaller(std::function<bool()> handled) { handled_by_caller_ = std::move(handled); }

  void On(ports::ClusterChange change) override;
  void OnSynced() override;
  void Post(Work work);
  void WakeUp();
  // Posts a step of a binding cycle. Steps after a success may be executed before messages that arrived
  // earlier.
  void PostStep(bool succeeded, Work step);

  // Moves all messages to `out`, which is cleared first.
  void Take(std::vector<Message>& out);
  // The same, unless one of them wakes the thread that waits. Returns whether they were taken.
  bool TakeUnlessWaking(std::vector<Message>& out);
  std::vector<PostedWork> TakeSucceededSteps();
  // Removes the first work with this origin (kind and number), also from the succeeded steps.
  std::optional<PostedWork> TakeWork(const Origin& origin);
  // Whether there is work that was not posted from outside.
  bool HasWork();
  // Returns when there is a message or the deadline has passed. One thread.
  void Wait();
  // The deadline of Wait, also of one that has begun. At first there is none.
  void SetDeadline(MonoTime deadline);
  // Wakes the thread that waits, if there is a message.
  void Notify() { arrived_.notify_one(); }

 private:
  template <class T>
  void Append(std::vector<T>& list, T element);
  void MoveTo(std::vector<Message>& out);
  bool Empty() const { return messages_.empty() && succeeded_steps_.empty(); }

  std::function<bool()> handled_by_caller_ = [] { return false; };
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<Message> messages_;
  std::vector<PostedWork> succeeded_steps_;
  MonoTime deadline_ = MonoTime::max();
  bool waking_ = false;  // a message wakes, or has woken, the thread that waits
};

}  // namespace berth::cycle
