// A pod that waits in Permit.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "testing/cluster.hpp"

namespace berth::testing {

// The cluster's services find it while it exists: FakeServices::FindWaitingPod. It keeps the names of the
// plugins that have allowed it, and cannot be rejected. The cluster must outlive it.
class WaitingMember final : public framework::WaitingPod {
 public:
  WaitingMember(const cluster::PodInfo& pod, Cluster& cluster)
      : pod_(pod), waiting_(cluster.services().waiting) {
    waiting_[pod_.pod->metadata.uid] = this;
  }
  ~WaitingMember() override { waiting_.erase(pod_.pod->metadata.uid); }
  WaitingMember(const WaitingMember&) = delete;
  WaitingMember& operator=(const WaitingMember&) = delete;
  const cluster::PodInfo& pod() const override { return pod_; }
  const std::string& node() const override { return node_; }
  std::vector<std::string> PendingPlugins() const override { return {}; }
  void Allow(std::string_view name) override { allowed.emplace_back(name); }
  bool Reject(std::string_view, std::string) override { return false; }
  bool Preempt(std::string_view, std::string) override { return false; }

  std::vector<std::string> allowed;

 private:
  const cluster::PodInfo pod_;
  const std::string node_ = "n1";
  std::map<std::string, framework::WaitingPod*, std::less<>>& waiting_;
};

}  // namespace berth::testing
