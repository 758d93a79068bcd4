// Rejects nodes on which the pod's volumes would exceed a CSI driver's limit.
#pragma once

#include "scheduler/framework/handle.hpp"
#include "scheduler/framework/plugin.hpp"
#include "scheduler/plugins/volume_dependency.hpp"

namespace berth::plugins {

class NodeVolumeLimits final : public framework::PreFilterPlugin, public framework::FilterPlugin {
 public:
  explicit NodeVolumeLimits(framework::Handle& handle);
  std::string_view Name() const override { return "NodeVolumeLimits"; }
  bool StateIsDerived() const override { return true; }
  framework::PreFilterResult PreFilter(const framework::Attempt& attempt) const override;
  framework::ResultDependency PreFilterDependency(const cluster::PodInfo& pod) const override {
    return VolumeDependency(pod);
  }
  void Filter(const framework::Attempt& attempt, const RowSet& candidates,
              framework::Rejections& out) const override;
  std::vector<framework::EventRegistration> EventsToRegister() const override;

 private:
  // The pod's CSI volumes without duplicates.
  struct Wanted {
    std::vector<cluster::CsiVolume> volumes;
    std::string error;
    bool claim_missing = false;
  };
  Wanted Collect(const api::Pod& pod, bool with_csi_node) const;
  // Evaluates rows that either all have a CSINode or all lack one; modifies `rows`.
  void Evaluate(const Wanted& wanted, const framework::Attempt& attempt, RowSet& rows,
                framework::Rejections& out) const;
  void RejectWithoutDriver(const Wanted& wanted, const framework::Attempt& attempt, RowSet& rows,
                           framework::Rejections& out) const;
  // `of_driver`: the pod's volumes of this driver.
  void AddExceeded(const std::string& driver, const std::vector<const cluster::CsiVolume*>& of_driver,
                   const RowSet& rows, RowSet& rejected) const;

  const cluster::ClusterObjects& objects_;
  const cluster::VolumesInUse& volumes_;
  framework::Reasons& reasons_;
  const bool driver_required_;
  framework::ReasonId exceeded_;
};

}  // namespace berth::plugins
