#include "scheduler/evaluation/group_explainer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "kubernetes/api/owners.hpp"
#include "scheduler/cluster/prepare_pod.hpp"
#include "scheduler/cycle/group_cycle.hpp"
#include "scheduler/cycle/profile_policy.hpp"
#include "scheduler/explanation/explain_pod.hpp"
#include "scheduler/explanation/resources.hpp"
#include "scheduler/framework/queued_pod.hpp"
#include "scheduler/queue/scheduling_queue.hpp"
#include "scheduler/record/group_record.hpp"

namespace berth::evaluation {
namespace {

using cluster::GroupTree;
using cluster::PodGroups;
using explanation::Advice;
using explanation::GroupExplanation;
using framework::QueuedGroup;
using framework::QueuedPodPtr;

constexpr std::size_t kMostHolderNodes = 3;
constexpr std::size_t kMostHolders = 6;

// What a queue's entry is: a pod group, or the tree of composite groups to which it belongs.
struct Entry {
  std::string key;                        // of the pod group or of the highest known group of the tree
  api::PodGroupPtr object;                // null: not received
  std::shared_ptr<const GroupTree> tree;  // null: a pod group on its own
  std::vector<const PodGroups::Group*> pod_groups;

  // Reasons of single nodes are those of the whole cluster, which does not matter in a placement.
  bool constrained() const { return tree == nullptr ? !object->topology_key.empty() : AnyConstrained(*tree); }

 private:
  static bool AnyConstrained(const GroupTree& group) {
    return !group.object->topology_key.empty() || std::ranges::any_of(group.children, AnyConstrained);
  }
};

Entry EntryOf(const PodGroups& groups, const std::string& key) {
  Entry entry{.key = key, .object = groups.FindObject(key), .tree = {}, .pod_groups = {}};
  if (groups.FindComposite(key) == nullptr) {
    entry.pod_groups = {groups.Find(key)};
    return entry;
  }
  entry.tree = std::make_shared<const GroupTree>(groups.TreeOf(key));
  for (const std::string& leaf : groups.LeavesOf(key)) {
    if (const PodGroups::Group* group = groups.Find(leaf)) entry.pod_groups.push_back(group);
  }
  return entry;
}

// The key of the highest known group above the pod's one, or of that one; nullopt: the pod has none.
std::optional<std::string> EntryKeyOf(const PodGroups& groups, const api::Pod& pod) {
  auto key = groups.KeyOf(pod);
  if (!key) return std::nullopt;
  std::string highest = *key;
  groups.ForEachUp(*key, [&](const std::string& above, const api::PodGroup&) { highest = above; });
  return highest;
}

// A scheduler's group cycle without the scheduler and without nominations.
class GroupDecider {
 public:
  GroupDecider(assembly::PodEvaluator& evaluator, const Entry& entry)
      : evaluator_(evaluator), entry_(entry) {}

  cycle::GroupResult Decide(const QueuedGroup& group) {
    const auto invalid = cycle_.Invalid(group);
    if (!invalid) return cycle_.Decide(group);
    cycle::GroupResult result;
    result.status = framework::Status::Error(*invalid);
    return result;
  }
  QueuedGroup Queued(std::span<const api::PodPtr> pods) {
    QueuedGroup queued;
    queued.key = entry_.key;
    queued.object = entry_.object;
    queued.tree = entry_.tree;
    for (const api::PodPtr& pod : pods) {
      auto member = std::make_shared<framework::QueuedPod>();
      member->info = cluster::PreparePod(pod, engine().symbols());
      member->profile = ProfileOf(*pod);
      member->priority = pod->spec.priority;
      queued.members.push_back(std::move(member));
    }
    queued.priority =
        entry_.object->external == nullptr ? entry_.object->priority : queued.members.front()->priority;
    return queued;
  }

 private:
  assembly::Engine& engine() { return evaluator_.engine(); }
  std::uint32_t ProfileOf(const api::Pod& pod) {
    return *engine().profiles().Find(pod.spec.scheduler_name.str());
  }

  assembly::PodEvaluator& evaluator_;
  const Entry& entry_;
  ManualClock clock_;
  metrics::Registry metrics_;
  cycle::ProfilePolicy policy_{engine().profiles()};
  queue::SchedulingQueue queue_{{}, clock_, policy_, engine().groups(), metrics_};
  algorithm::SchedulingAlgorithm algorithm_{{.percentage_of_nodes_to_score = 100,
                                             .sample = false,
                                             .tie_break = algorithm::TieBreak::kFirstByName,
                                             .explanations = true},
                                            engine().reasons(),
                                            engine().extenders()};
  algorithm::CurrentView view_;
  cycle::CurrentNominations nominations_{queue_, engine().symbols()};
  cycle::CycleMetrics cycle_metrics_{metrics_, engine().profiles(), {}};
  cycle::GroupCycle cycle_{{.algorithm = algorithm_,
                            .view = view_,
                            .cluster = engine().cache(),
                            .groups = engine().groups(),
                            .nominator = queue_.nominator(),
                            .nominations = nominations_,
                            .profiles = engine().profiles(),
                            .gates = engine().handle().gates,
                            .clock = clock_,
                            .metrics = cycle_metrics_}};
};

// Members on the nodes that were found for them, until it is destroyed.
class PlacedMembers {
 public:
  explicit PlacedMembers(cluster::ClusterState& cluster) : cluster_(cluster) {}
  ~PlacedMembers() {
    for (const api::PodPtr& pod : pods_) cluster_.RemovePod(pod->metadata.uid);
  }
  PlacedMembers(const PlacedMembers&) = delete;
  PlacedMembers& operator=(const PlacedMembers&) = delete;

  void Add(const api::Pod& pod, const std::string& node) {
    api::Pod placed = pod;
    placed.spec.node_name = node;
    pods_.push_back(std::make_shared<const api::Pod>(std::move(placed)));
    cluster_.AddPod(pods_.back());
  }

 private:
  cluster::ClusterState& cluster_;
  std::vector<api::PodPtr> pods_;
};

// The members that a scheduler would try. Of equal priority, it takes the one that has arrived first.
std::vector<api::PodPtr> WaitingMembers(assembly::Engine& engine, const Entry& entry) {
  std::vector<api::PodPtr> waiting;
  for (const PodGroups::Group* group : entry.pod_groups) {
    for (const auto& [uid, member] : group->members) {
      const api::Pod& pod = *member.pod;
      if (member.stage != PodGroups::Stage::kUnscheduled || pod.metadata.deleting() || pod.terminal())
        continue;
      if (engine.FindProfile(pod.spec.scheduler_name) != nullptr) waiting.push_back(member.pod);
    }
  }
  std::ranges::sort(waiting, {}, [](const api::PodPtr& pod) {
    return std::tuple(-static_cast<std::int64_t>(pod->spec.priority), pod->metadata.name);
  });
  return waiting;
}

// The member that is gated, whose reason is that of the group; null: none.
api::PodPtr GatedMember(assembly::Engine& engine, const std::vector<api::PodPtr>& waiting,
                        record::GroupRecord& record) {
  for (const api::PodPtr& pod : waiting) {
    const cluster::PodInfo info = cluster::PreparePod(pod, engine.symbols());
    const framework::Status status = engine.FindProfile(pod->spec.scheduler_name)->RunPreEnqueue(info);
    if (status.ok()) continue;
    record.result = record::Result::kGated;
    record.message = status.Message();
    return pod;
  }
  return nullptr;
}

// The pods of others on the nodes that lack least, by the amount that they request of what is missing.
// Returns them in the same order.
std::vector<api::PodPtr> FindHolders(assembly::Engine& engine, const Entry& entry, GroupExplanation& out) {
  for (const explanation::NodeGroup& group : out.obstacle.groups) {
    for (const explanation::Reason& reason : group.reasons) {
      constexpr std::string_view kPrefix = "Insufficient ";
      if (reason.plugin != "NodeResourcesFit" || !reason.text.starts_with(kPrefix)) continue;
      const std::string resource = reason.text.substr(kPrefix.size());
      const auto id = engine.symbols().FindResource(resource);
      std::vector<std::tuple<std::int64_t, std::string, GroupExplanation::Holder, api::PodPtr>> found;
      for (std::size_t i = 0; i < std::min(group.nodes.size(), kMostHolderNodes); ++i) {
        const cluster::NodeTable& nodes = std::as_const(engine).cache().nodes();
        const cluster::Row row = nodes.Find(group.nodes[i]);
        for (const cluster::PlacedPod* placed : nodes.pods(row)) {
          const std::int64_t amount = placed->use().requested.Of(id);
          if (amount > 0 && EntryKeyOf(engine.groups(), *placed->pod) != entry.key)
            found.emplace_back(-amount, placed->pod->metadata.Key(),
                               GroupExplanation::Holder{placed->pod->metadata.Key(), group.nodes[i], resource,
                                                        explanation::AmountText(resource, amount)},
                               placed->pod);
        }
      }
      std::ranges::sort(found, {},
                        [](const auto& one) { return std::pair(std::get<0>(one), std::get<1>(one)); });
      if (found.size() > kMostHolders) found.resize(kMostHolders);
      std::vector<api::PodPtr> pods;
      for (auto& [amount, key, holder, pod] : found) {
        out.holders.push_back(std::move(holder));
        pods.push_back(std::move(pod));
      }
      if (!pods.empty()) return pods;
    }
  }
  return {};
}

// Members of the pod's shape get the change of a pod, too.
std::vector<api::PodPtr> Changed(const std::vector<api::PodPtr>& waiting, const api::Pod& changes,
                                 const api::PodPtr& into) {
  if (into == nullptr) return waiting;
  std::vector<api::PodPtr> changed;
  for (const api::PodPtr& pod : waiting) {
    if (!cluster::SameShape(*pod, changes)) {
      changed.push_back(pod);
      continue;
    }
    api::Pod copy = *into;
    copy.metadata.name = pod->metadata.name;
    copy.metadata.uid = pod->metadata.uid;
    changed.push_back(std::make_shared<const api::Pod>(std::move(copy)));
  }
  return changed;
}

// Whether the group is scheduled with the change.
bool Helps(assembly::PodEvaluator& evaluator, const Entry& entry, const std::vector<api::PodPtr>& waiting,
           const api::Pod& obstacle, const explanation::Change& change) {
  const explanation::AppliedChange applied(evaluator.engine().cache(), change);
  GroupDecider decider(evaluator, entry);
  return decider.Decide(decider.Queued(Changed(waiting, obstacle, change.pod))).status.ok();
}

// What lets the obstacle fit may leave others without a node, or evict other members.
void KeepAdviceForGroup(assembly::PodEvaluator& evaluator, const Entry& entry,
                        const std::vector<api::PodPtr>& waiting, const api::Pod& obstacle,
                        const std::vector<api::PodPtr>& holders, GroupExplanation& out) {
  std::erase_if(out.obstacle.advice, [&](const Advice& advice) {
    return !advice.victims.empty() || !advice.change.leaving.empty() ||
           !Helps(evaluator, entry, waiting, obstacle, advice.change);
  });
  for (const api::PodPtr& pod : holders) {
    if (api::ComesBack(pod->metadata)) continue;
    const explanation::Change without{.leaving = {pod}};
    if (!Helps(evaluator, entry, waiting, obstacle, without)) continue;
    out.obstacle.advice.push_back(
        {.steps = {fmt::format("wait until {} has ended, or delete it", pod->metadata.Key())},
         .change = without,
         .nodes = {pod->spec.node_name.str()}});
    return;
  }
}

// The first member that found no node, and the members that were on nodes when it was evaluated.
struct Obstacle {
  const cycle::MemberResult* member = nullptr;
  std::vector<const cycle::MemberResult*> placed;
};

// True: the obstacle is one of these members.
bool FindObstacle(std::span<const cycle::MemberResult> members, Obstacle& obstacle) {
  for (const cycle::MemberResult& member : members) {
    if (member.placed()) {
      obstacle.placed.push_back(&member);
    } else if (member.tried() && member.status.rejected()) {
      obstacle.member = &member;
      return true;
    }
  }
  return false;
}

// The groups of a tree before the one that causes the failure: those that cannot be scheduled left their
// nodes. Each group is followed by those below it.
class TreeObstacle {
 public:
  TreeObstacle(const cycle::GroupResult& result, std::string_view fails_at)
      : result_(result), fails_at_(fails_at) {}

  Obstacle Find() {
    while (next_ < result_.tree_groups.size() && !Visit()) continue;
    if (obstacle_.member == nullptr) obstacle_.placed.clear();
    return std::move(obstacle_);
  }

 private:
  // Visits a group with those below it. True: the search is over.
  bool Visit() {
    const cycle::TreeGroupResult& group = result_.tree_groups[next_++];
    const std::size_t before = obstacle_.placed.size();
    const api::PodGroup& object = *group.group->object;
    if (!object.composite) {
      const cycle::GroupResult& leaf = result_.leaves[leaf_++].result;
      const bool fails_here = object.metadata.Key() == fails_at_;
      const bool found = FindObstacle(group.unused.empty() ? leaf.members : group.unused, obstacle_);
      if (fails_here) return true;
      if (found) obstacle_.member = nullptr;
    }
    while (next_ < result_.tree_groups.size() && result_.tree_groups[next_].level > group.level) {
      if (Visit()) return true;
    }
    if (!group.decided || !group.status.ok()) obstacle_.placed.resize(before);
    return false;
  }

  const cycle::GroupResult& result_;
  const std::string_view fails_at_;
  std::size_t next_ = 0, leaf_ = 0;
  Obstacle obstacle_;
};

Obstacle ObstacleOf(const cycle::GroupResult& result, const record::GroupTreeRecord* tree) {
  if (tree != nullptr) return TreeObstacle(result, tree->fails_at).Find();
  Obstacle obstacle;
  if (!FindObstacle(result.members, obstacle)) return {};
  return obstacle;
}

void ExplainObstacle(assembly::PodEvaluator& evaluator, const Entry& entry,
                     const std::vector<api::PodPtr>& waiting, const cycle::GroupResult& result,
                     GroupExplanation& out) {
  if (entry.constrained()) return;
  const Obstacle obstacle = ObstacleOf(result, out.record.tree.get());
  if (obstacle.member == nullptr) return;
  const api::PodPtr& pod = obstacle.member->pod->info.pod;
  std::vector<api::PodPtr> holders;
  {
    PlacedMembers placed(evaluator.engine().cache());
    for (const cycle::MemberResult* member : obstacle.placed) {
      const cluster::NodeTable& nodes = std::as_const(evaluator.engine()).cache().nodes();
      placed.Add(*member->pod->info.pod, nodes.name(member->decision.row));
    }
    out.obstacle = explanation::ExplainPod(evaluator, pod);
    holders = FindHolders(evaluator.engine(), entry, out);
  }
  KeepAdviceForGroup(evaluator, entry, waiting, *pod, holders, out);
}

// --- trees that are not tried ---

using TreeGroup = record::GroupTreeRecord::Group;
using Verdict = record::GroupTreeRecord::Verdict;

// Adds the group and those below it. Returns whether it has enough members.
bool AddUntried(const PodGroups& groups, const GroupTree& group, std::size_t level,
                std::vector<TreeGroup>& all) {
  const api::PodGroup& object = *group.object;
  const std::size_t index = all.size();
  all.push_back({.name = object.metadata.Key(),
                 .composite = object.composite,
                 .level = level,
                 .min_count = object.min_count()});
  std::size_t complete = 0, pending = group.children.size(), scheduled = 0;
  if (!object.composite) {
    const PodGroups::Group& members = *groups.Find(group.key);
    complete = members.members.size();
    scheduled = members.scheduled;
    pending = complete - scheduled;
  }
  for (const GroupTree& child : group.children) complete += AddUntried(groups, child, level + 1, all) ? 1 : 0;
  const bool enough = !std::cmp_less(complete, object.min_count());
  TreeGroup& out = all[index];
  out.verdict = enough ? Verdict::kNotTried : Verdict::kIncomplete;
  out.scheduled = scheduled;
  out.pending = out.not_tried = pending;
  if (!enough) {
    out.message = fmt::format("{} of {} needed {}", complete, object.min_count(),
                              object.composite ? "groups have enough members" : "members exist");
  }
  return enough;
}

std::string NameOfIncomplete(std::span<const TreeGroup> groups) {
  const TreeGroup* cause =
      record::FindCause(groups, [](const TreeGroup& group) { return group.verdict == Verdict::kIncomplete; });
  return cause == nullptr ? "" : cause->name;
}

record::GroupTreeRecord UntriedTree(const PodGroups& groups, const GroupTree& root) {
  record::GroupTreeRecord tree;
  AddUntried(groups, root, 1, tree.groups);
  tree.fails_at = NameOfIncomplete(tree.groups);
  if (tree.groups.size() > record::GroupTreeRecord::kGroupsMax) {
    tree.more_groups = tree.groups.size() - record::GroupTreeRecord::kGroupsMax;
    tree.groups.resize(record::GroupTreeRecord::kGroupsMax);
  }
  return tree;
}

// --- the result of the scheduler's cycle ---

// The members of a tree in the order in which they were tried, with the nodes that they found.
template <class Visit>
void ForEachMember(const cycle::GroupResult& result, Visit&& visit) {
  for (const cycle::MemberResult& member : result.members) visit(member);
  std::size_t leaf = 0;
  for (const cycle::TreeGroupResult& group : result.tree_groups) {
    if (group.group->object->composite) continue;
    const cycle::LeafResult& of_leaf = result.leaves[leaf++];
    for (const cycle::MemberResult& member : group.unused.empty() ? of_leaf.result.members : group.unused)
      visit(member);
  }
}

// The record of a tree has the numbers of all its pods. Members that do not belong together are not tried.
void SetTreeRecord(const PodGroups& groups, const GroupTree& root, const cycle::GroupResult& result,
                   record::GroupRecord& record) {
  record.tree = std::make_shared<const record::GroupTreeRecord>(
      result.tree_groups.empty() ? UntriedTree(groups, root) : cycle::RecordOfTree(result));
  record.pending = 0;
  ForEachMember(result, [&](const cycle::MemberResult& member) {
    ++record.pending;
    ++(!member.tried() ? record.not_tried : member.placed() ? record.placed : record.failed);
    if (member.tried() && !member.placed() && record.failures.size() < record::GroupRecord::kFailuresMax)
      record.failures.push_back({member.pod->info.key, member.status.Message()});
  });
}

void AddMembersOnNodes(const Entry& entry, GroupExplanation& out) {
  for (const PodGroups::Group* group : entry.pod_groups) {
    for (const auto& [uid, member] : group->members) {
      if (member.stage != PodGroups::Stage::kUnscheduled)
        out.members.push_back({member.pod->metadata.Key(), member.node, true});
    }
  }
  std::ranges::sort(out.members, {}, &GroupExplanation::Member::pod);
}

}  // namespace

std::optional<std::string> GroupOf(assembly::PodEvaluator& evaluator, const api::Pod& pod) {
  return EntryKeyOf(evaluator.engine().groups(), pod);
}

GroupExplanation ExplainGroup(assembly::PodEvaluator& evaluator, const std::string& key) {
  assembly::Engine& engine = evaluator.engine();
  const Entry entry = EntryOf(engine.groups(), key);
  const std::vector<api::PodPtr> waiting = WaitingMembers(engine, entry);
  std::size_t scheduled = 0;
  for (const PodGroups::Group* group : entry.pod_groups) scheduled += group->scheduled;
  const std::string name = entry.tree == nullptr ? key : entry.object->metadata.Key();
  GroupExplanation out{.record = {.group = name,
                                  .result = record::Result::kIgnored,
                                  .min_count = entry.object == nullptr ? 0 : entry.object->min_count(),
                                  .scheduled = scheduled,
                                  .pending = waiting.size()},
                       .members = {}};
  AddMembersOnNodes(entry, out);
  const auto add_waiting = [&](const api::PodPtr& pod, std::string node) {
    out.members.push_back({pod->metadata.Key(), std::move(node)});
  };
  const api::PodPtr gated = GatedMember(engine, waiting, out.record);
  // Advice for a gated member is about its own group, which is not enough in a tree.
  if (gated != nullptr && entry.tree == nullptr) out.obstacle = explanation::ExplainPod(evaluator, gated);
  if (gated != nullptr || waiting.empty() || entry.object == nullptr) {
    if (entry.tree != nullptr)
      out.record.tree =
          std::make_shared<const record::GroupTreeRecord>(UntriedTree(engine.groups(), *entry.tree));
    for (const api::PodPtr& pod : waiting) add_waiting(pod, "");
    return out;
  }
  GroupDecider decider(evaluator, entry);
  const QueuedGroup queued = decider.Queued(waiting);
  const cycle::GroupResult result = decider.Decide(queued);
  out.record = cycle::RecordOf(queued, result, result.preemption);
  out.record.group = name;
  out.record.scheduled = scheduled;
  if (entry.tree != nullptr) SetTreeRecord(engine.groups(), *entry.tree, result, out.record);
  std::size_t added = 0;
  ForEachMember(result, [&](const cycle::MemberResult& member) {
    const cluster::NodeTable& nodes = std::as_const(engine).cache().nodes();
    add_waiting(member.pod->info.pod, member.placed() ? nodes.name(member.decision.row) : "");
    ++added;
  });
  if (added == 0) {
    for (const api::PodPtr& pod : waiting) add_waiting(pod, "");
  }
  ExplainObstacle(evaluator, entry, waiting, result, out);
  return out;
}

}  // namespace berth::evaluation
