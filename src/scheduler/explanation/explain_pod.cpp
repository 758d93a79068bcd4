#include "scheduler/explanation/explain_pod.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "scheduler/explanation/advice.hpp"
#include "scheduler/explanation/deciding_values.hpp"

namespace berth::explanation {
namespace {

// Rejections by extenders, which run after all plugins and only for the nodes that passed.
std::vector<Obstacle> ExtenderObstacles(const record::AttemptRecord& record,
                                        const framework::Reasons& reasons) {
  std::vector<Obstacle> obstacles;
  record.ForEachReason(reasons, [&](std::string_view plugin, const std::string& text, const RowSet& rows) {
    if (plugin == runtime::kExtender) obstacles.push_back({std::string(plugin), text, rows});
  });
  for (const auto& silence : record.extenders.silent)
    obstacles.push_back({std::string(runtime::kExtender),
                         fmt::format("rejected by extender {} without reason", silence.extender),
                         silence.rows});
  return obstacles;
}

// The nodes that do not fit, by the set of their obstacles; the closest first.
std::vector<RowGroup> GroupRows(const Situation& at, const RowSet& feasible) {
  std::map<std::vector<std::size_t>, RowGroup> groups;
  at.nodes().all().ForEach([&](std::size_t row) {
    if (feasible.Has(row)) return;
    std::vector<std::size_t> reasons;
    for (std::size_t i = 0; i < at.obstacles.all.size(); ++i) {
      if (at.obstacles.all[i].rows.Has(row)) reasons.push_back(i);
    }
    RowGroup& group = groups[reasons];
    if (group.rows.Empty()) {
      group.rows.Resize(at.nodes().rows());
      for (const std::size_t i : reasons) group.obstacles.push_back(&at.obstacles.all[i]);
    }
    group.rows.Add(row);
  });
  std::vector<RowGroup> sorted;
  for (auto& [reasons, group] : groups) {
    FindNearest(at, group);
    sorted.push_back(std::move(group));
  }
  std::ranges::stable_sort(sorted, {}, [](const RowGroup& group) {
    return std::tuple(group.obstacles.size(), group.shortfall,
                      -static_cast<std::int64_t>(group.rows.Count()));
  });
  return sorted;
}

// Values of groups and reasons beyond these are not read: the reasons suffice.
constexpr std::size_t kGroupsWithValues = 12;
constexpr std::size_t kReasonsWithValues = 8;  // of a group

std::vector<NodeGroup> DescribeGroups(const Situation& at, const std::vector<RowGroup>& groups) {
  std::vector<NodeGroup> described;
  for (const RowGroup& group : groups) {
    NodeGroup& nodes = described.emplace_back();
    nodes.nodes = NamesOfRows(at, group.rows);
    nodes.shortfall = group.shortfall;
    for (const Obstacle* obstacle : group.obstacles) {
      Reason& reason = nodes.reasons.emplace_back(Reason{obstacle->plugin, obstacle->reason});
      if (described.size() <= kGroupsWithValues && nodes.reasons.size() <= kReasonsWithValues)
        reason.values = DecidingValues(at, *obstacle, group.rows);
    }
  }
  return described;
}

void ExplainAttempt(assembly::PodEvaluator& evaluator, const cluster::PodInfo& info,
                    const AllowsNodeChange& allows, Explanation& out) {
  assembly::Engine& engine = evaluator.engine();
  const runtime::Profile& profile = *engine.FindProfile(info.pod->spec.scheduler_name);
  Obstacles obstacles = FindObstacles(info, profile, engine.cache().nodes(), engine.reasons());
  for (Obstacle& obstacle : ExtenderObstacles(*out.record, engine.reasons()))
    obstacles.all.push_back(std::move(obstacle));
  const Lookups lookups = FindLookups(info, engine.cache().nodes(), engine.symbols(), obstacles);
  const Situation at{info,  engine.cache(), engine.symbols(), obstacles, lookups, evaluator.RowsByName(),
                     allows};
  if (!obstacles.pre_filter.ok()) {
    if (out.record->pre_filter) {
      for (const std::string& text : out.record->pre_filter->reasons)
        out.pod_reasons.push_back({out.record->pre_filter->plugin, text});
      if (!out.pod_reasons.empty()) out.pod_reasons.front().values = DecidingValuesOfPod(at);
    }
    if (out.record->result == record::Result::kUnschedulable) out.advice = AdviceForPod(evaluator, at);
    return;
  }
  const std::vector<RowGroup> groups = GroupRows(at, out.record->feasible.get());
  out.groups = DescribeGroups(at, groups);
  if (out.record->result == record::Result::kUnschedulable)
    out.advice = FindAdvice(evaluator, at, groups, *out.record);
}

void ExplainUnbound(assembly::PodEvaluator& evaluator, const api::PodPtr& pod, const AllowsNodeChange& allows,
                    Explanation& out) {
  cluster::PodInfo info;
  out.record = evaluator.Evaluate(pod, info);
  if (out.record->result == record::Result::kUnschedulable)
    out.preemption = PreviewPreemption(evaluator, pod, *out.record);
  if (info.pod != nullptr) return ExplainAttempt(evaluator, info, allows, out);
  if (!pod->metadata.deleting() && !pod->terminal()) out.advice = AdviceToAdmit(evaluator, pod);
}

// Calls evaluate(pod without a node) on the cluster without the pod.
template <class Evaluate>
auto WithoutPod(assembly::PodEvaluator& evaluator, const api::PodPtr& pod, Evaluate&& evaluate) {
  if (pod->spec.node_name.empty()) return evaluate(pod);
  api::Pod free = *pod;
  free.spec.node_name = "";
  free.status.nominated_node_name = "";
  const AppliedChange without(evaluator.engine().cache(), {.leaving = {pod}});
  return evaluate(std::make_shared<const api::Pod>(std::move(free)));
}

}  // namespace

Explanation ExplainPod(assembly::PodEvaluator& evaluator, const api::PodPtr& pod,
                       const AllowsNodeChange& allows) {
  Explanation out{.pod = pod->metadata.Key(), .owner = OwnerOf(*pod), .bound_to = pod->spec.node_name.str()};
  WithoutPod(evaluator, pod, [&](const api::PodPtr& free) { ExplainUnbound(evaluator, free, allows, out); });
  return out;
}

std::shared_ptr<const record::AttemptRecord> EvaluatePod(assembly::PodEvaluator& evaluator,
                                                         const api::PodPtr& pod) {
  return WithoutPod(evaluator, pod, [&](const api::PodPtr& free) {
    cluster::PodInfo info;
    return evaluator.Evaluate(free, info);
  });
}

std::string OwnerOf(const api::Pod& pod) {
  if (!pod.metadata.controller) return "";
  const api::OwnerReference& owner = *pod.metadata.controller;
  const std::string* hash = pod.metadata.labels.Find("pod-template-hash");
  if (owner.kind == "ReplicaSet" && hash != nullptr && owner.name.ends_with("-" + *hash)) {
    return fmt::format("Deployment {}/{}", pod.metadata.ns.str(),
                       owner.name.substr(0, owner.name.size() - hash->size() - 1));
  }
  return fmt::format("{} {}/{}", owner.kind, pod.metadata.ns.str(), owner.name);
}

}  // namespace berth::explanation
