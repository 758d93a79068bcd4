// The quotas as one attempt sees them: what is used, with the changes of dry runs.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "scheduler/plugins/capacity_scheduling/quota_ledger.hpp"

namespace berth::plugins {

// A value of the cycle state: a copy has changes of its own. Valid until the ledger changes.
class QuotaTrial {
 public:
  explicit QuotaTrial(const QuotaLedger& ledger) : ledger_(&ledger), total_used_(ledger.total_used()) {}

  // The pod is added to a node, or removed from it. No effect if it counts already, or does not count, or if
  // its namespace has no quota.
  void Add(const api::Pod& pod);
  void Remove(const api::Pod& pod);

  // All of a namespace that has a quota.
  bool OverMin(const std::string& ns) const;
  bool OverMinWith(const std::string& ns, const QuotaAmounts& more) const;
  bool OverMaxWith(const std::string& ns, const QuotaAmounts& more) const;
  // Whether all quotas together use more than all minimums together.
  bool TotalOverMinWith(const QuotaAmounts& more) const;

  // Of the pod of the attempt.
  QuotaAmounts request;
  // `request`, and those of nominated pods of the same namespace that are not less important.
  QuotaAmounts request_in_quota;
  // The same, and those of nominated pods of other namespaces that do not use more than their minimum.
  QuotaAmounts request_in_total;

 private:
  struct Change {
    QuotaAmounts used;                           // with the changes
    std::set<std::string, std::less<>> toggled;  // UIDs of pods that were added or removed
  };
  // `computed` keeps the result if the ledger has none for the pod.
  const QuotaAmounts& AmountsOf(const api::Pod& pod, std::optional<QuotaAmounts>& computed) const;
  const QuotaAmounts& UsedIn(const std::string& ns) const;
  bool Counts(const api::Pod& pod) const;
  Change& ChangeIn(const std::string& ns);
  void Toggle(Change& change, const std::string& uid);

  const QuotaLedger* ledger_;
  std::map<std::string, Change, std::less<>> changes_;  // by namespace
  QuotaAmounts total_used_;                             // of all namespaces, with the changes
};

}  // namespace berth::plugins
