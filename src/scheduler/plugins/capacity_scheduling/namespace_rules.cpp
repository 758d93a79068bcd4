#include "scheduler/plugins/capacity_scheduling/namespace_rules.hpp"

#include <fmt/format.h>

#include "base/check.hpp"
#include "scheduler/framework/nominations.hpp"
#include "scheduler/plugins/capacity_scheduling/quota_text.hpp"

namespace berth::plugins {

using framework::Attempt;
using framework::PreFilterResult;
using framework::Status;

namespace {

const std::string& NamespaceOf(const Attempt& attempt) { return attempt.pod().pod->metadata.ns.str(); }

}  // namespace

NamespaceRules::NamespaceRules(framework::Handle& handle)
    : shared_ledger_(QuotaLedger::Of(handle)), ledger_(*shared_ledger_), trial_(handle.NewKey<QuotaTrial>()) {
  handle.requested_resources.emplace_back(kResource);
}

PreFilterResult NamespaceRules::Admit(const Attempt& attempt) const {
  const api::ObjectMeta& pod = attempt.pod().pod->metadata;
  const std::string& ns = pod.ns.str();
  const Quota* const quota = ledger_.Find(ns);
  // Nothing counts for such a pod: the changes of dry runs are not reported for it.
  if (quota == nullptr) return {Status::Skip(), {}};
  if (!quota->invalid.empty()) {
    return {Status::Unresolvable(fmt::format("ElasticQuota {}/{}: {}", ns, quota->name, quota->invalid)), {}};
  }
  QuotaTrial& trial = attempt.state().Write(trial_, QuotaTrial(ledger_));
  trial.request = QuotaRequestOf(*attempt.pod().pod);
  AddNominatedPods(attempt, trial);
  trial.request_in_quota += trial.request;
  trial.request_in_total += trial.request;
  if (trial.OverMaxWith(ns, trial.request_in_quota)) {
    return {
        Status::Unschedulable(fmt::format(
            "Pod {}/{} is rejected in PreFilter because ElasticQuota {} is more than Max", ns, pod.name, ns)),
        {}};
  }
  if (trial.TotalOverMinWith(trial.request_in_total)) {
    return {Status::Unschedulable(fmt::format(
                "Pod {}/{} is rejected in PreFilter because total ElasticQuota used is more than min", ns,
                pod.name)),
            {}};
  }
  return {};
}

// They may be bound before this pod.
void NamespaceRules::AddNominatedPods(const Attempt& attempt, QuotaTrial& trial) const {
  const cluster::PodInfo& pod = attempt.pod();
  for (const framework::Nomination& nomination : attempt.Buffer(framework::kNominations)) {
    const cluster::PodInfo& other = *nomination.pod;
    if (nomination.row == cluster::kNoRow || other.pod->metadata.uid == pod.pod->metadata.uid) continue;
    const std::string& ns = other.pod->metadata.ns.str();
    if (ledger_.Find(ns) == nullptr) continue;
    if (ns == pod.pod->metadata.ns.str()) {
      if (other.priority() < pod.priority()) continue;
      const QuotaAmounts request = QuotaRequestOf(*other.pod);
      trial.request_in_quota += request;
      trial.request_in_total += request;
    } else if (!trial.OverMin(ns)) {
      trial.request_in_total += QuotaRequestOf(*other.pod);
    }
  }
}

void NamespaceRules::Add(const Attempt& attempt, const api::Pod& pod) const {
  if (QuotaTrial* const trial = attempt.state().Read(trial_)) trial->Add(pod);
}

void NamespaceRules::Remove(const Attempt& attempt, const api::Pod& pod) const {
  if (QuotaTrial* const trial = attempt.state().Read(trial_)) trial->Remove(pod);
}

// --- preemption ---

QuotaRules::Claim NamespaceRules::ClaimOf(const Attempt& attempt) const {
  if (!HasQuota(attempt)) return Claim::kNoQuota;
  const QuotaTrial& trial = TrialOf(attempt);
  return trial.OverMinWith(NamespaceOf(attempt), trial.request_in_quota) ? Claim::kOwnQuota
                                                                         : Claim::kWithinMin;
}

bool NamespaceRules::MayEvict(Claim claim, const Attempt& attempt, const api::Pod& other) const {
  const std::string& ns = other.metadata.ns.str();
  const bool less_important = other.spec.priority < attempt.pod().priority();
  const bool has_quota = ledger_.Find(ns) != nullptr;
  switch (claim) {
    case Claim::kNoQuota:
      return !has_quota && less_important;
    case Claim::kWithinMin:
      return has_quota && ns != NamespaceOf(attempt) && TrialOf(attempt).OverMin(ns);
    case Claim::kOwnQuota:
      return ns == NamespaceOf(attempt) && less_important;
  }
  return false;
}

// A less important pod of the same namespace makes room even for a pod that may not evict it.
bool NamespaceRules::MakesRoom(Claim claim, const Attempt& attempt, const api::Pod& other) const {
  if (MayEvict(claim, attempt, other)) return true;
  return claim == Claim::kWithinMin && MayEvict(Claim::kOwnQuota, attempt, other);
}

bool NamespaceRules::Exceeds(const Attempt& attempt) const {
  if (!HasQuota(attempt)) return false;
  const QuotaAmounts& request = TrialOf(attempt).request;
  return ExceedsWith(attempt, request, request);
}

bool NamespaceRules::ExceedsWithNominated(const Attempt& attempt) const {
  if (!HasQuota(attempt)) return false;
  const QuotaTrial& trial = TrialOf(attempt);
  return ExceedsWith(attempt, trial.request_in_quota, trial.request_in_total);
}

bool NamespaceRules::ExceedsWith(const Attempt& attempt, const QuotaAmounts& in_quota,
                                 const QuotaAmounts& in_total) const {
  const QuotaTrial& trial = TrialOf(attempt);
  return trial.OverMaxWith(NamespaceOf(attempt), in_quota) || trial.TotalOverMinWith(in_total);
}

// Pods of other namespaces with a quota are evicted only if those use more than their minimum.
void NamespaceRules::OnVictim(const Attempt& attempt, const api::Pod& victim) {
  if (victim.metadata.ns != attempt.pod().pod->metadata.ns) ledger_.CountReclaimed(victim.metadata.ns);
}

// Counts attempts within the minimum. Without a trial, PreFilter has found that the quota is invalid.
void NamespaceRules::OnUnserved(const Attempt& attempt) {
  if (attempt.state().Read(trial_) != nullptr && ClaimOf(attempt) == Claim::kWithinMin)
    ledger_.CountUnserved(NamespaceOf(attempt));
}

// A profile may enable the plugin without PreFilter: then no quota applies.
bool NamespaceRules::HasQuota(const Attempt& attempt) const {
  return ledger_.Find(NamespaceOf(attempt)) != nullptr && attempt.state().Read(trial_) != nullptr;
}

const QuotaTrial& NamespaceRules::TrialOf(const Attempt& attempt) const {
  const QuotaTrial* const trial = attempt.state().Read(trial_);
  BERTH_CHECK(trial != nullptr, attempt.pod().key);
  return *trial;
}

// --- events and explanations ---

// The controller of scheduler-plugins writes the status of a quota whenever a pod of its namespace starts or
// ends. Such changes, and pods that do not count, leave all limits as they are.
std::vector<framework::EventRegistration> NamespaceRules::Events() const {
  const auto pod_deleted = [this](const cluster::PodInfo&, const api::Pod* deleted, const api::Pod*) {
    return framework::QueueIf(ledger_.Find(deleted->metadata.ns.str()) != nullptr);
  };
  const auto quota_changed = [](const cluster::PodInfo&, const api::ElasticQuota* before,
                                const api::ElasticQuota* after) {
    return framework::QueueIf(before == nullptr || after == nullptr || before->min != after->min ||
                              before->max != after->max);
  };
  return {framework::WhenAssignedPod(framework::kDelete, pod_deleted),
          framework::When<api::ElasticQuota>(framework::EventResource::kElasticQuota, framework::kAllActions,
                                             quota_changed)};
}

std::vector<std::string> NamespaceRules::Explain(const Attempt& attempt) const {
  const QuotaTrial* const trial = attempt.state().Read(trial_);
  const std::string& ns = NamespaceOf(attempt);
  if (trial == nullptr || ledger_.Find(ns) == nullptr) return {};
  return DescribeExcess(ns, *trial, ledger_);
}

}  // namespace berth::plugins
