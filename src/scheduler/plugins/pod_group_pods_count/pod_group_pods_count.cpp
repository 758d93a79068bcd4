#include "scheduler/plugins/pod_group_pods_count/pod_group_pods_count.hpp"

#include <algorithm>

namespace berth::plugins {

Expected<std::int64_t> PodGroupPodsCount::ScorePlacement(
    const api::PodGroup& group, const cluster::NodeTable&,
    const framework::FeasiblePlacement& placement) const {
  std::size_t scheduled = 0;
  const auto too_deep = groups_.ForEachLeaf(
      cluster::KeyOf(group),
      [&](const std::string&, const cluster::PodGroups::Group& leaf) { scheduled += leaf.scheduled; });
  if (too_deep) return Invalid(cluster::TooManyLevels(*too_deep));
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
