// The scheduler's side of a Handle without a running scheduler, for programs that only evaluate pods:
// explanations, shadow mode, the extender server. Together with kubernetes/ports/dry_run_ports.hpp, no plugin
// can cause an effect.
#pragma once

#include "scheduler/framework/handle.hpp"

namespace berth::framework {

// Drops all work: there is no loop. Thread-safe if Now and WallNow are.
class NoLoop : public LoopExecutor {
 public:
  void Post(std::move_only_function<void()>) override {}
  MonoTime PostAfter(Duration, std::move_only_function<void()>) override { return {}; }
  void PostAt(MonoTime, std::move_only_function<void()>) override {}
  Poster poster() const override {
    return [](std::move_only_function<void()>) {};
  }
};

// No time passes.
class NoLoopAt final : public NoLoop {
 public:
  explicit NoLoopAt(WallTime now) : now_(now) {}
  MonoTime Now() const override { return {}; }
  WallTime WallNow() const override { return now_; }

 private:
  const WallTime now_;
};

// No pod waits, preempts or is queued. Work that may block is dropped: no pod is bound. Thread-safe.
class DryRunServices final : public SchedulerServices {
 public:
  void RunBlocking(std::move_only_function<void()>) override {}
  WaitingPod* FindWaitingPod(std::string_view) override { return nullptr; }
  void ForEachWaitingPod(const std::function<void(WaitingPod&)>&) override {}
  api::PodPtr FindPod(const api::ObjectMeta&) const override { return nullptr; }
  bool IsPreempting(std::string_view) const override { return false; }
  void PublishEvent(const ClusterEvent&, const EventObjects&) override {}
  void Activate(std::span<const std::string>) override {}
  void ActivateMembers(const std::string&) override {}
};

}  // namespace berth::framework
