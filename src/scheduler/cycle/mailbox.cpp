#include "scheduler/cycle/mailbox.hpp"

#include <utility>

namespace berth::cycle {

Mailbox::Mailbox() = default;
Mailbox::~Mailbox() = default;

void Mailbox::On(ports::ClusterChange change) { Post(std::move(change)); }

void Mailbox::OnSynced() { Post(Synced{}); }

void Mailbox::Post(Message message) {
  {
    std::scoped_lock lock(mutex_);
    messages_.push_back(std::move(message));
  }
  arrived_.notify_one();
}

void Mailbox::PostStep(bool succeeded, Work step) {
  if (!succeeded) return Post(std::move(step));
  {
    std::scoped_lock lock(mutex_);
    succeeded_steps_.push_back(std::move(step));
  }
  arrived_.notify_one();
}

void Mailbox::Take(std::vector<Message>& out) {
  // capacity limit between batches; the initial lists deliver a message per pod
  constexpr std::size_t kKept = 4096;
  out.clear();
  if (out.capacity() > kKept) out.shrink_to_fit();
  std::scoped_lock lock(mutex_);
  std::swap(out, messages_);
  for (Work& step : succeeded_steps_) out.emplace_back(std::move(step));
  succeeded_steps_.clear();
}

std::vector<Work> Mailbox::TakeSucceededSteps() {
  std::scoped_lock lock(mutex_);
  return std::exchange(succeeded_steps_, {});
}

void Mailbox::WaitUntil(MonoTime deadline) {
  std::unique_lock lock(mutex_);
  arrived_.wait_until(lock, deadline, [&] { return !messages_.empty() || !succeeded_steps_.empty(); });
}

}  // namespace berth::cycle
