// The mailbox of the scheduler loop. Thread-safe.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.hpp"
#include "kubernetes/ports/ports.hpp"

namespace berth::cycle {

struct Synced {};
// Wakes the loop, for example to stop it.
struct Wake {};
// Work for the loop's thread: results of asynchronous plugins, and work posted by plugins.
using Work = std::move_only_function<void()>;

// A change of the cluster, or a message from another thread of the scheduler.
using Message = std::variant<ports::ClusterChange, Synced, Work, Wake>;

// Appending takes a lock briefly and never waits; the loop takes all messages in one batch, in order of
// arrival.
class Mailbox final : public ports::ClusterSink {
 public:
  void On(ports::ClusterChange change) override { Post(std::move(change)); }
  void OnSynced() override { Post(Synced{}); }

  // Posts a step of a binding cycle. Steps after a success may be executed before messages that arrived
  // earlier.
  void PostStep(bool succeeded, Work step) {
    if (!succeeded) return Post(std::move(step));
    {
      std::scoped_lock lock(mutex_);
      succeeded_steps_.push_back(std::move(step));
    }
    arrived_.notify_one();
  }
  std::vector<Work> TakeSucceededSteps() {
    std::scoped_lock lock(mutex_);
    return std::exchange(succeeded_steps_, {});
  }

  void Post(Message message) {
    {
      std::scoped_lock lock(mutex_);
      messages_.push_back(std::move(message));
    }
    arrived_.notify_one();
  }
  // Moves all messages to `out`, which is cleared first.
  void Take(std::vector<Message>& out) {
    // capacity limit between batches; the initial lists deliver a message per pod
    constexpr std::size_t kKept = 4096;
    out.clear();
    if (out.capacity() > kKept) out.shrink_to_fit();
    std::scoped_lock lock(mutex_);
    std::swap(out, messages_);
    for (Work& step : succeeded_steps_) out.emplace_back(std::move(step));
    succeeded_steps_.clear();
  }
  // Returns when there is a message or the deadline has passed.
  void WaitUntil(MonoTime deadline) {
    std::unique_lock lock(mutex_);
    arrived_.wait_until(lock, deadline, [&] { return !messages_.empty() || !succeeded_steps_.empty(); });
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<Message> messages_;
  std::vector<Work> succeeded_steps_;
};

}  // namespace berth::cycle
