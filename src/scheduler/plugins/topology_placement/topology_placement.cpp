#include "scheduler/plugins/topology_placement/topology_placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace berth::plugins {

using cluster::NodeTable;
using cluster::PodGroups;
using cluster::Row;
using cluster::Topology;
using framework::GeneratedPlacements;
using framework::GroupPlacement;
using framework::Status;

namespace {

const std::string& ValueAt(Row row, const std::string& key, const NodeTable& nodes) {
  return *nodes.node(row).metadata.labels.Find(key);
}

}  // namespace

GeneratedPlacements TopologyPlacementGenerator::GeneratePlacements(const api::PodGroup& group,
                                                                   const NodeTable& nodes,
                                                                   const RowSet& among) const {
  if (group.topology_key.empty()) return {{}, {{"", among}}};
  const cluster::LabelKeyId key = symbols_.FindKey(group.topology_key);
  const Topology no_domains{std::vector(nodes.rows(), Topology::kNoDomain), {}, {}};
  const Topology& topology = key.known() ? nodes.TopologyOf(key) : no_domains;
  std::vector<const PodGroups::Member*> scheduled;
  const auto too_deep =
      groups_.ForEachLeaf(cluster::KeyOf(group), [&](const std::string&, const PodGroups::Group& leaf) {
        for (const auto& [uid, member] : leaf.members) {
          if (member.stage != PodGroups::Stage::kUnscheduled) scheduled.push_back(&member);
        }
      });
  if (too_deep) return {Status::Error(cluster::TooManyLevels(*too_deep))};
  const auto required = DomainOf(scheduled, group.topology_key, nodes, topology);
  if (!required)
    return {Status::Error("cannot determine domain for already scheduled pods: " + required.error().message)};
  std::vector<GroupPlacement> by_domain(topology.domains(), {"", RowSet(nodes.rows())});
  among.ForEach([&](std::size_t row) {
    const std::uint32_t domain = topology.domain[row];
    if (domain != Topology::kNoDomain && (!*required || **required == domain))
      by_domain[domain].rows.Add(row);
  });
  std::erase_if(by_domain, [](const GroupPlacement& placement) { return placement.rows.Empty(); });
  for (GroupPlacement& placement : by_domain)
    placement.name = ValueAt(static_cast<Row>(placement.rows.First()), group.topology_key, nodes);
  std::ranges::sort(by_domain, {}, &GroupPlacement::name);
  return {{}, std::move(by_domain)};
}

Expected<std::optional<std::uint32_t>> TopologyPlacementGenerator::DomainOf(
    std::span<const PodGroups::Member* const> members, const std::string& key, const NodeTable& nodes,
    const Topology& topology) const {
  Row first = cluster::kNoRow;
  for (const PodGroups::Member* member : members) {
    const std::string pod = member->pod->metadata.Key();
    const Row row = nodes.Find(member->node);
    if (row == cluster::kNoRow) {
      return Invalid(
          fmt::format("getting node for pod {}: nodeinfo not found for node name \"{}\"", pod, member->node));
    }
    if (topology.domain[row] == Topology::kNoDomain)
      return Invalid(fmt::format("no topology domain found for pod {}", pod));
    if (first == cluster::kNoRow) first = row;
    if (topology.domain[first] != topology.domain[row]) {
      return Invalid(fmt::format("more than 1 domain found for pod group: {}, {}", ValueAt(first, key, nodes),
                                 ValueAt(row, key, nodes)));
    }
  }
  if (first == cluster::kNoRow) return std::nullopt;
  return topology.domain[first];
}

}  // namespace berth::plugins
