#include "scheduler/cycle/scheduler.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/check.hpp"
#include "observability/log/log.hpp"
#include "scheduler/cycle/scheduler_metrics.hpp"

namespace berth::cycle {

using framework::QueuedPod;
using framework::QueuedPodPtr;

namespace {

// The number of nodes evaluated by filters, as counted by kube-scheduler: nodes excluded by PreFilter do not
// count.
std::size_t EvaluatedNodes(const record::AttemptRecord& record) {
  std::size_t count = record.feasible.Count();
  for (const record::Rejection& rejection : record.rejections) count += rejection.rows.Count();
  for (const record::PluginReasons& part : record.row_reasons) count += part.reasons.rows.size();
  return count;
}

}  // namespace

Scheduler::Scheduler(SchedulerOptions options, SchedulerParts parts)
    : options_(options),
      parts_(parts),
      metrics_(std::make_unique<Metrics>(parts.metrics, parts.profiles)),
      queue_(options.queue, parts.clock, *this, parts.metrics),
      algorithm_(options.algorithm, parts.handle.reasons, parts.extenders),
      records_(options.record_bytes),
      leading_(!options.stand_by),
      bindings_(
          options.binding, *this,
          [mailbox = mailbox_](bool well, Work work) { mailbox->PostStep(well, std::move(work)); },
          parts.extenders),
      workers_(options.blocking_threads) {
  parts_.handle.services = this;
  parts_.handle.events = &parts.events;
  if (parts_.extenders != nullptr) parts_.extenders->SetKeepWaiting([this] { return PumpBindings(); });
}

Scheduler::~Scheduler() {
  parts_.handle.services = nullptr;
  parts_.handle.events = nullptr;
  if (parts_.extenders != nullptr) parts_.extenders->SetKeepWaiting(nullptr);
}

void Scheduler::Stop() {
  stopping_.store(true, std::memory_order_relaxed);
  mailbox_->Post(Wake{});
}

void Scheduler::Run() {
  while (!stopping_.load(std::memory_order_relaxed)) {
    if (!RunOnce()) mailbox_->WaitUntil(NextDue());
  }
}

MonoTime Scheduler::NextDue() const {
  const MonoTime timer = timers_.empty() ? MonoTime::max() : timers_.begin()->first;
  return std::min({queue_.NextDue(), bindings_.NextDue(), timer, drain_by_, next_fence_check_});
}

bool Scheduler::RunTimers(MonoTime now) {
  bool any = false;
  while (!timers_.empty() && timers_.begin()->first <= now) {
    auto due = timers_.extract(timers_.begin());
    due.mapped()();
    any = true;
  }
  return any;
}

bool Scheduler::RunOnce() {
  mailbox_->Take(batch_);
  bool arrived = !batch_.empty();
  for (Message& message : batch_) {
    std::visit([this](auto& content) { Handle(content); }, message);
  }
  const MonoTime now = parts_.clock.Now();
  if (now >= queue_.NextDue()) queue_.Tick();
  arrived |= RunTimers(now);
  if (now >= bindings_.NextDue()) {
    bindings_.Tick();
    arrived = true;
  }
  if (draining_) ContinueDrain();
  // A decision before the initial lists are complete would use an incomplete cluster.
  if (!synced()) return arrived;
  const QueuedPodPtr pod = MayDecide() ? queue_.Pop() : nullptr;
  if (pod == nullptr) {
    UpdateGauges();
    return arrived;
  }
  ScheduleOne(pod);
  return true;
}

// --- one attempt ---

void Scheduler::ScheduleOne(const QueuedPodPtr& pod) {
  BERTH_CHECK(leading_ && !draining_ && !deciding_, pod->info.key, leading_, draining_, deciding_);
  if (Skip(*pod)) {
    queue_.Done(pod->info.pod->metadata.uid);
    return;
  }
  if (const auto log = log::V(3))
    log.Info("Attempting to schedule pod", {{"pod", log::Value::Object(pod->info.key)}});
  BeginTrace(*pod);
  const runtime::MetricsRecorder::Traced traced(parts_.profiles[pod->profile]->metrics_recorder(),
                                                pod->trace);
  algorithm::ScheduleResult decision = Schedule(*pod);
  metrics_->algorithm.Observe(
      std::chrono::duration<double>(parts_.clock.Now() - pod->attempt_started).count());
  if (decision.abandoned) {
    Failure abandoned;
    abandoned.message = "the wait for an extender was cancelled";
    abandoned.quiet = true;
    return AttemptFailed(pod, std::move(abandoned));
  }
  records_.Add(decision.record);
  metrics_->Recorded(records_);
  if (decision.record->result == record::Result::kScheduled) return Place(pod, std::move(decision));
  AttemptFailed(pod, {.rejected = decision.record->result == record::Result::kUnschedulable,
                      .message = decision.record->message,
                      .rejectors = std::move(decision.rejectors),
                      .pending = std::move(decision.pending),
                      .nominate = std::move(decision.nominate),
                      .quiet = false});
}

void Scheduler::BeginTrace(framework::QueuedPod& pod) {
  pod.trace = nullptr;
  if (parts_.tracer != nullptr && parts_.tracer->ShouldTrace()) {
    pod.trace = std::make_shared<tracing::AttemptTrace>();
    pod.trace->pod = pod.info.key;
    pod.trace->uid = pod.info.pod->metadata.uid;
    pod.trace->profile = parts_.profiles[pod.profile]->name();
    pod.trace->attempt = pod.attempts;
    pod.trace->begin = pod.attempt_started;
  }
}

void Scheduler::EndTrace(framework::QueuedPod& pod, std::string_view result, std::string_view node,
                         std::string_view message) {
  if (pod.trace == nullptr) return;
  const auto trace = std::exchange(pod.trace, nullptr);
  trace->end = parts_.clock.Now();
  trace->result = result;
  trace->node = node;
  trace->message = message;
  parts_.tracer->Finished(std::move(*trace));
}

// Skips pods that were deleted or assumed in the meantime.
bool Scheduler::Skip(const QueuedPod& pod) {
  const api::Pod& object = *pod.info.pod;
  if (object.metadata.deleting()) {
    parts_.events.Emit({ports::Event::Type::kWarning, "FailedScheduling", "Scheduling",
                        "skip schedule deleting pod: " + pod.info.key, object.spec.scheduler_name,
                        pod.info.pod});
    return true;
  }
  return parts_.cache.Contains(object.metadata.uid);
}

algorithm::ScheduleResult Scheduler::Schedule(const QueuedPod& pod) {
  deciding_ = true;
  algorithm::ScheduleResult decision =
      algorithm_.Schedule(pod.info, *parts_.profiles[pod.profile], view_.Of(parts_.cache), Nominations());
  deciding_ = false;
  if (!deferred_activations_.empty()) queue_.Activate(std::exchange(deferred_activations_, {}));
  return decision;
}

// The decision's inputs, including the queue's nominations, must not change while it runs.
void Scheduler::Activate(std::span<const std::string> pods) {
  if (!deciding_) return queue_.Activate(pods);
  deferred_activations_.insert(deferred_activations_.end(), pods.begin(), pods.end());
}

std::span<const runtime::Nomination> Scheduler::Nominations() {
  nominations_.clear();
  for (const auto& [uid, nomination] : queue_.nominator().all())
    nominations_.push_back({parts_.cache.nodes().Find(nomination.node), &nomination.pod->info});
  return nominations_;
}

void Scheduler::Place(const QueuedPodPtr& pod, algorithm::ScheduleResult decision) {
  if (log::V(2)) {
    pod->evaluated_nodes = static_cast<std::uint32_t>(EvaluatedNodes(*decision.record));
    pod->feasible_nodes = static_cast<std::uint32_t>(decision.record->feasible.Count());
  }
  BERTH_CHECK(decision.record->feasible.get().Has(decision.row), pod->info.key, decision.row);
  // Skip has excluded pods that the cluster state contains, and no change is applied during a decision.
  const bool assumed = parts_.cache.Assume(pod->info, decision.row);
  BERTH_CHECK(assumed, pod->info.key, pod->info.pod->metadata.uid);
  queue_.nominator().Delete(pod->info.pod->metadata.uid);
  bindings_.Start(pod, *parts_.profiles[pod->profile], parts_.cache.nodes().name(decision.row),
                  std::move(decision.state));
}

// --- SchedulerServices ---

std::vector<api::PodPtr> Scheduler::NominatedPods(std::string_view node) const {
  std::vector<api::PodPtr> pods;
  const cluster::NodeNameId name = parts_.handle.symbols.node_names.Find(node);
  for (const auto& [uid, nomination] : queue_.nominator().all()) {
    if (name.known() && nomination.node == name) pods.push_back(nomination.pod->info.pod);
  }
  return pods;
}

std::vector<api::PodPtr> Scheduler::Pods() const {
  std::vector<api::PodPtr> pods;
  parts_.cache.AppendBoundPods(pods);
  for (const auto& [key, pod] : waiting_) pods.push_back(pod);
  return pods;
}

api::PodPtr Scheduler::FindPod(const api::ObjectMeta& pod) const {
  // For an assumed pod, the cache holds the version at the time of assumption.
  const auto waiting = waiting_.find(pod.Key());
  if (waiting != waiting_.end() && waiting->second->metadata.uid == pod.uid) return waiting->second;
  return parts_.cache.IsAssumed(pod.uid) ? nullptr : parts_.cache.FindPod(pod.uid);
}

// --- BindingHost ---

void Scheduler::ShowNomination(const QueuedPodPtr& pod, const std::string& node) {
  ports::PodStatusPatch patch;
  patch.nomination = node;
  WriteStatus(pod->info, std::move(patch));
}

void Scheduler::OnPermitDone(const QueuedPodPtr& pod) { queue_.Done(pod->info.pod->metadata.uid); }

void Scheduler::Bound(const QueuedPodPtr& pod, const std::string& node) {
  const MonoTime now = parts_.clock.Now();
  parts_.events.Emit({ports::Event::Type::kNormal, "Scheduled", "Binding",
                      fmt::format("Successfully assigned {} to {}", pod->info.key, node),
                      pod->info.pod->spec.scheduler_name, pod->info.pod});
  if (const auto log = log::V(2))
    log.Info("Successfully bound pod to node", {{"pod", log::Value::Object(pod->info.key)},
                                                {"node", node},
                                                {"evaluatedNodes", pod->evaluated_nodes},
                                                {"feasibleNodes", pod->feasible_nodes}});
  metrics_->Attempt(pod->profile, Metrics::kScheduled, now - pod->attempt_started);
  metrics_->Bound(*pod, now);
}

void Scheduler::Placed(const QueuedPodPtr& pod, const std::string& node) {
  EndTrace(*pod, "scheduled", node, "");
}

void Scheduler::Failed(const QueuedPodPtr& pod, const std::string& node, framework::Status status,
                       bool while_binding) {
  const std::string& uid = pod->info.pod->metadata.uid;
  log::Error("Failed to place pod",
             {{"pod", log::Value::Object(pod->info.key)}, {"node", node}, {"err", status.Message()}});
  parts_.cache.Forget(uid);
  const bool rejected = status.rejected();
  // A rejection by Reserve or Permit is reported like a rejection by a filter in a cluster of one node. A
  // rejection by PreBind or Bind is reported unchanged, and no event requeues the pod.
  Failure failure;
  failure.rejected = rejected;
  failure.message = status.Message();
  failure.nominate = "";
  if (rejected && (!while_binding || queue_.IsInFlight(uid))) {
    std::ranges::sort(status.reasons);
    failure.message = fmt::format("0/1 nodes are available: 1 {}.", fmt::join(status.reasons, ", 1 "));
    failure.rejectors = {std::string(status.plugin)};
    if (status.code == framework::Code::kPending) failure.pending = {std::string(status.plugin)};
  }
  if (!while_binding) return AttemptFailed(pod, std::move(failure));
  // To other pods this looks like a pod that left its node: its resources are free, and so is whatever
  // Unreserve released.
  auto assumed = std::make_shared<api::Pod>(*pod->info.pod);
  assumed->spec.node_name = node;
  const framework::EventObjects objects{std::move(assumed), nullptr};
  if (!rejected) {
    queue_.MoveAll(kAssignedPodDeleted, objects);
    AttemptFailed(pod, std::move(failure));
  } else {
    AttemptFailed(pod, std::move(failure));
    queue_.MoveAll(kAssignedPodDeleted, objects,
                   [&](const QueuedPod& other) { return other.info.pod->metadata.uid != uid; });
  }
}

void Scheduler::AttemptFailed(const QueuedPodPtr& attempted, Failure failure) {
  if (!failure.quiet)
    metrics_->Attempt(attempted->profile, failure.rejected ? Metrics::kUnschedulable : Metrics::kError,
                      parts_.clock.Now() - attempted->attempt_started);
  if (const auto log = log::V(2)) {
    log.Info(failure.rejected ? "Unable to schedule pod; no fit; waiting" : "Error scheduling pod; retrying",
             {{"pod", log::Value::Object(attempted->info.key)}, {"err", failure.message}});
  }
  EndTrace(*attempted, failure.rejected ? "unschedulable" : "error", "", failure.message);
  const std::string& uid = attempted->info.pod->metadata.uid;
  const auto latest = waiting_.find(attempted->info.key);
  if (latest == waiting_.end() || latest->second->metadata.uid != uid) {
    queue_.Done(uid);  // deleted, bound by another scheduler, or recreated with the same name
    return;
  }
  const QueuedPodPtr pod = WithLatestObject(attempted, latest->second);
  pod->rejectors = std::move(failure.rejectors);
  pod->pending = std::move(failure.pending);
  pod->gated_by.clear();
  queue_.Requeue(pod);
  // Set before the API server confirms it, because scheduling continues meanwhile.
  std::optional<cluster::NodeNameId> nominated;
  if (failure.nominate) {
    nominated = failure.nominate->empty() ? cluster::NodeNameId{}
                                          : parts_.handle.symbols.node_names.Intern(*failure.nominate);
  }
  queue_.nominator().Set(pod, nominated);
  if (failure.quiet || Leaving()) return;
  parts_.events.Emit({ports::Event::Type::kWarning, "FailedScheduling", "Scheduling", failure.message,
                      pod->info.pod->spec.scheduler_name, pod->info.pod});
  ports::PodStatusPatch patch;
  patch.reason = failure.rejected ? "Unschedulable" : "SchedulerError";
  patch.message = std::move(failure.message);
  patch.observed_generation = pod->info.pod->metadata.generation;
  patch.nomination = std::move(failure.nominate);
  WriteStatus(pod->info, std::move(patch));
}

// The pod with its latest object. The attempt's own copy is not modified, because asynchronous calls may
// still refer to it.
QueuedPodPtr Scheduler::WithLatestObject(const QueuedPodPtr& pod, const api::PodPtr& object) {
  if (object == pod->info.pod) return pod;
  auto newest = std::make_shared<QueuedPod>(*pod);
  newest->info = cluster::PreparePod(object, parts_.handle.symbols);
  return newest;
}

void Scheduler::WriteStatus(const cluster::PodInfo& pod, ports::PodStatusPatch patch) {
  patch.ns = pod.pod->metadata.ns;
  patch.name = pod.pod->metadata.name;
  patch.current = pod.pod;
  parts_.handle.api.PatchPodStatus(std::move(patch), [key = pod.key](Expected<void> written) {
    if (!written && written.error().code != ErrorCode::kCancelled &&
        written.error().code != ErrorCode::kNotFound) {
      log::Error("Failed to patch pod status",
                 {{"pod", log::Value::Object(key)}, {"err", written.error().message}});
    }
  });
}

bool Scheduler::IsAnyRegistered(const framework::ClusterEvent& event) const {
  return std::ranges::any_of(parts_.profiles,
                             [&](const auto& profile) { return profile->IsRegistered(event); });
}

}  // namespace berth::cycle
