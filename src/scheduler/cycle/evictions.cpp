#include "scheduler/cycle/evictions.hpp"

#include <fmt/format.h>

#include "observability/log/log.hpp"

namespace berth::cycle {
namespace {

// Transient errors have already been retried four times by the client. Equal to a pod's first back-off.
constexpr Duration kRetryDelay = std::chrono::seconds(1);

}  // namespace

Evictions::Evictions(const Parts& parts)
    : parts_(parts),
      asynchronous_(parts.gates.Enabled("SchedulerAsyncPreemption")),
      with_groups_(parts.gates.Enabled("GenericWorkload")),
      victims_(parts.metrics.Histogram(
          "scheduler_preemption_victims",
          "[STABLE] Number of selected preemption victims for preemption initiated by a single pod",
          metrics::ExponentialBuckets(1, 2, 7))) {}

void Evictions::Start(Preemptor preemptor, EvictionPlan plan) {
  CountPlan(preemptor, plan);
  const auto preemption = std::make_shared<Preemption>(Preemption{.preemptor = std::move(preemptor),
                                                                  .plugin = std::move(plan.plugin),
                                                                  .place = std::move(plan.place),
                                                                  .started = parts_.clock.Now(),
                                                                  .victims = {}});
  for (const api::PodPtr& victim : plan.victims) {
    // Terminating pods need no request.
    if (!victim->metadata.deleting()) preemption->victims.push_back(victim);
  }
  if (const auto log = log::V(2)) {
    log.Info("Start the preemption", {{"preemptor", log::Value::Object(preemption->preemptor.key)},
                                      {"node", preemption->place},
                                      {"numVictims", plan.victims.size()},
                                      {"numVictimsToDelete", preemption->victims.size()}});
  }
  if (!asynchronous_) return EvictTogether(preemption);
  if (preemption->victims.empty()) return;
  in_progress_.insert_or_assign(preemption->preemptor.uid, nullptr);
  ClearNominations(preemption, [this, preemption] { EvictAllButLast(preemption); });
}

// kube-scheduler has the series about groups only with the feature gate.
void Evictions::CountPlan(const Preemptor& preemptor, const EvictionPlan& plan) {
  const auto count = static_cast<double>(plan.victims.size());
  const auto buckets = [] { return metrics::ExponentialBuckets(1, 2, 11); };
  const metrics::Labels by_preemptor{{"preemptor", std::string(preemptor.type())}};
  if (preemptor.kind == Preemptor::Kind::kPod) {
    victims_.Observe(count);
  } else {
    parts_.metrics
        .Histogram("scheduler_workload_preemption_victims",
                   "[ALPHA] Number of pod preemption victims caused by workload preemption.", buckets())
        .Observe(count);
  }
  if (!with_groups_) return;
  if (plan.disrupted_groups > 0) {
    parts_.metrics
        .Histogram("scheduler_preemption_workload_disruptions",
                   "[ALPHA] Number of workload preemption units being preempted. A single preemption unit "
                   "can be all "
                   "pods in a pod group (in case of DisruptionMode=all), or a single pod (in case of "
                   "DisruptionMode=single).",
                   buckets(), by_preemptor)
        .Observe(static_cast<double>(plan.disrupted_groups));
  }
  if (plan.violations > 0) {
    parts_.metrics
        .Counter("scheduler_preemption_pdb_violations_total",
                 "[ALPHA] Total number of pod disruption budget violations caused by preemption.",
                 by_preemptor)
        .Add(static_cast<std::uint64_t>(plan.violations));
  }
}

bool Evictions::IsPreempting(std::string_view uid) const {
  if (in_progress_.empty()) return false;
  const auto found = in_progress_.find(std::string(uid));
  if (found == in_progress_.end()) return false;
  if (found->second == nullptr) return true;
  const api::PodPtr victim = parts_.pods.Find(found->second->metadata);
  return victim != nullptr && !victim->metadata.deleting();
}

// --- steps of a preemption ---

// Pods of lower priority may no longer fit; without a nomination they are scheduled elsewhere immediately.
void Evictions::ClearNominations(const PreemptionPtr& preemption, Next next) {
  std::vector<api::PodPtr> pods;
  for (const api::PodPtr& pod : NominatedPods(preemption->place)) {
    if (pod->spec.priority < preemption->preemptor.priority && !pod->status.nominated_node_name.empty())
      pods.push_back(pod);
  }
  if (pods.empty()) return next();
  preemption->open = pods.size();
  const auto go_on = std::make_shared<Next>(std::move(next));
  for (const api::PodPtr& pod : pods) {
    ports::PodStatusPatch patch{.ns = pod->metadata.ns, .name = pod->metadata.name, .current = pod};
    patch.nomination = "";
    parts_.api.PatchPodStatus(
        std::move(patch), OnLoop([preemption, go_on, pod](Expected<void> written) {
          if (!written) {
            preemption->failed = true;  // the victims are evicted nevertheless
            log::Error(
                "Cannot clear 'NominatedNodeName' field from lower priority pods on the same target node",
                {{"node", preemption->place},
                 {"pod", pod->metadata.Key()},
                 {"err", written.error().message}});
          }
          if (--preemption->open == 0) (*go_on)();
        }));
  }
}

void Evictions::EvictAllButLast(const PreemptionPtr& preemption) {
  Evict(preemption, preemption->victims.size() - 1, [this, preemption] { EvictLast(preemption); });
}

void Evictions::EvictLast(const PreemptionPtr& preemption) {
  const std::string& uid = preemption->preemptor.uid;
  const api::PodPtr& last = preemption->victims.back();
  // The deletion of a victim that is gone was no event for the preemptor, which was preempting until now.
  const bool gone = parts_.pods.Find(last->metadata) == nullptr;
  in_progress_.insert_or_assign(uid, last);
  EvictOne(preemption, last, [this, preemption, gone](Outcome outcome) {
    preemption->retry_now = outcome.resources_free || gone;
    if (!outcome.result) preemption->failed = true;
    Finish(preemption);
  });
}

void Evictions::EvictTogether(const PreemptionPtr& preemption) {
  Evict(preemption, preemption->victims.size(),
        [this, preemption] { ClearNominations(preemption, [this, preemption] { Finish(preemption); }); });
}

void Evictions::Finish(const PreemptionPtr& preemption) {
  in_progress_.erase(preemption->preemptor.uid);
  const bool failed = preemption->failed;
  const char* result = failed ? "error" : "success";
  if (with_groups_) {
    parts_.metrics
        .Histogram(
            "scheduler_preemption_execution_duration_seconds",
            "[ALPHA] Duration in seconds for preempting the target preemption victims. With async preemption "
            "enabled, preemption execution does not block the scheduling of other pods.",
            metrics::ExponentialBuckets(0.001, 2, 16),
            {{"preemptor", std::string(preemption->preemptor.type())}, {"result", result}})
        .Observe(std::chrono::duration<double>(parts_.clock.Now() - preemption->started).count());
  }
  if (asynchronous_) {
    parts_.metrics
        .Counter("scheduler_preemption_goroutines_execution_total",
                 "[ALPHA] Number of preemption goroutines executed.", {{"result", result}})
        .Add();
  }
  // No deletion event will requeue the pod then. A pause, because an immediate retry would fail again.
  const auto activate = [this, preemption] { parts_.queue.Activate(preemption->preemptor.pods); };
  if (failed) {
    parts_.loop.PostAfter(kRetryDelay, activate);
    return;
  }
  if (preemption->retry_now) activate();
}

void Evictions::Evict(const PreemptionPtr& preemption, std::size_t count, Next next) {
  if (count == 0) return next();
  preemption->open = count;
  const auto go_on = std::make_shared<Next>(std::move(next));
  for (std::size_t i = 0; i < count; ++i) {
    EvictOne(preemption, preemption->victims[i], [this, preemption, go_on](Outcome outcome) {
      if (!outcome.result) preemption->failed = preemption->eviction_failed = true;
      if (--preemption->open > 0) return;
      // If an eviction failed, the other victims are not evicted, and the pod is retried sooner.
      preemption->eviction_failed ? Finish(preemption) : (*go_on)();
    });
  }
}

// --- eviction of one victim ---

// A pod that is not bound yet is requeued instead of deleted.
void Evictions::EvictOne(const PreemptionPtr& preemption, const api::PodPtr& victim, Done done) {
  const std::string& uid = victim->metadata.uid;
  framework::WaitingPod* waiting = parts_.bindings.FindWaiting(uid);
  const bool rejected = waiting != nullptr && waiting->Preempt(preemption->plugin, "preempted");
  // In PreBind it keeps its resources until the plugins complete; its failure is then an event like a
  // deletion.
  const bool stopped = waiting == nullptr &&
                       parts_.bindings.CancelPreBind(uid, fmt::format("preempted by {}", preemption->plugin));
  if (!rejected && !stopped) return MarkAndDelete(preemption, victim, std::move(done));
  EmitPreempted(*preemption, victim, true);
  // The victim's own handling comes first. If its binding has failed by then, the preemptor was still gated
  // at that event, and no other one follows.
  parts_.loop.Post([this, rejected, uid, done = std::move(done)]() mutable {
    done({.resources_free = rejected || !parts_.bindings.IsInPreBind(uid), .result = {}});
  });
}

void Evictions::MarkAndDelete(const PreemptionPtr& preemption, const api::PodPtr& victim, Done done) {
  ports::PodStatusPatch patch{
      .ns = victim->metadata.ns,
      .name = victim->metadata.name,
      .type = "DisruptionTarget",
      .status = "True",
      .reason = "PreemptionByScheduler",
      .message = fmt::format("{}: preempting to accommodate a higher priority {}",
                             preemption->preemptor.scheduler_name, preemption->preemptor.type()),
      .observed_generation = victim->metadata.generation,
      .current = victim};
  parts_.api.PatchPodStatus(
      std::move(patch),
      OnLoop([this, preemption, victim, done = std::move(done)](Expected<void> written) mutable {
        if (written) return Delete(preemption, victim, std::move(done));
        if (written.error().code == ErrorCode::kNotFound) return done({});
        log::Error("Could not add DisruptionTarget condition due to preemption",
                   {{"preemptor", preemption->preemptor.key},
                    {"victim", victim->metadata.Key()},
                    {"err", written.error().message}});
        done({.result = std::move(written)});
      }));
}

void Evictions::Delete(const PreemptionPtr& preemption, const api::PodPtr& victim, Done done) {
  parts_.api.DeletePod(
      {victim->metadata.ns, victim->metadata.name, victim->metadata.uid},
      OnLoop([this, preemption, victim, done = std::move(done)](Expected<void> deleted) mutable {
        if (deleted) {
          EmitPreempted(*preemption, victim, false);
        } else if (deleted.error().code != ErrorCode::kNotFound) {
          log::Error("Tried to preempted pod", {{"pod", victim->metadata.Key()},
                                                {"preemptor", preemption->preemptor.key},
                                                {"err", deleted.error().message}});
          return done({.result = std::move(deleted)});
        }
        done({});
      }));
}

void Evictions::EmitPreempted(const Preemption& preemption, const api::PodPtr& victim, bool in_memory) {
  const Preemptor& preemptor = preemption.preemptor;
  parts_.events.Emit({ports::Event::Type::kNormal, "Preempted", "Preempting",
                      fmt::format("Preempted by {} {} on node {}{}", preemptor.type(), preemptor.uid,
                                  preemption.place, in_memory ? " (in kube-scheduler memory)." : ""),
                      preemptor.scheduler_name, victim, preemptor.object});
}

std::vector<api::PodPtr> Evictions::NominatedPods(std::string_view node) const {
  std::vector<api::PodPtr> pods;
  const cluster::NodeNameId name = parts_.symbols.node_names.Find(node);
  for (const auto& [uid, nomination] : parts_.queue.nominator().all()) {
    if (name.known() && nomination.node == name) pods.push_back(nomination.pod->info.pod);
  }
  return pods;
}

ports::WriteDone Evictions::OnLoop(std::move_only_function<void(Expected<void>)> done) {
  return [post = parts_.loop.poster(), done = std::move(done)](Expected<void> result) mutable {
    post([done = std::move(done), result = std::move(result)]() mutable { done(std::move(result)); });
  };
}

}  // namespace berth::cycle
