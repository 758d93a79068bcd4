// The queue's decisions, made by the plugins of the profiles.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string>

#include "scheduler/framework/requeue.hpp"
#include "scheduler/framework/tenant_order.hpp"
#include "scheduler/queue/scheduling_queue.hpp"
#include "scheduler/runtime/profile_list.hpp"

namespace berth::cycle {

// Scheduler loop only. The profiles must outlive this object; a pod's profile is its index in `profiles`. No
// plugin is called for pods of a removed profile, which leave the queue within the same reload.
class ProfilePolicy final : public queue::QueuePolicy {
 public:
  explicit ProfilePolicy(const runtime::ProfileList& profiles) : profiles_(profiles) {}

  // All profiles have the same order.
  bool Less(const framework::QueuedEntity& a, const framework::QueuedEntity& b) const override {
    return profiles_.front()->Less(a, b);
  }
  framework::TenantOrder* tenant_order() const override {
    return framework::As<framework::TenantOrder>(&profiles_.front()->queue_sort());
  }
  framework::Status PreEnqueue(const framework::QueuedPod& pod) const override {
    if (!profiles_.IsInUse(pod.profile)) return {};
    return profiles_[pod.profile]->RunPreEnqueue(pod.info, pod.gated_by);
  }
  bool IsAnyRegistered(const framework::ClusterEvent& event) const override {
    return std::ranges::any_of(profiles_, [&](const auto& profile) { return profile->IsRegistered(event); });
  }
  bool IsRegisteredBy(std::uint32_t profile, const std::string& plugin,
                      const framework::ClusterEvent& event) const override {
    return profiles_.IsInUse(profile) && profiles_[profile]->IsRegistered(event, std::span(&plugin, 1));
  }
  framework::Requeue EvaluateHint(const framework::QueuedPod& pod, const framework::ClusterEvent& event,
                                  const framework::EventObjects& objects) const override {
    if (!profiles_.IsInUse(pod.profile)) return framework::Requeue::kSkip;
    return profiles_[pod.profile]->EvaluateHint(event, objects, pod.info, pod.rejectors, pod.pending);
  }

 private:
  const runtime::ProfileList& profiles_;
};

}  // namespace berth::cycle
