// Queueing hints of InterPodAffinity.
#include <algorithm>

#include "scheduler/framework/event_cache.hpp"
#include "scheduler/plugins/inter_pod_affinity/inter_pod_affinity.hpp"

namespace berth::plugins {
namespace {

using cluster::AffinityTermPtr;
using framework::Hint;

// Of the pod of an event. Null: created or deleted.
struct EventLabels {
  cluster::PodLabelsPtr before;
  cluster::PodLabelsPtr after;
};

struct TermsOfDeletedPod {
  cluster::PodAffinityPtr terms;  // null: none
};

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
  return {{EventResource::kAssignedPod, kAdd | kUpdatePodLabel | kDelete,
           [this](const cluster::PodInfo& pod, const EventObjects& objects) {
             return AfterAssignedPod(pod, objects);
           }},
          {EventResource::kTargetPod, kUpdatePodLabel},
          WhenNode(kAdd | kUpdateNodeLabel,
                   [this](const cluster::PodInfo& pod, const api::Node* before, const api::Node* after) {
                     return AfterNode(pod, before, after);
                   })};
}

// The pod of the event may have thousands of labels and terms: they are compiled once for all waiting pods.
Expected<Hint> InterPodAffinity::AfterAssignedPod(const cluster::PodInfo& waiting,
                                                  const framework::EventObjects& objects) const {
  const api::Pod* const before = objects.Before<api::Pod>();
  const api::Pod* const after = objects.After<api::Pod>();
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
  const auto labels = framework::ComputeOnce<EventLabels>(objects, [&] {
    const auto of = [&](const api::Pod* pod) {
      return pod == nullptr ? nullptr : cluster::LabelsOf(*pod, symbols_);
    };
    return EventLabels{of(before), of(after)};
  });
  if (before != nullptr && after != nullptr) {
    return framework::QueueIf((!matches_all(*labels->before) && matches_all(*labels->after)) ||
                              (matches_anti(*labels->before) && !matches_anti(*labels->after)));
  }
  if (after != nullptr) return framework::QueueIf(matches_all(*labels->after));
  if (matches_anti(*labels->before)) return Hint::kQueue;
  const auto deleted = framework::ComputeOnce<TermsOfDeletedPod>(
      objects, [&] { return TermsOfDeletedPod{cluster::AffinityOf(*before, symbols_)}; });
  const cluster::PodAffinityTerms* const gone = deleted->terms.get();
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
