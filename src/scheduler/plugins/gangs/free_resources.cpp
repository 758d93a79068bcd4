#include "scheduler/plugins/gangs/free_resources.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <vector>

#include "base/saturated.hpp"
#include "scheduler/cluster/pod_info.hpp"

namespace berth::plugins {
namespace {

using cluster::Row;

constexpr std::size_t kShown = 4;  // of the missing resources

// "pods" has a column of its own.
bool IsPods(std::string_view resource) { return resource == "pods"; }

std::int64_t RequestOf(const cluster::PlacedPod& pod, std::string_view resource, cluster::ResourceId id) {
  return IsPods(resource) ? 1 : pod.use().requested.Of(id);
}

// What the scheduled members of the group request.
std::int64_t UsedByMembers(const cluster::PodGroups::Group& group, std::string_view resource,
                           cluster::ResourceId id, const framework::Handle& handle) {
  std::int64_t used = 0;
  for (const auto& [uid, member] : group.members) {
    if (member.stage == cluster::PodGroups::Stage::kUnscheduled) continue;
    const Row row = handle.nodes.Find(member.node);
    if (row == cluster::kNoRow) continue;
    for (const cluster::PlacedPod* pod : handle.nodes.pods(row)) {
      if (pod->pod->metadata.uid == uid) used = SaturatedSum(used, RequestOf(*pod, resource, id));
    }
  }
  return used;
}

std::int64_t FreeOf(std::string_view resource, cluster::ResourceId id, const cluster::NodeTable& nodes) {
  const auto offered = IsPods(resource) ? nodes.allowed_pods() : nodes.allocatable(id);
  const auto requested = IsPods(resource) ? nodes.pod_count() : nodes.requested(id);
  std::int64_t free = 0;
  nodes.all().ForEach([&](std::size_t row) {
    // Requests that exceed 2^63 in sum have wrapped: the node is overcommitted.
    if (row >= offered.size() || requested[row] < 0 || offered[row] <= requested[row]) return;
    free = SaturatedSum(free, offered[row] - requested[row]);
  });
  return free;
}

}  // namespace

std::string MissingResources(const api::ResourceList& wanted, const cluster::PodGroups::Group& group,
                             const framework::Handle& handle) {
  std::vector<std::string> missing;
  for (const auto& [resource, amount] : wanted) {
    const cluster::ResourceId id = handle.symbols.FindResource(resource);
    const bool is_cpu = id == cluster::kCpu;
    const std::int64_t needed = is_cpu ? amount.MilliValue() : amount.Value();
    const std::int64_t free =
        SaturatedSum(FreeOf(resource, id, handle.nodes), UsedByMembers(group, resource, id, handle));
    if (needed <= free) continue;
    missing.push_back(
        fmt::format("{}: {} (free: {}{})", resource, amount.Canonical(), free, is_cpu ? "m" : ""));
  }
  const std::size_t shown = std::min(missing.size(), kShown);
  return fmt::format("{}{}",
                     fmt::join(missing.begin(), missing.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
                     missing.size() > shown ? ", ..." : "");
}

}  // namespace berth::plugins
