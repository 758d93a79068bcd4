#include "scheduler/cycle/mailbox.hpp"

#include <algorithm>
#include <utility>

namespace berth::cycle {

Mailbox::Mailbox() = default;
Mailbox::~Mailbox() = default;

void Mailbox::On(ports::ClusterChange change) { Append(messages_, Message(std::move(change))); }

void Mailbox::OnSynced() { Append(messages_, Message(Synced{})); }

void Mailbox::Post(Work work) {
  Append(messages_, Message(PostedWork{std::move(work), OriginScope::Current()}));
}

void Mailbox::WakeUp() { Append(messages_, Message(Wake{})); }

void Mailbox::PostStep(bool succeeded, Work step) {
  if (!succeeded) return Post(std::move(step));
  Origin origin = OriginScope::Current();
  // They may be executed before work that was posted earlier, which a recording has to tell apart.
  if (origin.kind == Origin::Kind::kLoop) origin.kind = Origin::Kind::kStep;
  Append(succeeded_steps_, PostedWork{std::move(step), std::move(origin)});
}

template <class T>
void Mailbox::Append(std::vector<T>& list, T element) {
  const bool wakes = !handled_by_caller_();
  {
    std::scoped_lock lock(mutex_);
    list.push_back(std::move(element));
    waking_ = waking_ || wakes;
  }
  if (wakes) Notify();
}

void Mailbox::Take(std::vector<Message>& out) {
  std::scoped_lock lock(mutex_);
  MoveTo(out);
}

bool Mailbox::TakeUnlessWaking(std::vector<Message>& out) {
  std::scoped_lock lock(mutex_);
  if (waking_) return false;
  MoveTo(out);
  return true;
}

void Mailbox::MoveTo(std::vector<Message>& out) {
  // capacity limit between batches; the initial lists deliver a message per pod
  constexpr std::size_t kKept = 4096;
  out.clear();
  if (out.capacity() > kKept) out.shrink_to_fit();
  std::swap(out, messages_);
  for (PostedWork& step : succeeded_steps_) out.emplace_back(std::move(step));
  succeeded_steps_.clear();
  waking_ = false;
}

std::vector<PostedWork> Mailbox::TakeSucceededSteps() {
  std::scoped_lock lock(mutex_);
  return std::exchange(succeeded_steps_, {});
}

std::optional<PostedWork> Mailbox::TakeWork(const Origin& origin) {
  const auto fits = [&](const PostedWork& posted) {
    return posted.origin.kind == origin.kind && posted.origin.number == origin.number;
  };
  std::scoped_lock lock(mutex_);
  const auto step = std::ranges::find_if(succeeded_steps_, fits);
  if (step != succeeded_steps_.end()) {
    PostedWork found = std::move(*step);
    succeeded_steps_.erase(step);
    return found;
  }
  const auto message = std::ranges::find_if(messages_, [&](const Message& candidate) {
    const auto* posted = std::get_if<PostedWork>(&candidate);
    return posted != nullptr && fits(*posted);
  });
  if (message == messages_.end()) return std::nullopt;
  PostedWork found = std::get<PostedWork>(std::move(*message));
  messages_.erase(message);
  return found;
}

bool Mailbox::HasWork() {
  std::scoped_lock lock(mutex_);
  return !succeeded_steps_.empty() || std::ranges::any_of(messages_, [](const Message& message) {
    const auto* posted = std::get_if<PostedWork>(&message);
    return posted != nullptr && posted->origin.kind != Origin::Kind::kOutside &&
           posted->origin.kind != Origin::Kind::kCommand;
  });
}

void Mailbox::Wait() {
  std::unique_lock lock(mutex_);
  while (Empty()) {
    const MonoTime deadline = deadline_;
    if (arrived_.wait_until(lock, deadline) == std::cv_status::timeout && deadline_ <= deadline) return;
  }
}

void Mailbox::SetDeadline(MonoTime deadline) {
  std::scoped_lock lock(mutex_);
  if (deadline < std::exchange(deadline_, deadline)) arrived_.notify_one();
}

}  // namespace berth::cycle
