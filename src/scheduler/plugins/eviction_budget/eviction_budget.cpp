#include "scheduler/plugins/eviction_budget/eviction_budget.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "base/go_duration.hpp"
#include "kubernetes/api/timestamp.hpp"

namespace berth::plugins {

using cluster::PlacedPod;
using framework::Status;

namespace {

constexpr framework::ClusterEvent kEvictionsAllowed{framework::EventResource::kPluginState,
                                                    framework::kUpdate, "EvictionBudgetAllows"};

// Periods are whole seconds, because times of objects are.
EvictionLimit ToLimit(const EvictionBudgetArgs::Budget& budget) {
  return {.evictions = static_cast<std::size_t>(budget.evictions),
          .period = std::chrono::ceil<std::chrono::seconds>(budget.period).count()};
}

// Whether its end is a loss: terminating pods end anyway, and pods without a node have not run.
bool Counts(const api::Pod& pod) { return !pod.metadata.deleting() && !pod.spec.node_name.empty(); }

// When the scheduler that evicts the terminating pod marked it, in Unix seconds; nullopt: it ends for another
// reason.
std::optional<std::int64_t> EvictedAt(const api::Pod& pod) {
  if (!pod.metadata.deleting()) return std::nullopt;
  const auto& conditions = pod.status.conditions;
  const auto found = std::ranges::find(conditions, "DisruptionTarget", &api::PodCondition::type);
  if (found == conditions.end() || found->status != "True" || found->reason != "PreemptionByScheduler")
    return std::nullopt;
  return api::ParseTimestamp(found->last_transition_time).value_or(std::numeric_limits<std::int64_t>::max());
}

}  // namespace

EvictionBudget::EvictionBudget(const EvictionBudgetArgs& args, const std::string& profile,
                               framework::Handle& handle)
    : min_run_(args.min_run_seconds),
      too_young_status_(Status::Unschedulable(
          fmt::format("run time below {}", FormatGoDuration(std::chrono::seconds(min_run_))))),
      handle_(handle),
      state_(handle.Keep<State>("EvictionBudget " + profile)),
      retry_(handle, state_->retry, kEvictionsAllowed) {
  for (const EvictionBudgetArgs::Budget& budget : args.budgets) {
    if (budget.ns == EvictionBudgetArgs::kOtherNamespaces) {
      others_ = ToLimit(budget);
    } else {
      limits_[budget.ns] = ToLimit(budget);
    }
  }
  handle_.nodes.Observe(*this);
  if (handle.metrics == nullptr) return;
  const auto counter = [&](const char* reason) {
    return &handle.metrics->Counter(
        "berth_eviction_budget_refusals_total",
        "[ALPHA] Refusals of EvictionBudget, of one pod or of pods together, by reason: run_time, budget.",
        {{"reason", reason}});
  };
  too_young_ = counter("run_time");
  over_budget_ = counter("budget");
}

EvictionBudget::~EvictionBudget() { handle_.nodes.Forget(*this); }

// --- refusals ---

Status EvictionBudget::MayEvict(const framework::Preemptor&, const api::Pod& victim) {
  if (!Counts(victim)) return {};
  Status status = CheckRunTime(victim);
  return status.ok() ? CheckBudget(victim.metadata.ns.str(), 1) : status;
}

Status EvictionBudget::CheckRunTime(const api::Pod& victim) {
  if (min_run_ == 0) return {};
  const api::PodStatus& status = victim.status;
  const std::int64_t started = status.start_time != 0 ? status.start_time : status.scheduled_time;
  if (started != 0) {
    const std::int64_t end = started + min_run_;
    if (end <= Now()) return {};
    retry_.At(end);
  }
  if (too_young_ != nullptr) too_young_->Add();
  return too_young_status_;
}

Status EvictionBudget::CheckBudget(std::string_view ns, std::size_t more) {
  const auto limit = LimitOf(ns);
  if (!limit) return {};
  EvictionHistory& history = state_->history;
  const std::size_t used = history.Count(ns, *limit, Now());
  if (used + more <= limit->evictions) return {};
  if (more <= limit->evictions) retry_.At(history.AllowedAt(ns, more, *limit, Now()));
  if (over_budget_ != nullptr) over_budget_->Add();
  Status refusal = RefusalOf(ns, used, *limit);
  if (more > 1) refusal.reasons[0] += fmt::format(", {} more needed", more);
  return refusal;
}

// The arguments do not change, so the limit is that of the namespace.
Status EvictionBudget::RefusalOf(std::string_view ns, std::size_t used, const EvictionLimit& limit) {
  if (last_refusal_.status.ok() || last_refusal_.ns != ns || last_refusal_.used != used) {
    last_refusal_ = {
        std::string(ns), used,
        Status::Unschedulable(fmt::format("namespace {}: {} of {} evictions in {}", ns, used, limit.evictions,
                                          FormatGoDuration(std::chrono::seconds(limit.period))))};
  }
  return last_refusal_.status;
}

Status EvictionBudget::MayEvictTogether(const framework::Preemptor&,
                                        std::span<const api::Pod* const> victims) {
  std::map<std::string_view, std::size_t> by_namespace;
  for (const api::Pod* pod : victims) {
    if (Counts(*pod)) ++by_namespace[pod->metadata.ns.str()];
  }
  for (const auto& [ns, count] : by_namespace) {
    if (Status status = CheckBudget(ns, count); !status.ok()) return status;
  }
  return {};
}

std::optional<EvictionLimit> EvictionBudget::LimitOf(std::string_view ns) const {
  const auto own = limits_.find(ns);
  return own == limits_.end() ? others_ : own->second;
}

// --- evictions ---

void EvictionBudget::OnEviction(std::span<const api::PodPtr> victims) {
  for (const api::PodPtr& victim : victims) {
    if (Counts(*victim)) Record(*victim, Now());
  }
}

// The update of a pod adds it again.
void EvictionBudget::OnPodAdded(cluster::Row, const PlacedPod& pod) {
  if (const auto at = EvictedAt(*pod.pod)) Record(*pod.pod, *at);
}

void EvictionBudget::Record(const api::Pod& pod, std::int64_t at) {
  const std::string& ns = pod.metadata.ns.str();
  if (const auto limit = LimitOf(ns)) state_->history.Add(ns, pod.metadata.uid, at, *limit, Now());
}

framework::PluginOrError EvictionBudget::Create(const framework::RawArgs& raw, framework::Handle& handle) {
  BERTH_TRY(const EvictionBudgetArgs args, ParseEvictionBudgetArgs(raw));
  return std::make_unique<EvictionBudget>(args, raw.scheduler_name, handle);
}

}  // namespace berth::plugins
