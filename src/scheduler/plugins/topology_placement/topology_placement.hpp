// Keeps the members of a pod group in one topology domain (kube-scheduler v1.37.1,
// pkg/scheduler/framework/plugins/topologyaware; feature gate TopologyAwareWorkloadScheduling, off by
// default).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "scheduler/cluster/pod_groups.hpp"
#include "scheduler/framework/group_plugin.hpp"
#include "scheduler/framework/handle.hpp"

namespace berth::plugins {

// One placement per value of the node label that the group's topology constraint names; only that of the
// members, of a composite group those of all groups below it, that are scheduled already, if there are any.
// Without a constraint all nodes.
class TopologyPlacementGenerator final : public framework::PlacementGeneratePlugin {
 public:
  explicit TopologyPlacementGenerator(framework::Handle& handle)
      : symbols_(handle.symbols), groups_(handle.groups) {}

  std::string_view Name() const override { return "TopologyPlacementGenerator"; }
  bool StateIsDerived() const override { return true; }
  // By the values of the label. kube-scheduler's order is random.
  framework::GeneratedPlacements GeneratePlacements(const api::PodGroup& group,
                                                    const cluster::NodeTable& nodes,
                                                    const RowSet& among) const override;

 private:
  // The domain of these members; nullopt: there are none.
  Expected<std::optional<std::uint32_t>> DomainOf(std::span<const cluster::PodGroups::Member* const> members,
                                                  const std::string& key, const cluster::NodeTable& nodes,
                                                  const cluster::Topology& topology) const;

  const cluster::SymbolTable& symbols_;
  const cluster::PodGroups& groups_;
};

}  // namespace berth::plugins
