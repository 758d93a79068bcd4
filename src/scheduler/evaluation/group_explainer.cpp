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

using cluster::PodGroups;
using explanation::Advice;
using explanation::GroupExplanation;
using framework::QueuedGroup;
using framework::QueuedPodPtr;

constexpr std::size_t kMostHolderNodes = 3;
constexpr std::size_t kMostHolders = 6;

// A scheduler's group cycle without the scheduler and without nominations.
class GroupDecider {
 public:
  GroupDecider(assembly::PodEvaluator& evaluator, const PodGroups::Group& group)
      : evaluator_(evaluator), group_(group) {}

  cycle::GroupResult Decide(const QueuedGroup& group) {
    const auto invalid = cycle_.Invalid(group);
    if (!invalid) return cycle_.Decide(group);
    cycle::GroupResult result;
    result.status = framework::Status::Error(*invalid);
    return result;
  }
  QueuedGroup Queued(const std::string& key, std::span<const api::PodPtr> pods) {
    QueuedGroup queued;
    queued.key = key;
    queued.object = group_.object;
    for (const api::PodPtr& pod : pods) {
      auto member = std::make_shared<framework::QueuedPod>();
      member->info = cluster::PreparePod(pod, engine().symbols());
      member->profile = ProfileOf(*pod);
      member->priority = pod->spec.priority;
      queued.members.push_back(std::move(member));
    }
    queued.priority =
        group_.object->external == nullptr ? group_.object->priority : queued.members.front()->priority;
    return queued;
  }

 private:
  assembly::Engine& engine() { return evaluator_.engine(); }
  std::uint32_t ProfileOf(const api::Pod& pod) {
    return *engine().profiles().Find(pod.spec.scheduler_name.str());
  }

  assembly::PodEvaluator& evaluator_;
  const PodGroups::Group& group_;
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
std::vector<api::PodPtr> WaitingMembers(assembly::Engine& engine, const PodGroups::Group& group) {
  std::vector<api::PodPtr> waiting;
  for (const auto& [uid, member] : group.members) {
    const api::Pod& pod = *member.pod;
    if (member.stage != PodGroups::Stage::kUnscheduled || pod.metadata.deleting() || pod.terminal()) continue;
    if (engine.FindProfile(pod.spec.scheduler_name) != nullptr) waiting.push_back(member.pod);
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
std::vector<api::PodPtr> FindHolders(assembly::Engine& engine, GroupExplanation& out) {
  for (const explanation::NodeGroup& group : out.obstacle.groups) {
    for (const explanation::Reason& reason : group.reasons) {
      constexpr std::string_view kPrefix = "Insufficient ";
      if (reason.plugin != "NodeResourcesFit" || !reason.text.starts_with(kPrefix)) continue;
      const std::string resource = reason.text.substr(kPrefix.size());
      const auto id = engine.symbols().FindResource(resource);
      std::vector<std::tuple<std::int64_t, std::string, GroupExplanation::Holder, api::PodPtr>> found;
      for (std::size_t i = 0; i < std::min(group.nodes.size(), kMostHolderNodes); ++i) {
        const cluster::NodeTable& nodes = std::as_const(engine).cache().nodes();
        const cluster::Row row = nodes.Find(engine.symbols().node_names.Find(group.nodes[i]));
        for (const cluster::PlacedPod* placed : nodes.pods(row)) {
          const std::int64_t amount = placed->use().requested.Of(id);
          if (amount > 0 && engine.groups().KeyOf(*placed->pod) != out.record.group)
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
bool Helps(assembly::PodEvaluator& evaluator, const PodGroups::Group& group,
           const std::vector<api::PodPtr>& waiting, const api::Pod& obstacle, const std::string& key,
           const explanation::Change& change) {
  const explanation::AppliedChange applied(evaluator.engine().cache(), change);
  GroupDecider decider(evaluator, group);
  return decider.Decide(decider.Queued(key, Changed(waiting, obstacle, change.pod))).status.ok();
}

// What lets the obstacle fit may leave others without a node, or evict other members.
void KeepAdviceForGroup(assembly::PodEvaluator& evaluator, const PodGroups::Group& group,
                        const std::vector<api::PodPtr>& waiting, const api::Pod& obstacle,
                        const std::vector<api::PodPtr>& holders, GroupExplanation& out) {
  const std::string& key = out.record.group;
  std::erase_if(out.obstacle.advice, [&](const Advice& advice) {
    return !advice.victims.empty() || !advice.change.leaving.empty() ||
           !Helps(evaluator, group, waiting, obstacle, key, advice.change);
  });
  for (const api::PodPtr& pod : holders) {
    if (api::IsOfDaemonSet(pod->metadata)) continue;
    const explanation::Change without{.leaving = {pod}};
    if (!Helps(evaluator, group, waiting, obstacle, key, without)) continue;
    out.obstacle.advice.push_back(
        {.steps = {fmt::format("wait until {} has ended, or delete it", pod->metadata.Key())},
         .change = without,
         .nodes = {pod->spec.node_name.str()}});
    return;
  }
}

void ExplainObstacle(assembly::PodEvaluator& evaluator, const PodGroups::Group& group,
                     const std::vector<api::PodPtr>& waiting, const cycle::GroupResult& result,
                     GroupExplanation& out) {
  // The reasons of single nodes are those of the whole cluster, which does not matter in a placement.
  if (!group.object->topology_key.empty()) return;
  const auto failed = std::ranges::find_if(result.members, [](const cycle::MemberResult& member) {
    return member.tried() && member.status.rejected();
  });
  if (failed == result.members.end()) return;
  const api::PodPtr& pod = failed->pod->info.pod;
  std::vector<api::PodPtr> holders;
  {
    PlacedMembers placed(evaluator.engine().cache());
    for (auto member = result.members.begin(); member != failed; ++member) {
      if (!member->placed()) continue;
      const cluster::NodeTable& nodes = std::as_const(evaluator.engine()).cache().nodes();
      placed.Add(*member->pod->info.pod, nodes.name(member->decision.row));
    }
    out.obstacle = explanation::ExplainPod(evaluator, pod);
    holders = FindHolders(evaluator.engine(), out);
  }
  KeepAdviceForGroup(evaluator, group, waiting, *pod, holders, out);
}

}  // namespace

std::optional<std::string> GroupOf(assembly::PodEvaluator& evaluator, const api::Pod& pod) {
  return evaluator.engine().groups().KeyOf(pod);
}

GroupExplanation ExplainGroup(assembly::PodEvaluator& evaluator, const std::string& key) {
  assembly::Engine& engine = evaluator.engine();
  const PodGroups::Group& group = *engine.groups().Find(key);
  const std::vector<api::PodPtr> waiting = WaitingMembers(engine, group);
  GroupExplanation out{.record = {.group = key,
                                  .result = record::Result::kIgnored,
                                  .min_count = group.object == nullptr ? 0 : group.object->min_count(),
                                  .scheduled = group.scheduled,
                                  .pending = waiting.size()},
                       .members = {}};
  for (const auto& [uid, member] : group.members) {
    if (member.stage != PodGroups::Stage::kUnscheduled)
      out.members.push_back({member.pod->metadata.Key(), member.node, true});
  }
  std::ranges::sort(out.members, {}, &GroupExplanation::Member::pod);
  const auto add_waiting = [&](const api::PodPtr& pod, std::string node) {
    out.members.push_back({pod->metadata.Key(), std::move(node)});
  };
  const api::PodPtr gated = GatedMember(engine, waiting, out.record);
  if (gated != nullptr) out.obstacle = explanation::ExplainPod(evaluator, gated);
  if (gated != nullptr || waiting.empty() || group.object == nullptr) {
    for (const api::PodPtr& pod : waiting) add_waiting(pod, "");
    return out;
  }
  GroupDecider decider(evaluator, group);
  const QueuedGroup queued = decider.Queued(key, waiting);
  const cycle::GroupResult result = decider.Decide(queued);
  out.record = cycle::RecordOf(queued, result, result.preemption);
  out.record.scheduled = group.scheduled;
  for (const cycle::MemberResult& member : result.members) {
    const cluster::NodeTable& nodes = std::as_const(engine).cache().nodes();
    add_waiting(member.pod->info.pod, member.placed() ? nodes.name(member.decision.row) : "");
  }
  if (result.members.empty()) {
    for (const api::PodPtr& pod : waiting) add_waiting(pod, "");
  }
  ExplainObstacle(evaluator, group, waiting, result, out);
  return out;
}

}  // namespace berth::evaluation
