#include "scheduler/plugins/eviction_budget/eviction_budget.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "base/go_duration.hpp"
#include "base/json_fields.hpp"
#include "kubernetes/api/timestamp.hpp"
#include "observability/log/log.hpp"
#include "scheduler/plugins/encode_later.hpp"

namespace berth::plugins {

using cluster::PlacedPod;
using framework::Status;

namespace {

constexpr framework::ClusterEvent kEvictionsAllowed{framework::EventResource::kPluginState,
                                                    framework::kUpdate, "EvictionBudgetAllows"};

// Periods are whole seconds, because times of objects are.
std::int64_t ToSeconds(std::chrono::nanoseconds period) {
  return std::chrono::ceil<std::chrono::seconds>(period).count();
}

std::string FormatSeconds(std::int64_t seconds) { return FormatGoDuration(std::chrono::seconds(seconds)); }

EvictionLimit ToLimit(const EvictionBudgetArgs::Budget& budget) {
  return {.evictions = static_cast<std::size_t>(budget.evictions), .period = ToSeconds(budget.period)};
}

// Whether its end is a loss: terminating pods end anyway, and pods without a node have not run.
bool Counts(const api::Pod& pod) { return !pod.metadata.deleting() && !pod.spec.node_name.empty(); }

// The condition with which a scheduler marks the terminating pod that it evicts; null: it ends for another
// reason.
const api::PodCondition* EvictionMark(const api::Pod& pod) {
  if (!pod.metadata.deleting()) return nullptr;
  const auto& conditions = pod.status.conditions;
  const auto found = std::ranges::find(conditions, "DisruptionTarget", &api::PodCondition::type);
  if (found == conditions.end() || found->status != "True" || found->reason != "PreemptionByScheduler")
    return nullptr;
  return &*found;
}

// In Unix seconds.
std::int64_t TimeOf(const api::PodCondition& mark) {
  return api::ParseTimestamp(mark.last_transition_time).value_or(std::numeric_limits<std::int64_t>::max());
}

// Schedulers begin the message with their name: "name: preempting to accommodate a higher priority pod".
PreemptionLoops::Evictor EvictorOf(const api::PodCondition& mark) {
  const std::string_view message = mark.message;
  return {.key = {}, .text = {}, .scheduler = std::string(message.substr(0, message.find(':')))};
}

std::string DescribeEvictor(const PreemptionLoops::Evictor& by) {
  return fmt::format("{} ({})", by.text.empty() ? "an unknown workload" : by.text, by.scheduler);
}

}  // namespace

EvictionBudget::EvictionBudget(const EvictionBudgetArgs& args, const std::string& profile,
                               framework::Handle& handle)
    : profile_(profile),
      min_run_(args.min_run_seconds),
      too_young_status_(Status::Unschedulable(fmt::format("run time below {}", FormatSeconds(min_run_)))),
      loops_(LoopsOf(args, handle)),
      handle_(handle),
      state_(handle.Keep<State>("EvictionBudget " + profile)),
      replica_(handle.Keep<Replica>("EvictionBudget")),
      retry_(handle, state_->retry, kEvictionsAllowed) {
  for (const EvictionBudgetArgs::Budget& budget : args.budgets) {
    if (budget.ns == EvictionBudgetArgs::kOtherNamespaces) {
      others_ = ToLimit(budget);
    } else {
      limits_[budget.ns] = ToLimit(budget);
    }
  }
  if (handle_.metrics != nullptr) CreateMetrics(*handle_.metrics);
  handle_.nodes.Observe(*this);
}

void EvictionBudget::CreateMetrics(metrics::Registry& registry) {
  const auto counter = [&](const char* reason) {
    return &registry.Counter("berth_eviction_budget_refusals_total",
                             "[ALPHA] Refusals of EvictionBudget, of one pod or of pods together, by "
                             "reason: run_time, budget, loop.",
                             {{"reason", reason}});
  };
  too_young_ = counter("run_time");
  over_budget_ = counter("budget");
  in_loop_ = counter("loop");
  if (!loops_) return;
  loops_found_ = &registry.Counter(
      "berth_preemption_loops_total",
      "[ALPHA] Workloads that EvictionBudget paused, because preemption evicted their pods again and again.");
  paused_ = handle_.Keep<PausedGauge>("EvictionBudget " + profile_);
  paused_->Export(registry, profile_);
  UpdatePaused();
}

EvictionBudget::~EvictionBudget() { handle_.nodes.Forget(*this); }

// --- refusals ---

Status EvictionBudget::MayEvict(const framework::Preemptor& preemptor, const api::Pod& victim) {
  if (victim.metadata.deleting()) return {};
  // Also of a pod that is not bound yet: in a loop, each one is evicted before its binding is confirmed.
  if (Status in_loop = CheckLoop(preemptor, victim); !in_loop.ok()) return in_loop;
  if (!Counts(victim)) return {};
  Status status = CheckRunTime(victim);
  return status.ok() ? CheckBudget(victim.metadata.ns.str(), 1) : status;
}

Status EvictionBudget::CheckLoop(const framework::Preemptor& preemptor, const api::Pod& victim) {
  if (!loops_) return {};
  const std::int64_t now = Now();
  auto until = loops_->known->PausedUntil(victim, now);
  const Status& refusal = until ? loops_->paused_victim : loops_->paused_preemptor;
  if (!until) until = loops_->known->PausedBetween(*preemptor.pod, victim, now);
  if (!until) return {};
  retry_.At(*until);
  if (in_loop_ != nullptr) in_loop_->Add();
  return refusal;
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
    last_refusal_ = {std::string(ns), used,
                     Status::Unschedulable(fmt::format("namespace {}: {} of {} evictions in {}", ns, used,
                                                       limit.evictions, FormatSeconds(limit.period)))};
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

void EvictionBudget::OnEviction(const framework::Preemptor& preemptor, std::span<const api::PodPtr> victims) {
  replica_->decides = true;
  for (const api::PodPtr& victim : victims) {
    if (Counts(*victim)) Record(*victim, Now());
    if (victim->metadata.deleting()) continue;
    RecordLoop(preemptor.pod, *victim, PreemptionLoops::EvictorOf(*preemptor.pod), Now());
  }
}

// The update of a pod adds it again. A pod without a node in its object was placed by this replica.
void EvictionBudget::OnPodAdded(cluster::Row, const PlacedPod& pod) {
  if (pod.pod->spec.node_name.empty()) replica_->decides = true;
  const api::PodCondition* const mark = EvictionMark(*pod.pod);
  if (mark == nullptr) return;
  Record(*pod.pod, TimeOf(*mark));
  // The preemptor is unknown.
  RecordLoop(pod.pod, *pod.pod, EvictorOf(*mark), TimeOf(*mark));
}

void EvictionBudget::Record(const api::Pod& pod, std::int64_t at) {
  const std::string& ns = pod.metadata.ns.str();
  if (const auto limit = LimitOf(ns)) state_->history.Add(ns, pod.metadata.uid, at, *limit, Now());
}

// --- loops ---

std::optional<EvictionBudget::Loops> EvictionBudget::LoopsOf(const EvictionBudgetArgs& args,
                                                             framework::Handle& handle) {
  if (!args.loops) return std::nullopt;
  const LoopLimit limit{.evictions = static_cast<std::size_t>(args.loops->evictions),
                        .window = ToSeconds(args.loops->window),
                        .pause = ToSeconds(args.loops->pause)};
  const std::string pause = FormatSeconds(limit.pause);
  return Loops{.limit = limit,
               .paused_victim = Status::Unschedulable(
                   fmt::format("preemption loop: workload is not evicted for {}", pause)),
               .paused_preemptor = Status::Unschedulable(fmt::format(
                   "preemption loop: workload is not evicted for {} by the workload that it evicted", pause)),
               .known = handle.Keep<PreemptionLoops>(
                   fmt::format("EvictionBudget loops {} {} {}", limit.evictions, limit.window, limit.pause))};
}

void EvictionBudget::RecordLoop(const api::PodPtr& pod, const api::Pod& victim, PreemptionLoops::Evictor by,
                                std::int64_t at) {
  if (!loops_) return;
  const auto loop = loops_->known->Add(victim, std::move(by), at, loops_->limit, Now());
  if (loop && replica_->decides) Report(pod, victim, *loop);
  UpdatePaused();
}

void EvictionBudget::Report(const api::PodPtr& pod, const api::Pod& victim,
                            const PreemptionLoops::Loop& loop) {
  std::vector<std::string> by;
  for (const PreemptionLoops::Evictor& evictor : loop.by) by.push_back(DescribeEvictor(evictor));
  std::string note = fmt::format("{} was evicted {} times within {} by pods of {}; it is paused for {}",
                                 loop.workload, loops_->limit.evictions, FormatSeconds(loops_->limit.window),
                                 fmt::join(by, ", "), FormatSeconds(loops_->limit.pause));
  log::Warning("Preemption loop", {{"pod", pod->metadata.Key()}, {"note", note}});
  handle_.events.Emit({ports::Event::Type::kWarning, "PreemptionLoop", "Preempting", std::move(note),
                       profile_, pod, ports::ReferenceTo(victim, "v1")});
  if (loops_found_ != nullptr) loops_found_->Add();
}

// The gauge follows the time while workloads are paused, also if another profile has paused them. In stand-by
// it stays 0, so that the sum over the replicas is the number of paused workloads.
void EvictionBudget::UpdatePaused() {
  if (paused_ == nullptr) return;
  const std::size_t paused = loops_->known->Paused(Now());
  paused_->Set(replica_->decides ? paused : 0);
  if (paused > 0) update_paused_.PostAfter(std::chrono::seconds(1));
}

// --- recordings ---

Expected<framework::StateEncoder> EvictionBudget::SaveState() {
  Saved saved{.history = state_->history.Save(),
              .retry = retry_.Save(),
              .loops = std::nullopt,
              .update_paused = update_paused_.due(),
              .decides = replica_->decides};
  if (loops_) saved.loops = loops_->known->Save();
  return EncodeLater(std::move(saved));
}

std::size_t EvictionBudget::SavedTimers() const { return retry_.timers() + (update_paused_.due() ? 1U : 0U); }

// Profiles have saved what they share with equal content.
Expected<void> EvictionBudget::RestoreState(std::string_view text) {
  BERTH_TRY(const Saved saved, ReadJsonFields<Saved>(text));
  if (saved.loops.has_value() != loops_.has_value()) return Invalid("loops: expected as in the arguments");
  BERTH_RETURN_IF_ERROR(state_->history.Restore(saved.history));
  if (loops_) BERTH_RETURN_IF_ERROR(loops_->known->Restore(*saved.loops));
  replica_->decides = saved.decides;
  retry_.Restore(saved.retry);
  if (saved.update_paused) update_paused_.PostAt(*saved.update_paused);
  return {};
}

framework::PluginOrError EvictionBudget::Create(const framework::RawArgs& raw, framework::Handle& handle) {
  BERTH_TRY(const EvictionBudgetArgs args, ParseEvictionBudgetArgs(raw));
  return std::make_unique<EvictionBudget>(args, raw.scheduler_name, handle);
}

}  // namespace berth::plugins
