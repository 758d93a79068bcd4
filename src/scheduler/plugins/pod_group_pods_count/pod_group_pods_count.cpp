#include "scheduler/plugins/pod_group_pods_count/pod_group_pods_count.hpp"

#include <algorithm>

namespace berth::plugins {

Expected<std::int64_t> PodGroupPodsCount::ScorePlacement(
    const api::PodGroup& group, const cluster::NodeTable&,
    const framework::FeasiblePlacement& placement) const {
  const cluster::PodGroups::Group* known = groups_.Find(group.metadata.Key());
  const std::size_t scheduled = known == nullptr ? 0 : known->scheduled;
  return static_cast<std::int64_t>(scheduled + placement.members.size());
}

framework::Status PodGroupPodsCount::NormalizePlacementScores(std::span<std::int64_t> scores) const {
  const std::int64_t most = scores.empty() ? 0 : std::ranges::max(scores);
  if (most == 0)
    return framework::Status::Error("no pods from pod group are assigned to any of the candidate placements");
  for (std::int64_t& score : scores) score = score * framework::kMaxScore / most;
  return {};
}

}  // namespace berth::plugins
