#include "scheduler/cycle/scheduler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/check.hpp"
#include "observability/log/log.hpp"
#include "scheduler/cycle/loop_journal.hpp"

namespace berth::cycle {

using framework::QueuedGroupPtr;
using framework::QueuedPod;
using framework::QueuedPodPtr;

namespace {

// A closed fence opens again when the lease is renewed; there is no notification, so the loop polls.
constexpr Duration kFencePollInterval = std::chrono::milliseconds(20);
// Specifications and symbols of deleted pods are kept for at most two periods.
constexpr Duration kReleasePeriod = std::chrono::seconds(10);
// Pods that enter or leave the queue between two decisions after a reload: a few milliseconds.
constexpr std::size_t kPodsPerStep = 500;

Origin CommandOrigin(std::string text) {
  return {.kind = Origin::Kind::kCommand, .detail = std::make_shared<const std::string>(std::move(text))};
}

}  // namespace

Scheduler::Scheduler(SchedulerOptions options, SchedulerParts parts)
    : parts_(parts),
      metrics_(parts.metrics, parts.profiles, std::move(options.class_latency)),
      gate_(options.stand_by ? DecisionGate::Phase::kStandBy : DecisionGate::Phase::kLeading, parts.fence),
      measurement_wait_(options.measurement_wait, parts.is_measured, parts.profiles.size()),
      policy_(parts.profiles),
      queue_(options.queue, parts.clock, policy_, parts.handle.groups, parts.metrics),
      pods_(parts.cluster),
      algorithm_(options.algorithm, parts.handle.reasons, *parts.extenders),
      nominations_(queue_, parts.handle.symbols),
      group_cycle_({.algorithm = algorithm_,
                    .view = view_,
                    .cluster = parts.cluster,
                    .groups = parts.handle.groups,
                    .nominator = queue_.nominator(),
                    .nominations = nominations_,
                    .profiles = parts.profiles,
                    .gates = parts.handle.gates,
                    .clock = parts.clock,
                    .metrics = metrics_}),
      records_(options.record_bytes),
      bindings_(options.binding, {.clock = parts.clock,
                                  .timers = parts.loop.timers(),
                                  .post = parts.loop.step_poster(),
                                  .gate = gate_,
                                  .observer = outcomes_,
                                  .extenders = parts.extenders}),
      evictions_({.api = parts.handle.api,
                  .events = parts.handle.events,
                  .loop = parts.loop,
                  .bindings = bindings_,
                  .queue = queue_,
                  .pods = pods_,
                  .symbols = parts.handle.symbols,
                  .gates = parts.handle.gates,
                  .clock = parts.clock,
                  .metrics = parts.metrics}),
      outcomes_({.handle = parts.handle,
                 .cluster = parts.cluster,
                 .queue = queue_,
                 .pods = pods_,
                 .unclaimed = unclaimed_,
                 .bindings = bindings_,
                 .evictions = evictions_,
                 .gate = gate_,
                 .profiles = parts.profiles,
                 .records = records_,
                 .metrics = metrics_,
                 .clock = parts.clock,
                 .tracer = parts.tracer}),
      updates_({.symbols = parts.handle.symbols,
                .cluster = parts.cluster,
                .groups = parts.handle.groups,
                .pending = parts.handle.pending,
                .queue = queue_,
                .pods = pods_,
                .unclaimed = unclaimed_,
                .bindings = bindings_,
                .profiles = parts.profiles,
                .metrics = metrics_,
                .clock = parts.clock,
                .new_pods_are_events =
                    parts.handle.gates.Enabled("GenericWorkload") || parts.handle.groups.HasExternal()}),
      overcommitment_(parts.cluster, parts.handle.symbols, parts.handle.events, metrics_.overcommitted,
                      parts.profiles.front()->name()),
      workers_(options.blocking_threads, Origin::Kind::kBlocking) {
  parts_.services.Connect(*this);
  parts_.extenders->SetKeepWaiting([this] { return PumpBindings(); });
  had_extenders_ = !parts_.extenders->empty();
}

Scheduler::~Scheduler() {
  EndBlockingPlugins();
  parts_.services.Disconnect();
  parts_.extenders->SetKeepWaiting(nullptr);
}

void Scheduler::EndBlockingPlugins() {
  bindings_.RequestStops();
  workers_.End();
}

bool Scheduler::DoWork() {
  if (parts_.clock.Now() >= queue_.NextDue()) queue_.Tick();
  if (gate_.phase() == DecisionGate::Phase::kDraining) ContinueDrain();
  ReleaseUnused();
  const bool moving = MovePods();
  const bool deferred = queue_.EvaluateDeferred();
  const queue::Popped next = NextEntry();
  if (!next) {
    UpdateGauges();
    return deferred || moving;
  }
  next.group != nullptr ? ScheduleGroup(next.group) : ScheduleOne(next.pod);
  return true;
}

// Between decisions, because those may use ids without a lease.
void Scheduler::ReleaseUnused() {
  const MonoTime now = parts_.clock.Now();
  if (now < next_release_ && !parts_.handle.symbols.ReleaseIsDue()) return;
  algorithm_.ReleaseUnused();
  parts_.cluster.ReleaseUnused();
  next_release_ = now + kReleasePeriod;
}

// Empty: nothing to schedule now. A decision before the initial lists are complete would use an incomplete
// cluster.
queue::Popped Scheduler::NextEntry() {
  if (!parts_.loop.synced() || !gate_.MayDecide()) return {};
  if (!measurement_wait_.Update(parts_.clock.Now())) return queue_.Pop();
  return queue_.Pop([this](const QueuedPod& pod) { return !measurement_wait_.IsWaiting(pod.profile); });
}

MonoTime Scheduler::NextDue() const {
  const bool fenced = gate_.phase() == DecisionGate::Phase::kLeading && !gate_.FenceOpen();
  const MonoTime fence_check = fenced ? parts_.clock.Now() + kFencePollInterval : MonoTime::max();
  const MonoTime release = parts_.handle.symbols.HasLeases() ? next_release_ : MonoTime::max();
  return std::min({queue_.NextDue(), drain_by_, fence_check, release, measurement_wait_.NextDue()});
}

// --- the scheduling cycle ---

void Scheduler::ScheduleOne(const QueuedPodPtr& pod) {
  BERTH_CHECK(gate_.phase() == DecisionGate::Phase::kLeading && !deciding_, pod->info.key, deciding_);
  if (MustSkip(*pod)) return outcomes_.Skip(pod);
  if (!parts_.profiles.IsInUse(pod->profile)) return outcomes_.LeaveQueue(pod);
  outcomes_.Begin(pod);
  const runtime::MetricsRecorder::Traced traced(parts_.profiles[pod->profile]->metrics_recorder(),
                                                pod->trace);
  outcomes_.Apply(pod, Decide(*pod));
}

void Scheduler::ScheduleGroup(const QueuedGroupPtr& group) {
  BERTH_CHECK(gate_.phase() == DecisionGate::Phase::kLeading && !deciding_, group->key, deciding_);
  // A reload has removed the profile of these members.
  std::erase_if(group->members, [&](const QueuedPodPtr& pod) {
    if (parts_.profiles.IsInUse(pod->profile)) return false;
    outcomes_.LeaveQueue(pod);
    return true;
  });
  if (group->members.empty()) return queue_.EndGroup(*group, queue::GroupOutcome::kScheduled);
  if (const auto invalid = group_cycle_.Invalid(*group)) return outcomes_.FailGroup(*group, *invalid);
  std::erase_if(group->members, [&](const QueuedPodPtr& pod) {
    if (!MustSkip(*pod)) return false;
    outcomes_.Skip(pod);
    return true;
  });
  if (group->members.empty()) return queue_.EndGroup(*group, queue::GroupOutcome::kScheduled);
  if (const auto log = log::V(3))
    log.Info("Attempting to schedule pod group", {{"podGroup", log::Value::Object(group->key)}});
  for (const QueuedPodPtr& pod : group->members) outcomes_.BeginTrace(pod);
  outcomes_.ApplyGroup(*group, DecideGroup(*group));
}

// Deleted or assumed in the meantime.
bool Scheduler::MustSkip(const QueuedPod& pod) const {
  const api::ObjectMeta& meta = pod.info.pod->metadata;
  return meta.deleting() || parts_.cluster.Contains(meta.uid);
}

algorithm::ScheduleResult Scheduler::Decide(const QueuedPod& pod) {
  deciding_ = true;
  algorithm::ScheduleResult result =
      algorithm_.Schedule(pod.info, *parts_.profiles[pod.profile], view_.Of(parts_.cluster),
                          nominations_.Of(parts_.cluster.nodes()));
  EndDecision();
  return result;
}

GroupResult Scheduler::DecideGroup(const framework::QueuedGroup& group) {
  deciding_ = true;
  GroupResult result = group_cycle_.Decide(group);
  EndDecision();
  activated_.reset();
  return result;
}

void Scheduler::EndDecision() {
  deciding_ = false;
  if (!deferred_activations_.empty()) queue_.Activate(std::exchange(deferred_activations_, {}));
}

// Successful steps of binding cycles do not change anything that a decision reads; all other messages wait
// until the decision is complete.
bool Scheduler::PumpBindings() {
  parts_.loop.RunSucceededSteps();
  return !parts_.loop.stopping() && !cancelling_.load(std::memory_order_relaxed) && gate_.FenceOpen();
}

// The decision's inputs, including the queue's nominations, must not change while it runs.
void Scheduler::Activate(std::span<const std::string> pods) {
  if (!deciding_) return queue_.Activate(pods);
  deferred_activations_.insert(deferred_activations_.end(), pods.begin(), pods.end());
}

// Each member of a gang that waits for Permit activates the others. After a decision one member after the
// other is assumed: as long as nothing else changes, the first one has activated all that the next ones
// would.
void Scheduler::ActivateMembers(const std::string& group) {
  const cluster::PodGroups& groups = parts_.handle.groups;
  const std::vector<std::string> leaves = groups.LeavesOf(group);
  std::size_t unscheduled = 0;
  for (const std::string& leaf : leaves) {
    const cluster::PodGroups::Group* known = groups.Find(leaf);
    if (known != nullptr) unscheduled += known->members.size() - known->scheduled;
  }
  const bool only_assumed_one =
      activated_ && activated_->key == group && activated_->unscheduled == unscheduled + 1;
  activated_ = {group, unscheduled};
  if (only_assumed_one) return;
  std::vector<std::string> pods;
  for (const std::string& leaf : leaves) {
    const cluster::PodGroups::Group* known = groups.Find(leaf);
    if (known == nullptr) continue;
    for (const auto& [uid, member] : known->members) {
      if (member.stage == cluster::PodGroups::Stage::kUnscheduled) pods.push_back(member.pod->metadata.Key());
    }
  }
  Activate(pods);
}

// --- the cluster ---

// A replica in stand-by does not report overcommitment, because it does not follow the leader's decisions.
void Scheduler::OnChange(ports::ClusterChange& change) {
  const api::PodPtr foreign = updates_.Apply(change);
  if (foreign != nullptr && gate_.phase() != DecisionGate::Phase::kStandBy && parts_.loop.synced())
    overcommitment_.Check(*foreign);
}

void Scheduler::OnSynced() {
  log::Info("Caches are synced", {{"nodes", parts_.cluster.nodes().node_count()},
                                  {"pods", parts_.cluster.pod_count()},
                                  {"pending", queue_.sizes().active}});
}

void Scheduler::UpdateGauges() {
  metrics_.cached_nodes.Set(static_cast<std::int64_t>(parts_.cluster.nodes().node_count()));
  metrics_.cached_pods.Set(static_cast<std::int64_t>(parts_.cluster.pod_count()));
  metrics_.assumed_pods.Set(static_cast<std::int64_t>(parts_.cluster.assumed_count()));
  metrics_.binding.Set(static_cast<std::int64_t>(bindings_.size()));
}

// --- reload ---

Scheduler::Reconfigured Scheduler::Reconfigure(Configuration configuration) {
  BERTH_CHECK(!deciding_, deciding_);
  parts_.loop.journal().Break("the configuration was reloaded");
  queue_.Reorder([&] {
    configuration.replace_profiles();
    queue_.SetBackoff(configuration.initial_backoff, configuration.max_backoff);
  });
  parts_.extenders->SetKeepWaiting(nullptr);
  parts_.extenders = std::move(configuration.extenders);
  had_extenders_ = had_extenders_ || !parts_.extenders->empty();
  parts_.extenders->SetKeepWaiting([this] { return PumpBindings(); });
  algorithm_.Reconfigure(configuration.percentage_of_nodes_to_score, *parts_.extenders);
  bindings_.UseExtenders(parts_.extenders);
  metrics_.OnProfilesReplaced();
  // Plugins that the former configuration did not enable do not know them.
  pods_.ForEachPending([this](const api::PodPtr& pod) { parts_.handle.pending.Put(pod); });
  const Reconfigured result = FindPodsToMove();
  // The plugins that rejected the waiting pods may be gone, or reject them no more. In kube-scheduler this is
  // an event without a resource: the plugins are not asked for a hint, and back-offs are kept.
  queue_.MoveAll(kConfigurationReloaded, {});
  return result;
}

Scheduler::Reconfigured Scheduler::FindPodsToMove() {
  Reconfigured result;
  pods_to_move_.clear();
  // Pods of an attempt in progress leave when it has failed (OutcomeHandler).
  queue_.ForEach([&](const QueuedPod& pod, const char*) {
    if (!parts_.profiles.IsInUse(pod.profile)) pods_to_move_.push_back(pod.info.pod);
  });
  result.left = pods_to_move_.size();
  unclaimed_.ForEach([&](const api::PodPtr& pod) {
    if (parts_.profiles.Find(pod->spec.scheduler_name.str())) pods_to_move_.push_back(pod);
  });
  result.taken = pods_to_move_.size() - result.left;
  std::ranges::sort(pods_to_move_, [](const api::PodPtr& a, const api::PodPtr& b) {
    return std::tie(a->metadata.ns, a->metadata.name) > std::tie(b->metadata.ns, b->metadata.name);
  });
  return result;
}

bool Scheduler::MovePods() {
  for (std::size_t step = 0; step < kPodsPerStep && !pods_to_move_.empty(); ++step) {
    const api::PodPtr pod = std::move(pods_to_move_.back());
    pods_to_move_.pop_back();
    const std::string& uid = pod->metadata.uid;
    bool leaves = false;
    queue_.Look(uid, [&](const QueuedPod& queued, const auto&, const char*) {
      leaves = !parts_.profiles.IsInUse(queued.profile);
    });
    if (leaves) {
      MoveToUnclaimed(*pod);
    } else if (const api::PodPtr claimed = unclaimed_.Find(uid);
               claimed != nullptr && parts_.profiles.Find(claimed->spec.scheduler_name.str())) {
      ports::ClusterChange change = ports::Change<api::Pod>{nullptr, claimed};
      updates_.Apply(change);
    }
  }
  return !pods_to_move_.empty();
}

void Scheduler::MoveToUnclaimed(const api::Pod& pod) {
  const std::string key = pod.metadata.Key();
  const api::PodPtr latest = pods_.FindPending(key, pod.metadata.uid);
  BERTH_CHECK(latest != nullptr, key, pod.metadata.uid);
  pods_.Remove(key);
  queue_.Delete(*latest);
  parts_.handle.groups.Remove(*latest);
  parts_.handle.pending.Remove(pod.metadata.uid);
  unclaimed_.Put(latest);
}

// --- stand-by, leading, draining ---

void Scheduler::RetryNow(std::string pod, std::move_only_function<void()> done) {
  const OriginScope origin(CommandOrigin("retry " + pod));
  parts_.loop.Post([this, pod = std::move(pod), done = std::move(done)]() mutable {
    Activate({&pod, 1});
    done();
  });
}

void Scheduler::Lead() {
  const OriginScope origin(CommandOrigin("lead"));
  parts_.loop.Post([this] { gate_.Lead(); });
}

void Scheduler::Drain(Duration timeout) {
  cancelling_.store(true, std::memory_order_relaxed);
  const OriginScope origin(CommandOrigin(fmt::format("drain {}", timeout.count())));
  parts_.loop.Post([this, timeout] { BeginDrain(timeout); });
}

void Scheduler::BeginDrain(Duration timeout) {
  if (gate_.phase() == DecisionGate::Phase::kDraining) return;
  gate_.Drain();
  drain_by_ = parts_.clock.Now() + timeout;
  // Scheduling has stopped, so no other pod can allow the waiting ones.
  bindings_.ForEachWaiting([](framework::WaitingPod& pod) { pod.Reject("", "the scheduler is stopping"); });
}

void Scheduler::ContinueDrain() {
  if (bindings_.size() > 0 && parts_.clock.Now() >= drain_by_)
    unconfirmed_bindings_ = bindings_.Abandon("the scheduler is stopping");
  if (bindings_.size() > 0) return;
  drain_by_ = MonoTime::max();
  if (!parts_.loop.stopping()) parts_.loop.Stop();
}

}  // namespace berth::cycle
