#include "scheduler/plugins/capacity_scheduling/capacity_scheduling.hpp"

#include <fmt/format.h>

#include <utility>

#include "kubernetes/api/selectors.hpp"
#include "scheduler/framework/nominations.hpp"
#include "scheduler/plugins/capacity_scheduling/quota_text.hpp"

namespace berth::plugins {

using cluster::Row;
using framework::Attempt;
using framework::EventResource;
using framework::PostFilterResult;
using framework::PreFilterResult;
using framework::Status;

CapacityScheduling::CapacityScheduling(framework::Handle& handle)
    : handle_(handle),
      shared_ledger_(QuotaLedger::Of(handle)),
      ledger_(*shared_ledger_),
      trial_(handle.NewKey<QuotaTrial>()),
      budgets_(handle.objects, DisruptionBudgets::Counting::kAll),
      preemption_(handle.reasons, ledger_, trial_, budgets_),
      attempts_(PreemptionAttempts(handle.metrics)) {
  handle.requested_resources.emplace_back("elasticquotas.scheduling.x-k8s.io");
}

PreFilterResult CapacityScheduling::PreFilter(const Attempt& attempt) const {
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
void CapacityScheduling::AddNominatedPods(const Attempt& attempt, QuotaTrial& trial) const {
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

Status CapacityScheduling::AddPod(const Attempt& attempt, const cluster::PlacedPod& added, Row) const {
  if (QuotaTrial* const trial = attempt.state().Read(trial_)) trial->Add(*added.pod);
  return {};
}

Status CapacityScheduling::RemovePod(const Attempt& attempt, const cluster::PlacedPod& removed, Row) const {
  if (QuotaTrial* const trial = attempt.state().Read(trial_)) trial->Remove(*removed.pod);
  return {};
}

PostFilterResult CapacityScheduling::PostFilter(const Attempt& attempt,
                                                const framework::FilterOutcome& verdicts,
                                                framework::PostFilterServices& services) {
  if (attempts_ != nullptr) attempts_->Add();
  const std::string_view why_not = preemption_.Ineligible(attempt, verdicts);
  // Room is being made for the pod.
  if (why_not == kVictimsAreLeaving) return {Status::Unschedulable(std::string(why_not)), {}};
  PostFilterResult result = why_not.empty()
                                ? Preempt(attempt, verdicts, services)
                                : PostFilterResult{Status::Unschedulable(std::string(why_not)), {}};
  if (!result.status.ok() && preemption_.IsWithinMin(attempt))
    ledger_.CountUnserved(attempt.pod().pod->metadata.ns.str());
  return result;
}

PostFilterResult CapacityScheduling::Preempt(const Attempt& attempt, const framework::FilterOutcome& verdicts,
                                             framework::PostFilterServices& services) {
  const cluster::NodeTable& nodes = attempt.nodes();
  rows_.clear();
  PotentialRows(verdicts, nodes).ForEach([&](std::size_t row) { rows_.push_back(static_cast<Row>(row)); });
  EvictionCheck check(services.protections(),
                      {attempt.pod().key, attempt.pod().priority(), attempt.pod().pod});
  preemption_.Run(attempt, services, check, rows_);
  std::vector<Candidate>& candidates = preemption_.candidates();
  if (candidates.empty()) {
    if (!preemption_.errors().empty()) return {Status::Error(api::JoinErrors(preemption_.errors())), {}};
    return {.status = Status::Unschedulable(NoCandidateMessage(preemption_.reasons(), rows_.size(), nodes)),
            .nominate = "",
            .refusals = ToList(preemption_.reasons())};
  }
  if (Status status = ReviewCandidates(handle_.preemption_reviewers, attempt.pod(), check, candidates);
      !status.ok())
    return {std::move(status), {}};
  if (candidates.empty()) return {Status::Unschedulable("no candidate node for preemption"), {}};
  PostFilterResult result = NominateBest(candidates, nodes, services.rng());
  result.refusals = ToList(preemption_.reasons());
  CountReclaimed(attempt, result);
  return result;
}

// Pods of other namespaces with a quota are evicted only if those use more than their minimum.
void CapacityScheduling::CountReclaimed(const Attempt& attempt, const PostFilterResult& result) {
  if (!result.eviction) return;
  for (const api::PodPtr& victim : result.eviction->victims) {
    if (victim->metadata.ns != attempt.pod().pod->metadata.ns) ledger_.CountReclaimed(victim->metadata.ns);
  }
}

// The controller of scheduler-plugins writes the status of a quota whenever a pod of its namespace starts or
// ends. Such changes, and pods that do not count, leave all limits as they are.
std::vector<framework::EventRegistration> CapacityScheduling::EventsToRegister() const {
  const auto pod_deleted = [this](const cluster::PodInfo&, const api::Pod* deleted, const api::Pod*) {
    return framework::QueueIf(ledger_.Find(deleted->metadata.ns.str()) != nullptr);
  };
  const auto quota_changed = [](const cluster::PodInfo&, const api::ElasticQuota* before,
                                const api::ElasticQuota* after) {
    return framework::QueueIf(before == nullptr || after == nullptr || before->min != after->min ||
                              before->max != after->max);
  };
  return {framework::WhenAssignedPod(framework::kDelete, pod_deleted),
          framework::When<api::ElasticQuota>(EventResource::kElasticQuota, framework::kAllActions,
                                             quota_changed)};
}

std::vector<framework::RejectionDetail> CapacityScheduling::RejectionDetails(const Attempt& attempt,
                                                                             const RowSet& rejected) const {
  const QuotaTrial* const trial = attempt.state().Read(trial_);
  const std::string& ns = attempt.pod().pod->metadata.ns.str();
  if (trial == nullptr || ledger_.Find(ns) == nullptr) return {};
  return {{DescribeExcess(ns, *trial, ledger_), rejected}};
}

}  // namespace berth::plugins
