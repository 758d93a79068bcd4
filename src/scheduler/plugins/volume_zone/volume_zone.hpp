// Rejects nodes outside the zones and regions that the labels of the pod's volumes name.
#pragma once

#include <array>

#include "scheduler/framework/plugin.hpp"
#include "scheduler/plugins/volume_dependency.hpp"

namespace berth::plugins {

class VolumeZone final : public framework::PreFilterPlugin, public framework::FilterPlugin {
 public:
  explicit VolumeZone(framework::Handle& handle);
  std::string_view Name() const override { return "VolumeZone"; }
  framework::PreFilterAnswer PreFilter(const framework::Attempt& attempt) const override;
  framework::ResultDependency PreFilterDependency(const cluster::PodInfo& pod) const override {
    return VolumeDependency(pod);
  }
  void Filter(const framework::Attempt& attempt, const RowSet& candidates,
              framework::Rejections& out) const override;
  std::vector<framework::EventRegistration> EventsToRegister() const override;

 private:
  // One label of one volume: where a node's label of that kind must be.
  struct Place {
    std::size_t kind = 0;  // of keys_
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
