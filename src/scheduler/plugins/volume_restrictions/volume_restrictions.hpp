// Rejects nodes on which a directly referenced disk of the pod is in use, and all nodes while another pod
// uses a ReadWriteOncePod claim of the pod.
#pragma once

#include "scheduler/framework/handle.hpp"
#include "scheduler/framework/plugin.hpp"
#include "scheduler/plugins/volume_dependency.hpp"

namespace berth::plugins {

class VolumeRestrictions final : public framework::PreFilterExtensionsPlugin, public framework::FilterPlugin {
 public:
  explicit VolumeRestrictions(framework::Handle& handle);
  std::string_view Name() const override { return "VolumeRestrictions"; }
  bool StateIsDerived() const override { return true; }
  framework::PreFilterResult PreFilter(const framework::Attempt& attempt) const override;
  framework::ResultDependency PreFilterDependency(const cluster::PodInfo& pod) const override {
    return VolumeDependency(pod);
  }
  framework::Status AddPod(const framework::Attempt& attempt, const cluster::PlacedPod& added,
                           cluster::Row row) const override;
  framework::Status RemovePod(const framework::Attempt& attempt, const cluster::PlacedPod& removed,
                              cluster::Row row) const override;
  void Filter(const framework::Attempt& attempt, const RowSet& candidates,
              framework::Rejections& out) const override;
  std::vector<framework::EventRegistration> EventsToRegister() const override;

 private:
  // ReadWriteOncePod claims of the pod, and the number of uses by other pods. As in kube-scheduler, AddPod
  // and RemovePod match claims by name, ignoring the namespace.
  struct ExclusiveClaims {
    std::vector<std::string> claims;  // sorted
    std::int64_t uses = 0;
  };
  void Count(const framework::Attempt& attempt, const api::Pod& pod, int amount) const;

  const cluster::ClusterObjects& objects_;
  const cluster::VolumesInUse& volumes_;
  framework::StateKey<ExclusiveClaims> key_;
  framework::ReasonId disk_taken_;
  framework::ReasonId claim_taken_;
};

}  // namespace berth::plugins
