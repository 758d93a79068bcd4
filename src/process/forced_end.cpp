#include "process/forced_end.hpp"

#include <unistd.h>

#include <algorithm>

namespace berth::process {

ForcedEnd::ForcedEnd() : ForcedEnd([] { _exit(1); }) {}

void ForcedEnd::Within(Duration limit) {
  const std::scoped_lock lock(mutex_);
  end_at_ = std::min(end_at_, std::chrono::steady_clock::now() + limit);
  changed_.notify_all();
  if (!thread_.joinable()) thread_ = std::jthread([this](const std::stop_token& stop) { Wait(stop); });
}

void ForcedEnd::Wait(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    const auto end_at = end_at_;
    if (std::chrono::steady_clock::now() >= end_at) return end_();
    changed_.wait_until(lock, stop, end_at, [&] { return end_at_ != end_at; });
  }
}

}  // namespace berth::process
