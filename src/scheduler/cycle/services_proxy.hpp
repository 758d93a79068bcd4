// Connects plugins to the scheduler, which is built after them.
#pragma once

#include "base/check.hpp"
#include "scheduler/framework/handle.hpp"

namespace berth::cycle {

// Forwards to the connected scheduler. Plugins are called only while one is connected; until then, no pod
// waits, is queued or preempts. Scheduler loop only.
class ServicesProxy final : public framework::SchedulerServices {
 public:
  // `scheduler` must outlive the connection. At most one is connected.
  void Connect(framework::SchedulerServices& scheduler) {
    BERTH_CHECK(scheduler_ == nullptr);
    scheduler_ = &scheduler;
  }
  void Disconnect() { scheduler_ = nullptr; }

  void RunBlocking(std::move_only_function<void()> work) override {
    BERTH_CHECK(scheduler_ != nullptr);
    scheduler_->RunBlocking(std::move(work));
  }
  framework::WaitingPod* FindWaitingPod(std::string_view uid) override {
    return scheduler_ == nullptr ? nullptr : scheduler_->FindWaitingPod(uid);
  }
  void ForEachWaitingPod(const std::function<void(framework::WaitingPod&)>& visit) override {
    if (scheduler_ != nullptr) scheduler_->ForEachWaitingPod(visit);
  }
  api::PodPtr FindPod(const api::ObjectMeta& pod) const override {
    return scheduler_ == nullptr ? nullptr : scheduler_->FindPod(pod);
  }
  bool IsPreempting(std::string_view uid) const override {
    return scheduler_ != nullptr && scheduler_->IsPreempting(uid);
  }
  void PublishEvent(const framework::ClusterEvent& event, const framework::EventObjects& objects) override {
    if (scheduler_ != nullptr) scheduler_->PublishEvent(event, objects);
  }
  void Activate(std::span<const std::string> pods) override {
    if (scheduler_ != nullptr) scheduler_->Activate(pods);
  }
  void ActivateMembers(const std::string& group) override {
    if (scheduler_ != nullptr) scheduler_->ActivateMembers(group);
  }

 private:
  framework::SchedulerServices* scheduler_ = nullptr;
};

}  // namespace berth::cycle
