// The elastic quotas of the cluster and what their namespaces use.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/text_map.hpp"
#include "kubernetes/api/objects.hpp"
#include "scheduler/cluster/cluster_objects.hpp"
#include "scheduler/cluster/pod_observer.hpp"
#include "scheduler/framework/handle.hpp"
#include "scheduler/plugins/capacity_scheduling/quota.hpp"
#include "scheduler/plugins/capacity_scheduling/quota_series.hpp"

namespace berth::plugins {

// A namespace has one quota: the first object by name. A namespace uses what its pods on nodes and its
// assumed pods request; a pod's request is that of the time when it was added to its node. Pods on nodes that
// do not exist do not count. Follows the node table, without overlays. Exports metrics. Scheduler loop only.
class QuotaLedger final : public cluster::PodObserver {
 public:
  // The ledger of all plugins that are built with this handle, which must outlive it.
  static std::shared_ptr<QuotaLedger> Of(framework::Handle& handle);
  // All must outlive this object. `registry`: null: no metrics are collected.
  QuotaLedger(cluster::NodeTable& nodes, cluster::ClusterObjects& objects, metrics::Registry* registry);
  ~QuotaLedger() override;
  QuotaLedger(const QuotaLedger&) = delete;
  QuotaLedger& operator=(const QuotaLedger&) = delete;

  // Null: the namespace has no quota.
  const Quota* Find(std::string_view ns) const;
  // 0 if the namespace is unknown.
  const QuotaAmounts& UsedIn(std::string_view ns) const;
  // What this pod counts for in its namespace; null: it does not count.
  const QuotaAmounts* CountedFor(const api::Pod& pod) const;
  // Sums over the namespaces that have a quota.
  const QuotaAmounts& total_used() const { return total_used_; }
  const QuotaAmounts& total_min() const { return total_min_; }
  // visit(namespace, const Quota&, const QuotaAmounts& used), ordered by namespace.
  template <class Visit>
  void ForEachQuota(Visit&& visit) const {
    for (const auto& [ns, quota] : quotas_) visit(ns, quota, UsedIn(ns));
  }

  // A pod of the namespace is evicted for one of another namespace.
  void CountReclaimed(std::string_view ns) { series_.CountReclaimed(ns); }
  // An attempt of a pod of the namespace failed, although the namespace would be within its minimum with it.
  void CountUnserved(std::string_view ns) { series_.CountUnserved(ns); }

  void OnPodAdded(cluster::Row row, const cluster::PlacedPod& pod) override;
  void OnPodRemoved(cluster::Row row, const cluster::PlacedPod& pod) override;

 private:
  struct Usage {
    TextMap<QuotaAmounts> pods;  // by UID
    QuotaAmounts used;
  };
  void Reread(const std::string& ns);

  cluster::NodeTable& nodes_;
  const cluster::ObjectTable<api::ElasticQuota>& objects_;
  std::map<std::string, Quota, std::less<>> quotas_;  // by namespace
  TextMap<Usage> usage_;                              // by namespace, of those with pods on nodes
  QuotaAmounts total_used_, total_min_;
  QuotaSeries series_;
  const std::shared_ptr<const char> listening_ = std::make_shared<const char>();
};

}  // namespace berth::plugins
