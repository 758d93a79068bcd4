#include "scheduler/plugins/topology_placement/topology_placement.hpp"

#include <fmt/format.h>

#include <map>

namespace berth::plugins {

using cluster::NodeTable;
using cluster::PodGroups;
using cluster::Row;
using framework::GeneratedPlacements;
using framework::Status;

GeneratedPlacements TopologyPlacementGenerator::GeneratePlacements(const api::PodGroup& group,
                                                                   const NodeTable& nodes,
                                                                   const RowSet& among) const {
  if (group.topology_key.empty()) return {{}, {{"", among}}};
  const auto required = DomainOfScheduled(group, nodes);
  if (!required)
    return {Status::Error("cannot determine domain for already scheduled pods: " + required.error().message)};
  std::map<std::string, RowSet> domains;
  among.ForEach([&](std::size_t row) {
    const std::string* value = nodes.node(static_cast<Row>(row)).metadata.labels.Find(group.topology_key);
    if (value == nullptr || (*required && **required != *value)) return;
    domains.try_emplace(*value, nodes.rows()).first->second.Add(row);
  });
  GeneratedPlacements generated;
  for (auto& [value, rows] : domains) generated.placements.push_back({value, std::move(rows)});
  return generated;
}

Expected<std::optional<std::string>> TopologyPlacementGenerator::DomainOfScheduled(
    const api::PodGroup& group, const NodeTable& nodes) const {
  std::optional<std::string> domain;
  const PodGroups::Group* known = groups_.Find(group.metadata.Key());
  if (known == nullptr) return domain;
  for (const auto& [uid, member] : known->members) {
    if (member.stage == PodGroups::Stage::kUnscheduled) continue;
    const std::string pod = member.pod->metadata.Key();
    const Row row = nodes.Find(symbols_.node_names.Find(member.node));
    if (row == cluster::kNoRow) {
      return Invalid(
          fmt::format("getting node for pod {}: nodeinfo not found for node name \"{}\"", pod, member.node));
    }
    const std::string* value = nodes.node(row).metadata.labels.Find(group.topology_key);
    if (value == nullptr) return Invalid(fmt::format("no topology domain found for pod {}", pod));
    if (domain && *domain != *value)
      return Invalid(fmt::format("more than 1 domain found for pod group: {}, {}", *domain, *value));
    domain = *value;
  }
  return domain;
}

}  // namespace berth::plugins
