// Trees of composite groups.
#include <fmt/format.h>

#include <algorithm>

#include "base/check.hpp"
#include "base/text_map.hpp"
#include "scheduler/cycle/group_cycle.hpp"
#include "scheduler/cycle/group_search.hpp"
#include "scheduler/cycle/rejections.hpp"

namespace berth::cycle {

using algorithm::RecordedScores;
using cluster::GroupTree;
using framework::Code;
using framework::QueuedGroup;
using framework::QueuedPodPtr;
using framework::Status;

namespace {

// kube-scheduler's error is one of Error() only.
bool IsError(const Status& status) { return !status.ok() && !status.rejected(); }

using Verdict = record::GroupTreeRecord::Verdict;

Verdict VerdictOf(const TreeGroupResult& group) {
  if (!group.decided) return Verdict::kNotTried;
  return group.status.ok() ? Verdict::kStarts : Verdict::kFails;
}

// The most frequent texts first, then in the order of the members.
std::vector<record::GroupTreeRecord::Reason> MostFrequent(std::span<const MemberResult> members) {
  std::vector<record::GroupTreeRecord::Reason> reasons;
  TextMap<std::size_t> known;
  for (const MemberResult& member : members) {
    if (!member.tried() || member.placed()) continue;
    std::string message = member.status.Message();
    const auto [reason, added] = known.try_emplace(message, reasons.size());
    if (added) reasons.push_back({.message = std::move(message)});
    ++reasons[reason->second].members;
  }
  std::ranges::stable_sort(reasons, std::ranges::greater(), &record::GroupTreeRecord::Reason::members);
  if (reasons.size() > record::GroupTreeRecord::kReasonsMax)
    reasons.resize(record::GroupTreeRecord::kReasonsMax);
  return reasons;
}

void CountMembers(std::span<const MemberResult> members, record::GroupTreeRecord::Group& out) {
  out.pending = members.size();
  for (const MemberResult& member : members)
    ++(!member.tried() ? out.not_tried : member.placed() ? out.placed : out.failed);
  out.reasons = MostFrequent(members);
}

// `groups` begins with the composite group.
void CountGroupsBelow(std::span<const TreeGroupResult> groups, record::GroupTreeRecord::Group& out) {
  const std::size_t level = groups.front().level;
  for (const TreeGroupResult& group : groups.subspan(1)) {
    if (group.level <= level) return;
    if (group.level > level + 1) continue;
    ++out.pending;
    const Verdict verdict = VerdictOf(group);
    ++(verdict == Verdict::kStarts ? out.placed : verdict == Verdict::kFails ? out.failed : out.not_tried);
  }
}

std::string NameOfFailure(std::span<const TreeGroupResult> groups) {
  const TreeGroupResult* cause = record::FindCause(
      groups, [](const TreeGroupResult& group) { return VerdictOf(group) == Verdict::kFails; });
  return cause == nullptr ? "" : cause->group->object->metadata.Key();
}

// The pod groups of the tree, without members.
void AddLeaf(const GroupTree& node, std::map<std::string, QueuedGroup>& leaves) {
  if (!node.object->composite) {
    QueuedGroup& leaf = leaves[node.key];
    leaf.key = node.key;
    leaf.object = node.object;
    leaf.priority = node.object->priority;
  }
  for (const GroupTree& child : node.children) AddLeaf(child, leaves);
}

}  // namespace

GroupResult GroupCycle::DecideTree(const QueuedGroup& group) {
  const TreeLeaves leaves = LeavesOf(group);
  TreeResult tree = SearchTree(group, leaves);
  GroupResult result;
  result.status = tree.result.status;
  result.searched = result.status.code;
  result.any_placed = tree.result.any_placed;
  result.abandoned = tree.result.abandoned;
  result.took = parts_.clock.Now() - group.attempt_started;
  std::vector<std::shared_ptr<SharedStatus>> statuses;
  AddLeaves(*group.tree, 1, &tree, nullptr, leaves, result, statuses);
  if (result.searched == Code::kUnschedulable && !result.abandoned)
    RunTreePostFilters(group, result, statuses);
  for (LeafResult& leaf : result.leaves) {
    leaf.result.abandoned = result.abandoned;
    leaf.result.waits_for_evictions = result.waits_for_evictions;
    leaf.result.scheduled_before = parts_.groups.Find(leaf.group.key)->scheduled;
    if (leaf.group.object->topology_key.empty()) leaf.result.placement.reset();
    for (MemberResult& member : leaf.result.members) member.decision.state.in_group_cycle = false;
  }
  return result;
}

GroupCycle::TreeLeaves GroupCycle::LeavesOf(const QueuedGroup& group) const {
  TreeLeaves leaves;
  AddLeaf(*group.tree, leaves);
  for (const QueuedPodPtr& pod : group.members) {
    const auto leaf = leaves.find(parts_.groups.KeyOf(*pod->info.pod).value_or(""));
    BERTH_CHECK(leaf != leaves.end(), group.key, pod->info.key);
    leaf->second.members.push_back(pod);
  }
  return leaves;
}

GroupCycle::TreeResult GroupCycle::SearchTree(const QueuedGroup& group, const TreeLeaves& leaves) {
  TreeResult result;  // outlives the assumed members, which refer to it
  Assumed assumed(parts_, group.leading_pod().profile);
  result = SearchNode(*group.tree, {leaves, assumed}, parts_.cluster.nodes().all(), RecordedScores::kAll);
  if (result.result.status.ok() && !result.result.any_placed) result.result.status = RejectedWithGroup({});
  return result;
}

GroupCycle::TreeResult GroupCycle::SearchNode(const GroupTree& node, const TreeSearch& search,
                                              const RowSet& rows, RecordedScores recorded) {
  if (node.object->composite) return SearchComposite(node, search, rows, recorded);
  return {.decided = true,
          .result = SearchGroup(search.leaves.at(node.key), rows, recorded, search.assumed),
          .children = {}};
}

// As SearchPlacements. After an error the results of the groups below are dropped.
GroupCycle::TreeResult GroupCycle::SearchComposite(const GroupTree& node, const TreeSearch& search,
                                                   const RowSet& rows, RecordedScores recorded) {
  TreeResult failed{.decided = true, .result = {}, .children = {}};
  Assumed& assumed = search.assumed;
  const framework::GeneratedPlacements generated =
      assumed.profile().RunPlacementGenerate(*node.object, parts_.cluster.nodes(), rows);
  if (!generated.status.ok()) {
    failed.result.status = generated.status;
    return failed;
  }
  const std::size_t count = generated.placements.size();
  const auto recorded_now = count == 1 ? recorded : RecordedScores::kNone;
  const std::size_t before_group = assumed.size();
  std::optional<TreeResult> first;
  std::vector<Candidate> candidates;
  for (const framework::GroupPlacement& placement : generated.placements) {
    const auto before = parts_.algorithm.position();
    TreeResult result = SearchChildren(node, search, placement.rows, recorded_now);
    const bool feasible = result.result.status.ok();
    if (result.result.abandoned || (count == 1 && feasible)) return result;
    if (IsError(result.result.status)) {
      result.children.clear();
      return result;
    }
    if (feasible) {
      Candidate& candidate = candidates.emplace_back(Candidate{{&placement, {}}, before});
      AddPlacedMembers(result, candidate.feasible.members);
      assumed.RevertAfter(before_group);
    } else if (!first) {
      first = std::move(result);
    }
  }
  if (!candidates.empty()) {
    const auto best = ChooseBest(*node.object, candidates, assumed.profile());
    if (!best) {
      failed.result.status = Status::Error(best.error().message);
      return failed;
    }
    return SearchAgain(**best,
                       [&](const RowSet& chosen) { return SearchChildren(node, search, chosen, recorded); });
  }
  first->result.status = RejectedWithGroup(
      Status::Unschedulable(fmt::format("0/{} placements are available, first placement status: {}", count,
                                        ErrorTextOf(first->result.status))));
  return *std::move(first);
}

// Of the groups that can be scheduled.
void GroupCycle::AddPlacedMembers(const TreeResult& node, std::vector<const cluster::PodInfo*>& members) {
  if (!node.decided || !node.result.status.ok()) return;
  for (const TreeResult& child : node.children) AddPlacedMembers(child, members);
  for (const MemberResult& member : node.result.members) {
    if (member.placed()) members.push_back(&member.pod->info);
  }
}

// One child after the other until the group cannot be scheduled any more. Those that fail do not stop the
// others as long as minGroupCount can be reached.
GroupCycle::TreeResult GroupCycle::SearchChildren(const GroupTree& node, const TreeSearch& search,
                                                  const RowSet& rows, RecordedScores recorded) {
  TreeResult all{.decided = true, .result = {}, .children = {}};
  Assumed& assumed = search.assumed;
  const std::size_t before = assumed.size();
  framework::PlacementProgress progress{.remaining = node.children.size()};
  Status feasible = assumed.profile().RunPlacementFeasible(*node.object, progress);
  const auto stops = [&] { return feasible.code == Code::kUnschedulable || feasible.code == Code::kError; };
  if (!stops()) all.children.resize(node.children.size());
  for (std::size_t i = 0; i < all.children.size(); ++i) {
    TreeResult& child = all.children[i];
    child = SearchNode(node.children[i], search, rows, recorded);
    all.result.abandoned = child.result.abandoned;
    if (!all.result.abandoned && IsError(child.result.status)) {
      feasible = Status::Error("composite pod group evaluation failed due to child error: " +
                               child.result.status.Message());
    }
    if (all.result.abandoned || feasible.code == Code::kError) break;
    all.result.any_placed = all.result.any_placed || child.result.any_placed;
    progress.begun = true;
    --progress.remaining;
    if (child.result.status.ok()) ++progress.scheduled;
    feasible = assumed.profile().RunPlacementFeasible(*node.object, progress);
    if (stops()) break;
  }
  all.result.status =
      feasible.code == Code::kWait ? RejectedWithGroup(std::move(feasible)) : std::move(feasible);
  if (all.result.abandoned || !all.result.status.ok()) {
    assumed.RevertAfter(before);
    all.result.any_placed = false;
  }
  return all;
}

// Groups that were not decided, and those that could be scheduled although the one above could not, get the
// status of that one.
void GroupCycle::AddLeaves(const GroupTree& node, std::size_t level, TreeResult* result,
                           const std::shared_ptr<SharedStatus>& parent, const TreeLeaves& leaves,
                           GroupResult& all, std::vector<std::shared_ptr<SharedStatus>>& statuses) const {
  const bool decided = result != nullptr && result->decided;
  const bool fails_with_parent =
      !decided || (parent != nullptr && !parent->status.ok() && result->result.status.ok());
  std::shared_ptr<SharedStatus> status = parent;
  if (!fails_with_parent) status = std::make_shared<SharedStatus>(SharedStatus{result->result.status});
  ++status->groups;
  TreeGroupResult& own = all.tree_groups.emplace_back(
      TreeGroupResult{&node, level, decided, decided ? result->result.status : Status()});
  if (decided && fails_with_parent) own.unused = std::move(result->result.members);
  if (!node.object->composite) {
    const QueuedGroup& group = leaves.at(node.key);
    LeafResult& leaf = all.leaves.emplace_back(LeafResult{group, {}});
    if (!fails_with_parent) leaf.result = std::move(result->result);
    if (leaf.result.members.empty()) {
      for (const QueuedPodPtr& pod : group.members) leaf.result.members.emplace_back().pod = pod;
    }
    leaf.result.status = status->status;
    for (MemberResult& member : leaf.result.members) {
      if (!member.tried()) member.status = status->status;
    }
    statuses.push_back(status);
  }
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    TreeResult* child = decided && !result->children.empty() ? &result->children[i] : nullptr;
    AddLeaves(node.children[i], level + 1, child, status, leaves, all, statuses);
  }
}

// As RunPostFilters.
void GroupCycle::RunTreePostFilters(const QueuedGroup& group, GroupResult& result,
                                    std::span<const std::shared_ptr<SharedStatus>> statuses) {
  std::vector<framework::GroupPostFilterServices::Tried> tried;
  for (LeafResult& leaf : result.leaves) AddTried(leaf.result.members, tried);
  PostFiltersResult answer = CallPostFilters(group, std::move(tried));
  result.abandoned = answer.abandoned;
  const Status& answered = answer.result.status;
  const bool failed = answered.code == Code::kError;
  for (std::size_t i = 0; i < statuses.size(); ++i) {
    SharedStatus& shared = *statuses[i];
    if (failed) {
      shared.status = answered;
    } else {
      for (; shared.groups > 0; --shared.groups) shared.status.reasons.push_back(answered.Message());
    }
    result.leaves[i].result.status = shared.status;
  }
  if (failed) result.status = answered;
  if (!answered.ok()) {
    for (LeafResult& leaf : result.leaves) AddRejectors(answer.rejectors, leaf.result.members);
    return;
  }
  result.waits_for_evictions = true;
  MembersByUid by_uid;
  for (LeafResult& leaf : result.leaves) AddTo(by_uid, leaf.result.members);
  Nominate(group, by_uid, answer.result.nominations);
  result.preemption = PlanOf(answer.result);
}

record::GroupTreeRecord RecordOfTree(const GroupResult& result) {
  record::GroupTreeRecord tree;
  const std::span<const TreeGroupResult> groups = result.tree_groups;
  tree.fails_at = NameOfFailure(groups);
  std::size_t leaf = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const TreeGroupResult& group = groups[i];
    const api::PodGroup& object = *group.group->object;
    const std::size_t index = object.composite ? leaf : leaf++;
    if (tree.groups.size() == record::GroupTreeRecord::kGroupsMax) {
      ++tree.more_groups;
      continue;
    }
    auto& out = tree.groups.emplace_back(record::GroupTreeRecord::Group{.name = object.metadata.Key(),
                                                                        .composite = object.composite,
                                                                        .level = group.level,
                                                                        .verdict = VerdictOf(group),
                                                                        .message = group.status.Message(),
                                                                        .min_count = object.min_count()});
    if (object.composite) {
      CountGroupsBelow(groups.subspan(i), out);
      continue;
    }
    const LeafResult& of_leaf = result.leaves[index];
    out.scheduled = of_leaf.result.scheduled_before;
    CountMembers(group.unused.empty() ? of_leaf.result.members : group.unused, out);
  }
  return tree;
}

}  // namespace berth::cycle
