// Queueing hints of InterPodAffinity.
#include <algorithm>

#include "scheduler/plugins/inter_pod_affinity/inter_pod_affinity.hpp"

namespace berth::plugins {
namespace {

using cluster::AffinityTermPtr;
using framework::Hint;

struct LabelChange {
  const std::string* before;
  const std::string* after;
  bool moved() const { return before != nullptr && after != nullptr && *before != *after; }
};

LabelChange Along(const AffinityTermPtr& term, const api::Node& before, const api::Node& after,
                  const cluster::SymbolTable& words) {
  const std::string& key = words.KeyText(term->topology_key);
  return {before.metadata.labels.Find(key), after.metadata.labels.Find(key)};
}

}  // namespace

std::vector<framework::EventRegistration> InterPodAffinity::EventsToRegister() const {
  using namespace framework;
  return {WhenAssignedPod(kAdd | kUpdatePodLabel | kDelete,
                          [this](const cluster::PodInfo& pod, const api::Pod* before, const api::Pod* after) {
                            return AfterAssignedPod(pod, before, after);
                          }),
          {EventResource::kTargetPod, kUpdatePodLabel},
          WhenNode(kAdd | kUpdateNodeLabel,
                   [this](const cluster::PodInfo& pod, const api::Node* before, const api::Node* after) {
                     return AfterNode(pod, before, after);
                   })};
}

Expected<Hint> InterPodAffinity::AfterAssignedPod(const cluster::PodInfo& waiting, const api::Pod* before,
                                                  const api::Pod* after) const {
  const auto elsewhere = [](const api::Pod* pod) {
    return pod != nullptr && !framework::IsBoundOrNominated(*pod);
  };
  if (elsewhere(before) || elsewhere(after)) return Hint::kSkip;
  const cluster::PodAffinityTerms& terms =
      waiting.use().affinity != nullptr ? *waiting.use().affinity : no_terms_;
  if (!terms.required_valid || !terms.required_anti_valid) return Invalid(terms.error);
  const auto matches_all = [&](const cluster::PodLabels& labels) {
    return terms.all_required != nullptr && counters_.Selects(*terms.all_required, labels);
  };
  const auto matches_anti = [&](const cluster::PodLabels& labels) {
    return std::ranges::any_of(terms.required_anti, [&](const AffinityTermPtr& term) {
      return counters_.Selects(term->clause(), labels);
    });
  };
  const auto labels_of = [&](const api::Pod& pod) { return cluster::LabelsOf(pod, symbols_); };
  if (before != nullptr && after != nullptr) {
    const auto old_labels = labels_of(*before);
    const auto new_labels = labels_of(*after);
    return framework::QueueIf((!matches_all(*old_labels) && matches_all(*new_labels)) ||
                              (matches_anti(*old_labels) && !matches_anti(*new_labels)));
  }
  if (after != nullptr) return framework::QueueIf(matches_all(*labels_of(*after)));
  if (matches_anti(*labels_of(*before))) return Hint::kQueue;
  const auto gone = cluster::AffinityOf(*before, symbols_);
  if (gone == nullptr) return Hint::kSkip;
  if (!gone->required_anti_valid) return Invalid(gone->error);
  return framework::QueueIf(std::ranges::any_of(gone->required_anti, [&](const AffinityTermPtr& term) {
    return counters_.SelectsIncoming(term->clause(), *waiting.use().labels);
  }));
}

Expected<Hint> InterPodAffinity::AfterNode(const cluster::PodInfo& waiting, const api::Node* before,
                                           const api::Node* after) const {
  const cluster::PodAffinityTerms& terms =
      waiting.use().affinity != nullptr ? *waiting.use().affinity : no_terms_;
  if (!terms.required_valid) return Invalid(terms.error);
  for (const AffinityTermPtr& term : terms.required) {
    if (before == nullptr) {
      if (after->metadata.labels.Find(symbols_.KeyText(term->topology_key)) != nullptr) return Hint::kQueue;
      continue;
    }
    const LabelChange change = Along(term, *before, *after, symbols_);
    if ((change.before == nullptr && change.after != nullptr) || change.moved()) return Hint::kQueue;
  }
  if (!terms.required_anti_valid) return Invalid(terms.error);
  for (const AffinityTermPtr& term : terms.required_anti) {
    if (before == nullptr) return Hint::kQueue;
    const LabelChange change = Along(term, *before, *after, symbols_);
    // A node without the label never violates anti-affinity.
    if ((change.before != nullptr && change.after == nullptr) || change.moved()) return Hint::kQueue;
  }
  return Hint::kSkip;
}

}  // namespace berth::plugins
