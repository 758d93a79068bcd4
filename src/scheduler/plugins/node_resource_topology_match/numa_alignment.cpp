#include "scheduler/plugins/node_resource_topology_match/numa_alignment.hpp"

#include <algorithm>
#include <bit>
#include <span>

namespace berth::plugins {
namespace {

using NumaAmounts = std::span<const NumaAmount>;
using Container = NumaRequest::Container;

class Alignment {
 public:
  Alignment(const NumaRequest& request, const cluster::NodeTable& nodes, cluster::Row row,
            ZoneAmounts& amounts)
      : request_(request), nodes_(nodes), row_(row), amounts_(amounts) {}

  AlignmentResult Run() {
    if (amounts_.topology().scope == NumaTopology::Scope::kPod) {
      if (FindZone(request_.pod)) return {};
      return {Misalignment::kPod, nullptr, missing_};
    }
    for (const Container& container : request_.containers) {
      const auto zone = FindZone(container.amounts);
      if (!zone) return {PartOf(container.kind), &container, missing_};
      if (container.kind == NumaRequest::Kind::kApp) Take(container.amounts, *zone);
    }
    return {};
  }

 private:
  static Misalignment PartOf(NumaRequest::Kind kind) {
    switch (kind) {
      case NumaRequest::Kind::kInit:
        return Misalignment::kInitContainer;
      case NumaRequest::Kind::kSidecar:
        return Misalignment::kSidecar;
      case NumaRequest::Kind::kApp:
        break;
    }
    return Misalignment::kContainer;
  }

  // The lowest id of a zone with all amounts; 0 if nothing of them belongs to zones. nullopt: there is no
  // such zone; missing_ is set.
  std::optional<int> FindZone(NumaAmounts wanted) {
    std::uint64_t ids = ~std::uint64_t{0};
    for (const NumaAmount& amount : wanted) {
      if (amount.milli == 0) continue;
      const NumaRequest::Resource& resource = request_.resources[amount.resource];
      missing_ = amount.resource;
      if (!IsOnNode(resource)) return std::nullopt;
      if (amounts_.listed(amount.resource) == 0 && resource.host_level) continue;
      ids &= IdsWith(amount, request_.IsExclusive(resource));
      if (ids == 0) return std::nullopt;
    }
    return std::countr_zero(ids);
  }

  // Allocatable amounts of 0 count, too; the column does not tell them from absent ones.
  bool IsOnNode(const NumaRequest::Resource& resource) const {
    if (resource.on_all_nodes) return true;
    if (resource.allocatable.empty()) return false;
    return resource.allocatable[row_] > 0 || nodes_.node(row_).allocatable.contains(*resource.name);
  }

  std::uint64_t IdsWith(const NumaAmount& amount, bool exclusive) const {
    std::uint64_t ids = 0;
    for (std::uint64_t rest = amounts_.listed(amount.resource); rest != 0; rest &= rest - 1) {
      const auto zone = static_cast<std::size_t>(std::countr_zero(rest));
      if (!exclusive || amounts_.At(amount.resource, zone) >= amount.milli)
        ids |= std::uint64_t{1} << amounts_.topology().ids[zone];
    }
    return ids;
  }

  void Take(NumaAmounts taken, int id) {
    const auto& ids = amounts_.topology().ids;
    const auto found = std::ranges::find(ids, static_cast<std::uint8_t>(id));
    if (found == ids.end()) return;  // nothing of the container belongs to zones
    const auto zone = static_cast<std::size_t>(found - ids.begin());
    for (const NumaAmount& amount : taken) {
      if (!request_.IsExclusive(request_.resources[amount.resource])) continue;
      if ((amounts_.listed(amount.resource) >> zone & 1) != 0)
        amounts_.At(amount.resource, zone) -= amount.milli;
    }
  }

  const NumaRequest& request_;
  const cluster::NodeTable& nodes_;
  const cluster::Row row_;
  ZoneAmounts& amounts_;
  std::uint32_t missing_ = 0;
};

}  // namespace

AlignmentResult Align(const NumaRequest& request, const cluster::NodeTable& nodes, cluster::Row row,
                      ZoneAmounts& amounts) {
  return Alignment(request, nodes, row, amounts).Run();
}

}  // namespace berth::plugins
