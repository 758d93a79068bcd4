#include "scheduler/plugins/capacity_scheduling/capacity_scheduling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "kubernetes/api/selectors.hpp"
#include "scheduler/plugins/capacity_scheduling/group_rules.hpp"
#include "scheduler/plugins/capacity_scheduling/namespace_rules.hpp"

namespace berth::plugins {

using cluster::Row;
using framework::Attempt;
using framework::PostFilterResult;
using framework::PreFilterResult;
using framework::Status;

namespace {

std::unique_ptr<QuotaRules> MakeRules(const CapacitySchedulingArgs& args, framework::Handle& handle) {
  if (args.hierarchy == CapacitySchedulingArgs::Hierarchy::kKoordinator)
    return std::make_unique<GroupRules>(handle);
  return std::make_unique<NamespaceRules>(handle);
}

// A kind is read from one API group.
bool ReadsBothGroups(const framework::Handle& handle) {
  const auto reads = [&](std::string_view resource) {
    return std::ranges::find(handle.requested_resources, resource) != handle.requested_resources.end();
  };
  return reads(NamespaceRules::kResource) && reads(GroupRules::kResource);
}

}  // namespace

framework::PluginOrError CapacityScheduling::Create(const framework::RawArgs& raw,
                                                    framework::Handle& handle) {
  BERTH_TRY(const CapacitySchedulingArgs args, ParseCapacitySchedulingArgs(raw));
  auto plugin = std::make_unique<CapacityScheduling>(args, handle);
  if (ReadsBothGroups(handle))
    return Invalid("hierarchy: all profiles with CapacityScheduling must have the same hierarchy");
  return plugin;
}

CapacityScheduling::CapacityScheduling(const CapacitySchedulingArgs& args, framework::Handle& handle)
    : handle_(handle),
      rules_(MakeRules(args, handle)),
      budgets_(handle.objects, DisruptionBudgets::Counting::kAll),
      preemption_(handle.reasons, *rules_, budgets_),
      attempts_(PreemptionAttempts(handle.metrics)) {}

PreFilterResult CapacityScheduling::PreFilter(const Attempt& attempt) const { return rules_->Admit(attempt); }

Status CapacityScheduling::AddPod(const Attempt& attempt, const cluster::PlacedPod& added, Row) const {
  rules_->Add(attempt, *added.pod);
  return {};
}

Status CapacityScheduling::RemovePod(const Attempt& attempt, const cluster::PlacedPod& removed, Row) const {
  rules_->Remove(attempt, *removed.pod);
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
  if (!result.status.ok()) rules_->OnUnserved(attempt);
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
  if (result.eviction) {
    for (const api::PodPtr& victim : result.eviction->victims) rules_->OnVictim(attempt, *victim);
  }
  return result;
}

std::vector<framework::RejectionDetail> CapacityScheduling::RejectionDetails(const Attempt& attempt,
                                                                             const RowSet& rejected) const {
  std::vector<std::string> sentences = rules_->Explain(attempt);
  if (sentences.empty()) return {};
  return {{std::move(sentences), rejected}};
}

}  // namespace berth::plugins
