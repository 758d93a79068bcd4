#include "scheduler/plugins/pod_topology_spread/default_spread.hpp"

#include <algorithm>

namespace berth::plugins {
namespace {

constexpr std::size_t kRememberedMax = 4096;

std::string OwnerOf(const api::Pod& pod) {
  const auto& owner = pod.metadata.controller;
  return owner ? owner->api_version + " " + owner->kind + " " + owner->name : "";
}

bool HasAll(const api::Labels& labels, const api::Labels& wanted) {
  return std::ranges::all_of(wanted, [&](const auto& entry) {
    const std::string* value = labels.Find(entry.first);
    return value != nullptr && *value == entry.second;
  });
}

void Add(const api::CowPtr<api::LabelSelector>& selector, api::ParsedSelector& out) {
  const auto parsed = api::ParseLabelSelector(selector ? &*selector : nullptr);
  if (!parsed || parsed->nothing) return;
  out.requirements.insert(out.requirements.end(), parsed->requirements.begin(), parsed->requirements.end());
}

}  // namespace

DefaultSpread::DefaultSpread(const std::vector<api::TopologySpreadConstraint>& constraints,
                             cluster::SymbolTable& symbols, const cluster::ClusterObjects& objects)
    : constraints_(constraints), symbols_(symbols), objects_(objects) {}

cluster::SpreadPtr DefaultSpread::For(const cluster::PodInfo& pod) {
  if (constraints_.empty()) return none_;
  if (cache_.size() > kRememberedMax) cache_.clear();
  CachedConstraints& remembered = cache_[pod.use().labels];
  std::string owner = OwnerOf(*pod.pod);
  // Versions only increase, so their sum changes whenever one of them does.
  const std::uint64_t version =
      1 + objects_.Of<api::Service>().version() + objects_.Of<api::ReplicationController>().version() +
      objects_.Of<api::ReplicaSet>().version() + objects_.Of<api::StatefulSet>().version();
  if (remembered.version != version || remembered.owner != owner) {
    FollowServices();
    remembered = {std::move(owner), version, Deduce(pod)};
  }
  return remembered.constraints;
}

void DefaultSpread::FollowServices() {
  const auto& table = objects_.Of<api::Service>();
  if (services_version_ == table.version()) return;
  services_version_ = table.version();
  services_ = {};
  table.ForEach([&](const auto& service) {
    if (!service->selector.empty()) services_.Add(api::SelectorOfLabels(service->selector), service);
  });
}

cluster::SpreadPtr DefaultSpread::Deduce(const cluster::PodInfo& info) const {
  const api::Pod& pod = *info.pod;
  const api::ParsedSelector selector = SelectorFor(info);
  if (selector.everything()) return none_;
  auto out = std::make_shared<cluster::SpreadConstraints>();
  const auto query = cluster::SpreadQuery(pod.metadata.ns, selector, symbols_);
  for (const api::TopologySpreadConstraint& constraint : constraints_) {
    cluster::SpreadConstraint compiled;
    compiled.max_skew = constraint.max_skew;
    compiled.topology_key = symbols_.InternKey(constraint.topology_key);
    compiled.query = query;
    compiled.min_domains = constraint.min_domains.value_or(1);
    compiled.honor_affinity =
        constraint.node_affinity_policy.empty() || constraint.node_affinity_policy == "Honor";
    compiled.honor_taints = constraint.node_taints_policy == "Honor";
    compiled.self_matches = selector.Matches(pod.metadata.labels);
    (constraint.when_unsatisfiable == "DoNotSchedule" ? out->hard : out->soft).push_back(compiled);
  }
  return out;
}

// The conjunction of the selectors of all services that select the pod and of its controller.
api::ParsedSelector DefaultSpread::SelectorFor(const cluster::PodInfo& info) const {
  const api::Pod& pod = *info.pod;
  const std::string& ns = pod.metadata.ns;
  api::Labels labels;
  services_.ForEachCandidate(*info.use().labels, [&](const auto& service) {
    if (service->metadata.ns != ns || !HasAll(pod.metadata.labels, service->selector)) return;
    for (const auto& [key, value] : service->selector) labels.Set(key, value);
  });
  const auto& owner = pod.metadata.controller;
  if (owner && owner->api_version == "v1" && owner->kind == "ReplicationController") {
    if (const auto controller = objects_.Of<api::ReplicationController>().Find(ns, owner->name)) {
      for (const auto& [key, value] : controller->selector) labels.Set(key, value);
    }
  }
  api::ParsedSelector selector = api::SelectorOfLabels(labels);
  if (!owner || owner->api_version != "apps/v1") return selector;
  if (owner->kind == "ReplicaSet") {
    if (const auto set = objects_.Of<api::ReplicaSet>().Find(ns, owner->name)) Add(set->selector, selector);
  } else if (owner->kind == "StatefulSet") {
    if (const auto set = objects_.Of<api::StatefulSet>().Find(ns, owner->name)) Add(set->selector, selector);
  }
  return selector;
}

}  // namespace berth::plugins
