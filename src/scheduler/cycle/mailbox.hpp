// The mailbox of the scheduler loop. Thread-safe.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
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
  Mailbox();
  ~Mailbox() override;

  void On(ports::ClusterChange change) override;
  void OnSynced() override;
  void Post(Message message);
  // Posts a step of a binding cycle. Steps after a success may be executed before messages that arrived
  // earlier.
  void PostStep(bool succeeded, Work step);

  // Moves all messages to `out`, which is cleared first.
  void Take(std::vector<Message>& out);
  std::vector<Work> TakeSucceededSteps();
  // Returns when there is a message or the deadline has passed.
  void WaitUntil(MonoTime deadline);

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<Message> messages_;
  std::vector<Work> succeeded_steps_;
};

}  // namespace berth::cycle
