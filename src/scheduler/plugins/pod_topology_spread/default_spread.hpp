// Default spread constraints of the profile, for pods without constraints that belong to a service or a
// controller.
#pragma once

#include <boost/unordered_map.hpp>
#include <memory>
#include <string>
#include <vector>

#include "scheduler/cluster/cluster_objects.hpp"
#include "scheduler/cluster/pod_info.hpp"
#include "scheduler/cluster/pod_selectors.hpp"
#include "scheduler/cluster/selector_index.hpp"

namespace berth::plugins {

// Results are cached per PodLabels until a service or a controller changes. Scheduler loop only.
class DefaultSpread {
 public:
  DefaultSpread(const std::vector<api::TopologySpreadConstraint>& constraints, cluster::SymbolTable& symbols,
                const cluster::ClusterObjects& objects);

  // Never null. Empty if no service or controller selects the pod.
  cluster::SpreadPtr For(const cluster::PodInfo& pod);

 private:
  struct CachedConstraints {
    std::string owner;          // kind and name; pods with equal labels may have different controllers
    std::uint64_t version = 0;  // of services and controllers
    cluster::SpreadPtr constraints;
  };
  cluster::SpreadPtr Deduce(const cluster::PodInfo& pod) const;
  api::ParsedSelector SelectorFor(const cluster::PodInfo& pod) const;
  void FollowServices();

  const std::vector<api::TopologySpreadConstraint> constraints_;
  cluster::SymbolTable& symbols_;
  const cluster::ClusterObjects& objects_;
  boost::unordered_map<cluster::PodLabelsPtr, CachedConstraints> cache_;
  cluster::SelectorIndex<std::shared_ptr<const api::Service>> services_;
  std::uint64_t services_version_ = 0;
  const cluster::SpreadPtr none_ = std::make_shared<const cluster::SpreadConstraints>();
};

}  // namespace berth::plugins
