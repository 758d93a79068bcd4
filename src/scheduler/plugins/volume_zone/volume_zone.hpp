// Rejects nodes outside the zones and regions given by the labels of the pod's volumes.
#pragma once

#include <array>

#include "scheduler/framework/handle.hpp"
#include "scheduler/framework/plugin.hpp"
#include "scheduler/plugins/volume_dependency.hpp"

namespace berth::plugins {

class VolumeZone final : public framework::PreFilterPlugin, public framework::FilterPlugin {
 public:
  explicit VolumeZone(framework::Handle& handle);
  std::string_view Name() const override { return "VolumeZone"; }
  bool StateIsDerived() const override { return true; }
  framework::PreFilterResult PreFilter(const framework::Attempt& attempt) const override;
  framework::ResultDependency PreFilterDependency(const cluster::PodInfo& pod) const override {
    return VolumeDependency(pod);
  }
  void Filter(const framework::Attempt& attempt, const RowSet& candidates,
              framework::Rejections& out) const override;
  std::vector<framework::EventRegistration> EventsToRegister() const override;

 private:
  // One label of one volume: the values that the node's label of that kind may have.
  struct Place {
    std::size_t kind = 0;  // index in keys_
    std::vector<std::string> values;
  };

  framework::Status CollectPlaces(const api::Pod& pod, const std::string& claim,
                                  std::vector<Place>& places) const;
  void AddMatching(const Place& place, const framework::Attempt& attempt, RowSet& rows) const;

  const cluster::ClusterObjects& objects_;
  const std::array<cluster::LabelKeyId, 4> keys_;
  framework::StateKey<std::vector<Place>> key_;
  framework::ReasonId reason_;
};

}  // namespace berth::plugins
