// Queueing hints of PodTopologySpread.
#include <algorithm>

#include "scheduler/plugins/pod_topology_spread/pod_topology_spread.hpp"

namespace berth::plugins {
namespace {

using cluster::SpreadConstraint;
using framework::Hint;
using Constraints = std::vector<SpreadConstraint>;

bool Selects(const SpreadConstraint& constraint, const api::Pod& pod) {
  return constraint.query->all_of.front().labels.Matches(pod.metadata.labels);
}

// Whether the pod counts for the spread of pods in this namespace: it is bound or nominated to a node.
bool Involved(const api::Pod& pod, const api::Pod& waiting) {
  return framework::IsBoundOrNominated(pod) && pod.metadata.ns == waiting.metadata.ns;
}

bool AfterLabelChange(const api::Pod& before, const api::Pod& after, const Constraints& constraints) {
  if (before.metadata.labels == after.metadata.labels) return false;
  return std::ranges::any_of(constraints, [&](const SpreadConstraint& constraint) {
    return Selects(constraint, before) != Selects(constraint, after);
  });
}

const std::string* LabelOf(const api::Node& node, const SpreadConstraint& constraint,
                           const cluster::SymbolTable& words) {
  return node.metadata.labels.Find(words.KeyText(constraint.topology_key));
}

bool HasAllKeys(const api::Node* node, const Constraints& constraints, const cluster::SymbolTable& words) {
  return node != nullptr && std::ranges::all_of(constraints, [&](const SpreadConstraint& constraint) {
           return LabelOf(*node, constraint, words) != nullptr;
         });
}

}  // namespace

std::vector<framework::EventRegistration> PodTopologySpread::EventsToRegister() const {
  using namespace framework;
  return {WhenAssignedPod(kAdd | kUpdatePodLabel | kDelete,
                          [this](const cluster::PodInfo& pod, const api::Pod* before, const api::Pod* after) {
                            return AfterAssignedPod(pod, before, after);
                          }),
          WhenTargetPod(kUpdatePodToleration | kUpdatePodLabel,
                        [this](const cluster::PodInfo& pod, const api::Pod* before, const api::Pod* after) {
                          return AfterTargetPod(pod, *before, *after);
                        }),
          WhenNode(kAdd | kDelete | kUpdateNodeLabel | kUpdateNodeTaint,
                   [this](const cluster::PodInfo& pod, const api::Node* before, const api::Node* after) {
                     return AfterNode(pod, before, after);
                   })};
}

Expected<Hint> PodTopologySpread::AfterAssignedPod(const cluster::PodInfo& waiting, const api::Pod* before,
                                                   const api::Pod* after) const {
  if ((after != nullptr && !Involved(*after, *waiting.pod)) ||
      (before != nullptr && !Involved(*before, *waiting.pod)))
    return Hint::kSkip;
  BERTH_TRY(const cluster::SpreadPtr constraints, HardOf(waiting));
  if (before != nullptr && after != nullptr)
    return framework::QueueIf(AfterLabelChange(*before, *after, constraints->hard));
  const api::Pod& pod = after != nullptr ? *after : *before;
  return framework::QueueIf(std::ranges::any_of(
      constraints->hard, [&](const SpreadConstraint& constraint) { return Selects(constraint, pod); }));
}

Expected<Hint> PodTopologySpread::AfterTargetPod(const cluster::PodInfo& waiting, const api::Pod& before,
                                                 const api::Pod& after) const {
  BERTH_TRY(const cluster::SpreadPtr constraints, HardOf(waiting));
  if (before.spec.tolerations != after.spec.tolerations &&
      std::ranges::any_of(constraints->hard, &SpreadConstraint::honor_taints))
    return Hint::kQueue;
  return framework::QueueIf(AfterLabelChange(before, after, constraints->hard));
}

Expected<Hint> PodTopologySpread::AfterNode(const cluster::PodInfo& waiting, const api::Node* before,
                                            const api::Node* after) const {
  BERTH_TRY(const cluster::SpreadPtr constraints, HardOf(waiting));
  const bool had = HasAllKeys(before, constraints->hard, symbols_);
  const bool has = HasAllKeys(after, constraints->hard, symbols_);
  if (before == nullptr || after == nullptr) return framework::QueueIf(had || has);
  if (had != has) return Hint::kQueue;
  if (!has) return Hint::kSkip;
  if (before->taints != after->taints) return Hint::kQueue;
  return framework::QueueIf(std::ranges::any_of(constraints->hard, [&](const SpreadConstraint& constraint) {
    return *LabelOf(*before, constraint, symbols_) != *LabelOf(*after, constraint, symbols_);
  }));
}

}  // namespace berth::plugins
