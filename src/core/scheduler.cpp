#include "core/scheduler.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/scheduler_meters.hpp"
#include "log/log.hpp"

namespace berth::core {

using framework::QueuedPod;
using framework::QueuedPodPtr;

Scheduler::Scheduler(SchedulerOptions options, SchedulerParts parts)
    : options_(options),
      parts_(parts),
      meters_(std::make_unique<Meters>(parts.metrics, parts.profiles)),
      queue_(options.queue, parts.clock, *this, parts.metrics),
      decider_(options.decider, parts.reasons),
      records_(options.record_bytes) {}

Scheduler::~Scheduler() = default;

void Scheduler::Stop() {
  stopping_.store(true, std::memory_order_relaxed);
  inbox_.Post(Wake{});
}

void Scheduler::Run() {
  while (!stopping_.load(std::memory_order_relaxed)) {
    if (!Turn()) inbox_.WaitUntil(queue_.NextDue());
  }
}

bool Scheduler::Turn() {
  inbox_.Take(taken_);
  const bool arrived = !taken_.empty();
  for (Message& message : taken_) {
    std::visit([this](auto& content) { Handle(content); }, message);
  }
  if (parts_.clock.Now() >= queue_.NextDue()) queue_.Tick();
  // Before everything that exists has been seen, a decision would be made for a cluster that is not there.
  if (!synced()) return arrived;
  const QueuedPodPtr pod = queue_.Pop();
  if (pod == nullptr) {
    meters_->cached_nodes.Set(static_cast<std::int64_t>(parts_.cache.nodes().node_count()));
    meters_->cached_pods.Set(static_cast<std::int64_t>(parts_.cache.pod_count()));
    meters_->assumed_pods.Set(static_cast<std::int64_t>(parts_.cache.assumed_count()));
    return arrived;
  }
  ScheduleOne(pod);
  return true;
}

// --- what happens to the cluster
// --------------------------------------------------------------------------------

void Scheduler::Handle(Synced&) {
  synced_.store(true, std::memory_order_relaxed);
  log::Info("Caches are synced", {{"nodes", parts_.cache.nodes().node_count()},
                                  {"pods", parts_.cache.pod_count()},
                                  {"pending", queue_.sizes().active}});
}

void Scheduler::Handle(framework::Change<api::Node>& change) {
  if (change.after == nullptr) {
    queue_.MoveAll(kNodeDeleted);
    parts_.cache.RemoveNode(change.before->metadata.name);
    return;
  }
  if (change.before == nullptr) {
    parts_.cache.AddNode(change.after);
    queue_.MoveAll(kNodeAdded);
    return;
  }
  parts_.cache.UpdateNode(change.after);
  for (const framework::ClusterEvent& event : NodeEvents(*change.before, *change.after))
    queue_.MoveAll(event);
}

void Scheduler::Handle(framework::Change<api::Pod>& change) {
  const api::PodPtr& before = change.before;
  const api::PodPtr& after = change.after;
  if (after == nullptr || after->terminal()) {
    PodGone(after == nullptr ? *before : *after);
    return;
  }
  if (before != nullptr && before->metadata.uid != after->metadata.uid) {
    PodGone(*before);
    change.before = nullptr;
  }
  if (after->spec.node_name.empty()) {
    PodWaiting(change.before, after);
  } else {
    PodAssigned(change.before, *after);
  }
}

// The object of a delete may be old (it may lack the node), so it is looked for everywhere.
void Scheduler::PodGone(const api::Pod& pod) {
  waiting_.erase(pod.metadata.uid);
  queue_.Delete(pod.metadata.uid);
  if (parts_.cache.RemovePod(pod.metadata.uid)) queue_.MoveAll(kAssignedPodDeleted);
}

void Scheduler::PodWaiting(const api::PodPtr& before, const api::PodPtr& pod) {
  const auto profile = ProfileOf(*pod);
  if (!profile) return;
  waiting_[pod->metadata.uid] = pod;
  if (before == nullptr) {
    queue_.Add(framework::PreparePod(pod, parts_.vocabulary), *profile);
    return;
  }
  queue_.Update(framework::PreparePod(pod, parts_.vocabulary), *profile,
                PodEvents(*before, *pod, framework::EventResource::kTargetPod));
}

void Scheduler::PodAssigned(const api::PodPtr& before, const api::Pod& pod) {
  const bool was_assigned = before != nullptr && !before->spec.node_name.empty();
  parts_.cache.AddPod(pod);
  if (was_assigned) {
    for (const framework::ClusterEvent& event :
         PodEvents(*before, pod, framework::EventResource::kAssignedPod))
      queue_.MoveAll(event);
    return;
  }
  // By our own binding, or somebody else's: either way nobody needs to place it any more.
  waiting_.erase(pod.metadata.uid);
  queue_.Delete(pod.metadata.uid);
  queue_.MoveAll(kAssignedPodAdded);
}

// --- one attempt
// -------------------------------------------------------------------------------------------------

void Scheduler::ScheduleOne(const QueuedPodPtr& pod) {
  const api::Pod& object = *pod->info.pod;
  if (object.metadata.deleting()) {
    parts_.events.Emit({framework::Event::Type::kWarning, "FailedScheduling", "Scheduling",
                        "skip schedule deleting pod: " + pod->info.key, object.spec.scheduler_name,
                        pod->info.pod});
    queue_.Done(pod);
    return;
  }
  if (parts_.cache.Knows(object.metadata.uid)) {
    queue_.Done(pod);
    return;
  }
  if (log::V(3)) log::Info("Attempting to schedule pod", {{"pod", pod->info.key}});
  const MonoTime started = parts_.clock.Now();
  Decision decision = Decide(*pod);
  const Duration took = parts_.clock.Now() - started;
  meters_->algorithm.Observe(std::chrono::duration<double>(took).count());
  records_.Add(decision.record);
  if (decision.record->result == record::Result::kScheduled) {
    StartBinding(pod, decision.row);
    return;
  }
  pod->rejectors = std::move(decision.rejectors);
  AttemptFailed(pod, decision.record->result == record::Result::kUnschedulable, decision.record->message,
                took);
}

Decision Scheduler::Decide(const QueuedPod& pod) {
  if (names_generation_ != parts_.cache.node_generation()) {
    names_generation_ = parts_.cache.node_generation();
    names_ = NamesOf(parts_.cache.nodes());
  }
  return decider_.Decide(pod.info, *parts_.profiles[pod.profile],
                         {parts_.cache.nodes(), parts_.cache.VisitingOrder(), names_}, Nominations());
}

std::span<const runtime::Nomination> Scheduler::Nominations() {
  nominations_.clear();
  for (const QueuedPodPtr& pod : queue_.nominated()) {
    // One that is assumed counts as a pod already.
    if (parts_.cache.Knows(pod->info.pod->metadata.uid)) continue;
    nominations_.push_back({parts_.cache.nodes().Find(pod->info.nominated), &pod->info});
  }
  return nominations_;
}

void Scheduler::StartBinding(const QueuedPodPtr& pod, framework::Row row) {
  parts_.cache.Assume(pod->info, row);
  const std::string& node = parts_.cache.nodes().name(row);
  parts_.profiles[pod->profile]->RunBind(pod->info, node, [this, pod, node](framework::Status status) {
    inbox_.Post(BindingEnded{pod, node, std::move(status)});
  });
}

void Scheduler::Handle(BindingEnded& ended) {
  const QueuedPodPtr& pod = ended.pod;
  const MonoTime now = parts_.clock.Now();
  if (ended.status.ok()) {
    parts_.events.Emit({framework::Event::Type::kNormal, "Scheduled", "Binding",
                        fmt::format("Successfully assigned {} to {}", pod->info.key, ended.node),
                        pod->info.pod->spec.scheduler_name, pod->info.pod});
    meters_->Attempt(pod->profile, Meters::kScheduled, now - pod->attempt_started);
    meters_->Bound(*pod, now);
    queue_.Done(pod);
    return;
  }
  log::Error("Failed to bind pod",
             {{"pod", pod->info.key}, {"node", ended.node}, {"err", ended.status.Message()}});
  if (parts_.cache.Forget(pod->info.pod->metadata.uid)) queue_.MoveAll(kAssignedPodDeleted);
  pod->rejectors.clear();
  AttemptFailed(pod, /*rejected=*/false, ended.status.Message(), now - pod->attempt_started);
}

void Scheduler::AttemptFailed(const QueuedPodPtr& pod, bool rejected, const std::string& message,
                              Duration took) {
  meters_->Attempt(pod->profile, rejected ? Meters::kUnschedulable : Meters::kError, took);
  if (log::V(2)) log::Info("Unable to schedule pod", {{"pod", pod->info.key}, {"message", message}});
  const auto latest = waiting_.find(pod->info.pod->metadata.uid);
  if (latest == waiting_.end()) {  // deleted, bound by somebody else, or created again under its name
    queue_.Done(pod);
    return;
  }
  if (latest->second != pod->info.pod) pod->info = framework::PreparePod(latest->second, parts_.vocabulary);
  queue_.Requeue(pod);
  const api::Pod& object = *pod->info.pod;
  parts_.events.Emit({framework::Event::Type::kWarning, "FailedScheduling", "Scheduling", message,
                      object.spec.scheduler_name, pod->info.pod});
  framework::PodStatusPatch patch{.ns = object.metadata.ns,
                                  .name = object.metadata.name,
                                  .reason = rejected ? "Unschedulable" : "SchedulerError",
                                  .message = message,
                                  .observed_generation = object.metadata.generation,
                                  .current = pod->info.pod,
                                  .clear_nomination = true};
  parts_.api.PatchPodStatus(std::move(patch), [key = pod->info.key](Expected<void> written) {
    if (!written && written.error().code != ErrorCode::kCancelled &&
        written.error().code != ErrorCode::kNotFound) {
      log::Error("Failed to patch pod status", {{"pod", key}, {"err", written.error().message}});
    }
  });
}

std::optional<std::uint32_t> Scheduler::ProfileOf(const api::Pod& pod) const {
  for (std::uint32_t i = 0; i < parts_.profiles.size(); ++i) {
    if (parts_.profiles[i]->name() == pod.spec.scheduler_name) return i;
  }
  return std::nullopt;
}

}  // namespace berth::core
