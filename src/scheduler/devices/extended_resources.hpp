// Extended resources that a DeviceClass provides (gate DRAExtendedResource of kube-scheduler v1.37.1): a pod
// that requests one gets devices of the class on nodes whose device plugin does not offer the resource.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/text_map.hpp"
#include "scheduler/cluster/cluster_objects.hpp"
#include "scheduler/cluster/ids.hpp"
#include "scheduler/cluster/node_table.hpp"
#include "scheduler/cluster/symbol_table.hpp"

namespace berth::devices {

// Follows the classes and claims of `objects`. A change of a class invalidates the cached results of `nodes`.
// Scheduler loop only.
class ExtendedResources {
 public:
  using ClassPtr = std::shared_ptr<const api::DeviceClass>;
  using ClaimPtr = std::shared_ptr<const api::ResourceClaim>;

  // Disabled, no class provides a resource. The other arguments must outlive this object.
  ExtendedResources(bool enabled, cluster::ClusterObjects& objects, cluster::SymbolTable& symbols,
                    cluster::NodeTable& nodes);

  bool enabled() const { return enabled_; }
  // Whether a class provides a resource.
  bool any() const { return !classes_.empty(); }
  // The class that provides the resource; null if none does. Several classes with one extendedResourceName:
  // the newest, then the one with the smaller name. "deviceclass.resource.kubernetes.io/<class>" always means
  // that class.
  const api::DeviceClass* ClassOf(cluster::ResourceId resource) const {
    const auto found = classes_.find(resource);
    return found == classes_.end() ? nullptr : found->second.device_class.get();
  }
  // The claim that a scheduler created for extended resources of the pod; null if there is none. Of several,
  // the first by name.
  ClaimPtr ClaimOf(const api::Pod& pod) const;

 private:
  struct Provider {
    ClassPtr device_class;
    cluster::SymbolLease lease;  // of the resource
  };
  void OnClass(const ports::Change<api::DeviceClass>& change);
  void OnClaim(const ports::Change<api::ResourceClaim>& change);
  // Determines the class of the resource again.
  void Resolve(const std::string& resource);

  const bool enabled_;
  const cluster::ClusterObjects& objects_;
  cluster::SymbolTable& symbols_;
  cluster::NodeTable& nodes_;
  boost::unordered_flat_map<cluster::ResourceId, Provider> classes_;
  TextMap<std::vector<ClaimPtr>> claims_;  // by the UID of the pod
};

// Whether pods can request devices by this name: an extended resource, or the implicit one of a class.
bool IsDeviceResourceName(std::string_view resource);

}  // namespace berth::devices
