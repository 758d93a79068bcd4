#include "scheduler/plugins/default_preemption/default_preemption.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kubernetes/api/selectors.hpp"
#include "observability/log/log.hpp"
#include "scheduler/plugins/default_preemption/evaluation_timer.hpp"

namespace berth::plugins {

using cluster::NodeTable;
using cluster::Row;
using framework::Attempt;
using framework::FilterOutcome;
using framework::PostFilterResult;
using framework::Status;

framework::PluginOrError DefaultPreemption::Create(const framework::RawArgs& raw, framework::Handle& handle) {
  BERTH_TRY(const DefaultPreemptionArgs args, ParseDefaultPreemptionArgs(raw));
  return std::make_unique<DefaultPreemption>(args, handle);
}

DefaultPreemption::DefaultPreemption(const DefaultPreemptionArgs& args, framework::Handle& handle,
                                     DisruptionBudgets::Counting counting)
    : args_(args),
      handle_(handle),
      importance_(handle.nodes),
      budgets_(handle.objects, counting),
      units_(handle.nodes, handle.groups),
      dry_run_(handle.reasons, importance_, budgets_, units_),
      group_preemption_(handle, budgets_, units_),
      attempts_(PreemptionAttempts(handle.metrics)) {}

PostFilterResult DefaultPreemption::PostFilter(const Attempt& attempt, const FilterOutcome& verdicts,
                                               framework::PostFilterServices& services) {
  if (attempts_ != nullptr) attempts_->Add();
  const EvaluationTimer timer(handle_, "pod");
  PostFilterResult answer = Preempt(attempt, verdicts, services);
  timer.Observe(answer.status.code);
  answer.status.reasons = {"preemption: " + answer.status.Message()};
  return answer;
}

PostFilterResult DefaultPreemption::Preempt(const Attempt& attempt, const FilterOutcome& verdicts,
                                            framework::PostFilterServices& services) {
  if (const std::string_view why = Ineligible(attempt, verdicts); !why.empty())
    return {Status::Unschedulable(std::string(why)), {}};

  const NodeTable& nodes = attempt.nodes();
  rows_.clear();
  PotentialRows(verdicts, nodes).ForEach([&](std::size_t row) { rows_.push_back(static_cast<Row>(row)); });
  std::size_t wanted = rows_.size();
  if (Random* rng = services.rng(); rng != nullptr && !rows_.empty()) {
    wanted = args_.Wanted(rows_.size());
    std::ranges::rotate(rows_, rows_.begin() + static_cast<std::ptrdiff_t>(rng->Below(rows_.size())));
  }
  EvictionCheck check(services.protections(),
                      {attempt.pod().key, attempt.pod().priority(), attempt.pod().pod});
  dry_run_.Run(attempt, services, check, rows_, wanted);
  if (dry_run_.candidates().empty()) {
    if (!dry_run_.errors().empty()) return {Status::Error(api::JoinErrors(dry_run_.errors())), {}};
    return {.status = Status::Unschedulable(NoCandidateMessage(dry_run_.reasons(), rows_.size(), nodes)),
            .nominate = "",
            .refusals = ToList(dry_run_.reasons())};
  }
  if (Status status =
          ReviewCandidates(handle_.preemption_reviewers, attempt.pod(), check, dry_run_.candidates());
      !status.ok())
    return {std::move(status), {}};
  if (dry_run_.candidates().empty()) return {Status::Unschedulable("no candidate node for preemption"), {}};

  PostFilterResult answer = NominateBest(dry_run_.candidates(), nodes, services.rng());
  answer.refusals = ToList(dry_run_.reasons());
  answer.status.reasons = {
      fmt::format("found a potential placement for pod on node {}, preempting {} victims", *answer.nominate,
                  answer.eviction->victims.size())};
  return answer;
}

std::string_view DefaultPreemption::Ineligible(const Attempt& attempt, const FilterOutcome& verdicts) {
  const cluster::PodInfo& pod = attempt.pod();
  if (pod.pod->spec.never_preempts) return kNeverPreempts;
  const Row row = attempt.nodes().Find(pod.nominated);
  if (row == cluster::kNoRow || verdicts.unresolvable.Has(row)) return "";
  const bool leaving = units_.AnyBeingPreempted(row, pod.priority());
  return leaving ? kVictimsAreLeaving : "";
}

framework::GroupPostFilterResult DefaultPreemption::PodGroupPostFilter(
    const framework::QueuedGroup& group, framework::GroupPostFilterServices& services) {
  framework::GroupPostFilterResult answer = group_preemption_.Run(group, services);
  if (handle_.metrics != nullptr) {
    handle_.metrics
        ->Counter("scheduler_workload_preemption_attempts_total",
                  "[ALPHA] Total preemption attempts initiated by workload (including pod groups) in the "
                  "cluster till "
                  "now.",
                  {{"result", std::string(framework::CodeName(answer.status.code))}})
        .Add();
  }
  answer.status.reasons = {"pod group preemption: " + answer.status.Message()};
  return answer;
}

Status DefaultPreemption::PreEnqueue(const cluster::PodInfo& pod) const {
  if (const auto key = handle_.groups.KeyOf(*pod.pod)) {
    const auto root = handle_.groups.RootOf(*key);
    const api::PodGroupPtr group = root ? handle_.groups.FindObject(*root) : nullptr;
    if (group == nullptr || !handle_.scheduler.IsPreempting(group->metadata.uid)) return {};
    return Status::Unresolvable("waiting for the preemption for this pod group to be finished");
  }
  if (!handle_.scheduler.IsPreempting(pod.pod->metadata.uid)) return {};
  return Status::Unresolvable("waiting for the preemption for this pod to be finished");
}

std::vector<framework::EventRegistration> DefaultPreemption::EventsToRegister() const {
  if (!handle_.gates.Enabled("SchedulerAsyncPreemption")) return {};
  // A deletion may end the gating by PreEnqueue; whether the pod may fit is decided by the plugins that
  // rejected it.
  return {framework::WhenAssignedPod(
      framework::kDelete,
      [](const cluster::PodInfo&, const api::Pod*, const api::Pod*) { return framework::Hint::kSkip; })};
}

}  // namespace berth::plugins
