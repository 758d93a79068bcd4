// Messages to the scheduler loop, from any thread.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.hpp"
#include "framework/ports.hpp"

namespace berth::core {

struct Synced {};
// Wakes the loop, for instance to stop it.
struct Wake {};
// Something to do on the loop's thread: answers of plugins, work that plugins post.
using Work = std::move_only_function<void()>;
using Message = std::variant<framework::Change<api::Pod>, framework::Change<api::Node>, Synced, Work, Wake>;

// Appending is a short lock and no wait; the loop takes everything at once.
class Inbox {
 public:
  void Post(Message message) {
    {
      std::scoped_lock lock(mutex_);
      messages_.push_back(std::move(message));
    }
    arrived_.notify_one();
  }
  // Everything that has arrived, into `out` (which is cleared first).
  void Take(std::vector<Message>& out) {
    out.clear();
    std::scoped_lock lock(mutex_);
    std::swap(out, messages_);
  }
  // Returns when something is there or the deadline has passed.
  void WaitUntil(MonoTime deadline) {
    std::unique_lock lock(mutex_);
    arrived_.wait_until(lock, deadline, [&] { return !messages_.empty(); });
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<Message> messages_;
};

}  // namespace berth::core
