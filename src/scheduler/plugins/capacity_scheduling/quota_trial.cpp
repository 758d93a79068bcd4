#include "scheduler/plugins/capacity_scheduling/quota_trial.hpp"

namespace berth::plugins {

// Those that the ledger counts are not copied: this is called for each victim on each node.
const QuotaAmounts& QuotaTrial::AmountsOf(const api::Pod& pod, std::optional<QuotaAmounts>& computed) const {
  if (const QuotaAmounts* const counted = ledger_->CountedFor(pod)) return *counted;
  return computed.emplace(QuotaRequestOf(pod));
}

void QuotaTrial::Add(const api::Pod& pod) {
  const std::string& ns = pod.metadata.ns.str();
  if (ledger_->Find(ns) == nullptr || Counts(pod)) return;
  Change& change = ChangeIn(ns);
  Toggle(change, pod.metadata.uid);
  std::optional<QuotaAmounts> computed;
  const QuotaAmounts& amounts = AmountsOf(pod, computed);
  change.used += amounts;
  total_used_ += amounts;
}

void QuotaTrial::Remove(const api::Pod& pod) {
  const std::string& ns = pod.metadata.ns.str();
  if (ledger_->Find(ns) == nullptr || !Counts(pod)) return;
  Change& change = ChangeIn(ns);
  Toggle(change, pod.metadata.uid);
  std::optional<QuotaAmounts> computed;
  const QuotaAmounts& amounts = AmountsOf(pod, computed);
  change.used -= amounts;
  total_used_ -= amounts;
}

bool QuotaTrial::Counts(const api::Pod& pod) const {
  const bool counted = ledger_->CountedFor(pod) != nullptr;
  const auto change = changes_.find(pod.metadata.ns.str());
  const bool toggled = change != changes_.end() && change->second.toggled.contains(pod.metadata.uid);
  return counted != toggled;
}

QuotaTrial::Change& QuotaTrial::ChangeIn(const std::string& ns) {
  const auto known = changes_.find(ns);
  if (known != changes_.end()) return known->second;
  return changes_.emplace(ns, Change{ledger_->UsedIn(ns), {}}).first->second;
}

void QuotaTrial::Toggle(Change& change, const std::string& uid) {
  if (const auto known = change.toggled.find(uid); known != change.toggled.end()) {
    change.toggled.erase(known);
  } else {
    change.toggled.insert(uid);
  }
}

const QuotaAmounts& QuotaTrial::UsedIn(const std::string& ns) const {
  const auto change = changes_.find(ns);
  return change == changes_.end() ? ledger_->UsedIn(ns) : change->second.used;
}

bool QuotaTrial::OverMin(const std::string& ns) const {
  return Exceeds(UsedIn(ns), {}, ledger_->Find(ns)->min, Quota::kUnlistedMin);
}

bool QuotaTrial::OverMinWith(const std::string& ns, const QuotaAmounts& more) const {
  return Exceeds(more, UsedIn(ns), ledger_->Find(ns)->min, Quota::kUnlistedMin);
}

bool QuotaTrial::OverMaxWith(const std::string& ns, const QuotaAmounts& more) const {
  return Exceeds(more, UsedIn(ns), ledger_->Find(ns)->max, Quota::kUnlistedMax);
}

bool QuotaTrial::TotalOverMinWith(const QuotaAmounts& more) const {
  // Unlike the amounts of one namespace, all scalars are compared, as in scheduler-plugins: those of both
  // sides.
  const QuotaAmounts& min = ledger_->total_min();
  return Exceeds(total_used_, more, min, Quota::kUnlistedMin) ||
         Exceeds(more, total_used_, min, Quota::kUnlistedMin);
}

}  // namespace berth::plugins
