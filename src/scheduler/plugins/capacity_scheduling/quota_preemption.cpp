#include "scheduler/plugins/capacity_scheduling/quota_preemption.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "scheduler/cluster/overlay.hpp"

namespace berth::plugins {

using cluster::NodeTable;
using cluster::Row;
using framework::Attempt;
using framework::PostFilterServices;
using framework::Status;

namespace {

// The pods of the row, the least important first.
std::vector<Importance::Entry> PodsOf(Row row, const NodeTable& nodes) {
  std::vector<Importance::Entry> pods;
  for (cluster::PlacedPod* pod : nodes.pods(row)) pods.push_back(Importance::EntryOf(*pod));
  std::ranges::sort(pods, [](const auto& a, const auto& b) { return Importance::IsMoreImportant(b, a); });
  return pods;
}

}  // namespace

// The dry run of one node. Its changes end with this object.
class QuotaPreemption::NodeRun {
 public:
  NodeRun(QuotaPreemption& of, const Attempt& attempt, PostFilterServices& services, EvictionCheck& check,
          Row row)
      : of_(of),
        state_(attempt.state().Clone()),
        attempt_(attempt.With(state_)),
        services_(services),
        check_(check),
        row_(row),
        rows_(attempt.Scratch()),
        overlay_(services.table()) {
    rows_->Add(row);
  }

  // Unschedulable: the row is no candidate, see QuotaPreemption::reasons.
  Status SelectVictims();
  Candidate& candidate() { return candidate_; }

 private:
  Status Remove(cluster::PlacedPod& pod);
  Status Add(cluster::PlacedPod& pod);
  Status RemovePossibleVictims();
  // Whether they may be evicted together.
  Status CheckVictims();
  Status Reprieve(const Importance::Entry& entry, bool violates);
  bool Fits();

  QuotaPreemption& of_;
  framework::CycleState state_;
  const Attempt attempt_;
  PostFilterServices& services_;
  EvictionCheck& check_;
  const Row row_;
  framework::ScratchPool::Rows rows_;
  NodeTable::Overlay overlay_;
  std::vector<Importance::Entry> possible_;  // victims; by descending importance
  Candidate candidate_;
};

void QuotaPreemption::Run(const Attempt& attempt, PostFilterServices& services, EvictionCheck& check,
                          std::span<const Row> rows) {
  candidates_.clear();
  violating_.clear();
  counts_.clear();
  errors_.clear();
  for (const Row row : rows) {
    NodeRun run(*this, attempt, services, check, row);
    const Status status = run.SelectVictims();
    if (status.code == framework::Code::kError) errors_.push_back(status.Message());
    if (!status.ok()) continue;
    (run.candidate().violations == 0 ? candidates_ : violating_).push_back(std::move(run.candidate()));
  }
  std::ranges::move(violating_, std::back_inserter(candidates_));
}

Status QuotaPreemption::NodeRun::SelectVictims() {
  if (Status status = RemovePossibleVictims(); !status.ok()) return status;
  const NodeTable& nodes = attempt_.nodes();
  const Refusals refusals = check_.Take();
  if (!refusals.error.empty()) return Status::Error(refusals.error);
  if (possible_.empty() && refusals.any()) {
    CountRefusals(refusals, of_.counts_);
    return Status::Unschedulable("");
  }
  if (possible_.empty()) {
    // Without the node's name, in contrast to scheduler-plugins: the message counts nodes by reason, and
    // would have an entry for each of thousands of nodes.
    ++of_.counts_[fmt::format("No victims found for preemptor pod {}", attempt_.pod().pod->metadata.name)];
    return Status::Unschedulable("");
  }
  if (!Fits()) {
    CountRejections(of_.outcome_, of_.reasons_, of_.counts_);
    CountRefusals(refusals, of_.counts_);
    for (const auto& [row, status] : of_.outcome_.errors) return status;
    return Status::Unschedulable("");
  }
  if (of_.rules_.Exceeds(attempt_)) {
    ++of_.counts_["global quota max exceeded"];
    return Status::Unschedulable("");
  }
  candidate_.row = row_;
  std::vector<std::uint32_t> violating, harmless;
  of_.budgets_.Split(possible_, violating, harmless);
  for (const std::uint32_t index : violating) {
    if (Status status = Reprieve(possible_[index], true); !status.ok()) return status;
  }
  for (const std::uint32_t index : harmless) {
    if (Status status = Reprieve(possible_[index], false); !status.ok()) return status;
  }
  if (candidate_.victims.empty())
    return Status::Error(fmt::format("expected at least one victim pod on node \"{}\"", nodes.name(row_)));
  std::ranges::sort(candidate_.victims, Importance::IsMoreImportant);
  return CheckVictims();
}

Status QuotaPreemption::NodeRun::CheckVictims() {
  if (check_.MayEvictTogether(candidate_.victims)) return {};
  const Refusals refusals = check_.Take();
  if (!refusals.error.empty()) return Status::Error(refusals.error);
  CountRefusals(refusals, of_.counts_);
  return Status::Unschedulable("");
}

// Which pods may be evicted depends on the pods that have been removed before.
Status QuotaPreemption::NodeRun::RemovePossibleVictims() {
  const QuotaRules::Claim claim = of_.rules_.ClaimOf(attempt_);
  for (const Importance::Entry& entry : PodsOf(row_, attempt_.nodes())) {
    if (!of_.rules_.MayEvict(claim, attempt_, *entry.pod->pod)) continue;
    if (!check_.empty() && !check_.MayEvict(*entry.pod->pod)) continue;
    possible_.push_back(entry);
    if (Status status = Remove(*entry.pod); !status.ok()) return status;
  }
  std::ranges::reverse(possible_);
  return {};
}

// A pod that fits but exceeds a quota is a victim without a violation of its budget. As in scheduler-plugins,
// the node is no candidate if the quotas are exceeded, by nominated pods, even without a pod that does not
// fit: the pod is then removed a second time, which fails.
Status QuotaPreemption::NodeRun::Reprieve(const Importance::Entry& entry, bool violates) {
  if (Status status = Add(*entry.pod); !status.ok()) return status;
  const bool fits = Fits();
  if (!fits) {
    if (Status status = Remove(*entry.pod); !status.ok()) return status;
    candidate_.victims.push_back(entry);
    if (violates) ++candidate_.violations;
  }
  if (!of_.rules_.ExceedsWithNominated(attempt_)) return {};
  if (!fits) {
    return Status::Error(fmt::format("no corresponding pod {} in pods of node {}",
                                     entry.pod->pod->metadata.name, attempt_.nodes().name(row_)));
  }
  candidate_.victims.push_back(entry);
  return Remove(*entry.pod);
}

Status QuotaPreemption::NodeRun::Remove(cluster::PlacedPod& pod) {
  overlay_.Remove(row_, pod);
  return services_.RemovePod(attempt_, pod, row_);
}

Status QuotaPreemption::NodeRun::Add(cluster::PlacedPod& pod) {
  overlay_.Add(row_, pod);
  return services_.AddPod(attempt_, pod, row_);
}

bool QuotaPreemption::NodeRun::Fits() {
  services_.RunFilters(attempt_, *rows_, of_.outcome_);
  return !of_.outcome_.feasible.Empty();
}

std::string_view QuotaPreemption::Ineligible(const Attempt& attempt,
                                             const framework::FilterOutcome& verdicts) const {
  const cluster::PodInfo& pod = attempt.pod();
  if (pod.pod->spec.never_preempts) return kNeverPreempts;
  const Row row = attempt.nodes().Find(pod.nominated);
  if (row == cluster::kNoRow || verdicts.unresolvable.Has(row)) return "";
  const QuotaRules::Claim claim = rules_.ClaimOf(attempt);
  const bool leaving = std::ranges::any_of(attempt.nodes().pods(row), [&](const cluster::PlacedPod* other) {
    return other->pod->metadata.deleting() && rules_.MakesRoom(claim, attempt, *other->pod);
  });
  return leaving ? kVictimsAreLeaving : "";
}

}  // namespace berth::plugins
