#include "scheduler/plugins/capacity_scheduling/quota_ledger.hpp"

#include <optional>
#include <utility>

namespace berth::plugins {
namespace {

struct SharedLedger {
  std::optional<QuotaLedger> ledger;
};

}  // namespace

std::shared_ptr<QuotaLedger> QuotaLedger::Of(framework::Handle& handle) {
  auto shared = handle.Keep<SharedLedger>("quotas");
  if (!shared->ledger) shared->ledger.emplace(handle.nodes, handle.objects, handle.metrics);
  return {shared, &*shared->ledger};
}

QuotaLedger::QuotaLedger(cluster::NodeTable& nodes, cluster::ClusterObjects& objects,
                         metrics::Registry* registry)
    : nodes_(nodes), objects_(objects.Of<api::ElasticQuota>()), series_(registry) {
  nodes_.ObserveWithWithdrawals(*this);
  auto& table = objects.Of<api::ElasticQuota>();
  table.ForEach([&](const auto& object) { Reread(object->metadata.ns.str()); });
  table.ListenFor(listening_, [this](const ports::Change<api::ElasticQuota>& change) {
    Reread((change.after != nullptr ? change.after : change.before)->metadata.ns.str());
  });
}

QuotaLedger::~QuotaLedger() { nodes_.Forget(*this); }

// Determines the namespace's quota again.
void QuotaLedger::Reread(const std::string& ns) {
  const QuotaAmounts& used = UsedIn(ns);
  if (const auto known = quotas_.find(ns); known != quotas_.end()) {
    total_used_ -= used;
    total_min_ -= known->second.min;
    quotas_.erase(known);
  }
  bool found = false;
  objects_.ForEachIn(ns, [&](const auto& object) {
    if (std::exchange(found, true)) return;
    const Quota& quota = quotas_.emplace(ns, ToQuota(*object)).first->second;
    total_used_ += used;
    total_min_ += quota.min;
    series_.Put(ns, quota, used);
  });
  if (!found) series_.Remove(ns);
}

const Quota* QuotaLedger::Find(std::string_view ns) const {
  const auto found = quotas_.find(ns);
  return found == quotas_.end() ? nullptr : &found->second;
}

const QuotaAmounts& QuotaLedger::UsedIn(std::string_view ns) const {
  static const QuotaAmounts kNothing;
  const auto found = usage_.find(ns);
  return found == usage_.end() ? kNothing : found->second.used;
}

const QuotaAmounts* QuotaLedger::CountedFor(const api::Pod& pod) const {
  const auto usage = usage_.find(pod.metadata.ns.str());
  if (usage == usage_.end()) return nullptr;
  const auto counted = usage->second.pods.find(pod.metadata.uid);
  return counted == usage->second.pods.end() ? nullptr : &counted->second;
}

void QuotaLedger::OnPodAdded(cluster::Row, const cluster::PlacedPod& placed) {
  const api::Pod& pod = *placed.pod;
  const std::string& ns = pod.metadata.ns.str();
  Usage& usage = usage_[ns];
  const auto [counted, added] = usage.pods.try_emplace(pod.metadata.uid, QuotaRequestOf(pod));
  if (!added) return;
  usage.used += counted->second;
  if (!quotas_.contains(ns)) return;
  total_used_ += counted->second;
  series_.SetUsed(ns, usage.used);
}

void QuotaLedger::OnPodRemoved(cluster::Row, const cluster::PlacedPod& placed) {
  const api::Pod& pod = *placed.pod;
  const std::string& ns = pod.metadata.ns.str();
  const auto usage = usage_.find(ns);
  if (usage == usage_.end()) return;
  const auto counted = usage->second.pods.find(pod.metadata.uid);
  if (counted == usage->second.pods.end()) return;
  usage->second.used -= counted->second;
  if (quotas_.contains(ns)) {
    total_used_ -= counted->second;
    series_.SetUsed(ns, usage->second.used);
  }
  usage->second.pods.erase(counted);
  if (usage->second.pods.empty()) usage_.erase(usage);
}

}  // namespace berth::plugins
