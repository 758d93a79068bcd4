#include "scheduler/queue/scheduling_queue.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.hpp"
#include "scheduler/framework/event_cache.hpp"
#include "scheduler/queue/event_labels.hpp"
#include "scheduler/queue/object_size.hpp"
#include "scheduler/queue/queue_metrics.hpp"

namespace berth::queue {
namespace {

using framework::ClusterEvent;
using framework::EventObjects;
using framework::QueuedEntity;
using framework::QueuedPod;
using framework::QueuedPodPtr;

constexpr Duration kBackoffFlushPeriod = std::chrono::seconds(1);
constexpr Duration kUnschedulableFlushPeriod = std::chrono::seconds(30);
// Stands for events that are not stored.
constexpr ClusterEvent kEventsExceedMemory{framework::EventResource::kAny, framework::kAllActions,
                                           kTooManyEvents};

// The strongest result of an event for the pod.
framework::Requeue StrongestOf(const QueuedPod& pod) {
  return pod.pending.empty() ? framework::Requeue::kAfterBackoff : framework::Requeue::kImmediately;
}

// Back-offs end on whole seconds, so that pods released in the same second are ordered by rank.
MonoTime WholeSecond(MonoTime time) {
  return MonoTime(std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()));
}

}  // namespace

SchedulingQueue::SchedulingQueue(QueueOptions options, const Clock& clock, const QueuePolicy& policy,
                                 const cluster::PodGroups& groups, metrics::Registry& metrics)
    : options_(options),
      clock_(clock),
      policy_(policy),
      group_objects_(groups),
      metrics_(std::make_unique<Metrics>(metrics)),
      active_(HigherRank{&policy}, clock, policy.tenant_order()),
      backoff_(EarlierExpiry{&policy}),
      error_backoff_(EarlierExpiry{&policy}),
      incomplete_(Place::kIncomplete, metrics_->Pending("incomplete")),
      requeued_(Place::kRequeued, metrics_->Pending("pending")),
      evaluations_left_(options.evaluations_per_step),
      next_backoff_flush_(WholeSecond(clock.Now()) + kBackoffFlushPeriod),
      next_unschedulable_flush_(clock.Now() + kUnschedulableFlushPeriod) {}

SchedulingQueue::~SchedulingQueue() = default;

// --- changes of a waiting pod ---

void SchedulingQueue::Add(cluster::PodInfo info, std::uint32_t profile) {
  if (Find(info.pod->metadata.uid) != nullptr) return Update(std::move(info), profile, {}, {});
  auto pod = std::make_shared<QueuedPod>();
  pod->info = std::move(info);
  pod->profile = profile;
  pod->timestamp = clock_.Now();
  // A gated pod keeps its nomination too.
  nominator_.Set(pod);
  Entry& entry = Insert(std::move(pod));
  entry.group_key.empty() ? ToActive(entry, kPodAdded) : AddMember(entry);
}

void SchedulingQueue::Update(cluster::PodInfo info, std::uint32_t profile,
                             std::span<const ClusterEvent> events, const EventObjects& objects) {
  const std::string& uid = info.pod->metadata.uid;
  if (in_flight_.Has(uid)) {
    // Members are requeued without a test of events; kube-scheduler records none while the group is unknown.
    const auto group = group_objects_.KeyOf(*info.pod);
    if (group && !group_objects_.RootOf(*group)) return;
    for (const ClusterEvent& event : events) Note(event, objects, StoredBytes(SizeOfObjects(event, objects)));
    return;
  }
  Entry* entry = Find(uid);
  if (entry == nullptr) return Add(std::move(info), profile);
  // The update may change the rank, so the pod or its group leaves the sorted set and enters it again.
  Entry& ranked = entry->group != nullptr ? *entry->group : *entry;
  const Place place = ranked.place;
  const bool in_queue = place != Place::kIncomplete && place != Place::kRequeued;
  if (in_queue) Leave(ranked);
  const cluster::NodeNameId had = entry->pod->info.nominated;
  entry->pod->info = std::move(info);
  entry->pod->priority = entry->pod->info.priority();
  entry->pod->profile = profile;
  entry->extra_work.reset();
  if (in_queue) Enter(ranked, place);
  nominator_.Update(had, entry->pod);
  if (place != Place::kUnschedulable) return;
  for (const ClusterEvent& event : events) {
    const framework::Requeue strategy = Evaluate(ranked, event, objects);
    if (strategy != framework::Requeue::kSkip) Follow(ranked, strategy, event.label);
    if (ranked.place != Place::kUnschedulable) return;
  }
}

void SchedulingQueue::Delete(const api::Pod& pod) {
  nominator_.Delete(pod.metadata.uid);
  Entry* entry = Find(pod.metadata.uid);
  if (entry == nullptr) return ReenterGroupOf(pod);
  CountRejectors(*entry->pod, -1);
  if (!entry->group_key.empty()) RemoveMember(*entry);
  Remove(*entry);
}

// --- attempts ---

Popped SchedulingQueue::Pop() {
  return PopBy([&] { return active_.First(); },
               [&] { return backoff_.empty() ? nullptr : *backoff_.begin(); });
}

Popped SchedulingQueue::Pop(const Eligible& eligible) {
  const auto is_eligible = [&](const Entry& entry) { return eligible(entry.state->leading_pod()); };
  return PopBy([&] { return active_.First(is_eligible); },
               [&]() -> Entry* {
                 const auto found =
                     std::ranges::find_if(backoff_, [&](const Entry* entry) { return is_eligible(*entry); });
                 return found == backoff_.end() ? nullptr : *found;
               });
}

template <class FirstActive, class FirstBackoff>
Popped SchedulingQueue::PopBy(FirstActive&& first_active, FirstBackoff&& first_backoff) {
  BERTH_CHECK(group_in_progress_.empty(), group_in_progress_);
  for (;;) {
    Entry* entry = first_active();
    if (entry == nullptr) {
      entry = first_backoff();
      if (entry == nullptr) return {};
      metrics_->Incoming(QueueName::kActive, kPopFromBackoff, entry->is_group(), SizeOf(*entry), true);
    }
    active_.OnAttempt(*entry);
    if (Popped popped = entry->is_group() ? BeginGroup(*entry->group) : BeginPod(*entry)) return popped;
  }
}

Popped SchedulingQueue::BeginPod(Entry& entry) {
  QueuedPodPtr pod = entry.pod;
  Remove(entry);
  if (!Begin(pod)) return {};
  return {std::move(pod), nullptr};
}

// Returns false if an attempt for the pod is in progress: there is at most one.
bool SchedulingQueue::Begin(const QueuedPodPtr& pod) {
  ++pod->attempts;
  if (!in_flight_.Begin(pod)) return false;
  metrics_->InFlightEvent("PodPopped", 1);
  CountRejectors(*pod, -1);
  pod->attempt_started = clock_.Now();
  return true;
}

void SchedulingQueue::Done(const std::string& uid) {
  if (!in_flight_.Has(uid)) return;
  in_flight_.End(uid, [&](const char* event) { metrics_->InFlightEvent(event, -1); });
  metrics_->InFlightEvent("PodPopped", -1);
}

void SchedulingQueue::Requeue(const QueuedPodPtr& pod) {
  const std::string& uid = pod->info.pod->metadata.uid;
  if (Find(uid) != nullptr) return Done(uid);
  if (pod->rejectors.empty()) {
    ++pod->consecutive_errors;
  } else {
    ++pod->unschedulable_count;
    pod->consecutive_errors = 0;
  }
  pod->timestamp = clock_.Now();
  pod->was_flushed = false;
  pod->flushed = {};
  CountRejectors(*pod, 1);
  if (Entry& entry = Insert(pod); !entry.group_key.empty()) {
    Done(uid);
    AddMember(entry);
  } else {
    Follow(entry, EvaluateInFlight(*pod), kAttemptFailed);
    Done(uid);
  }
}

framework::Requeue SchedulingQueue::EvaluateInFlight(const QueuedPod& pod) const {
  // After Done no events are recorded for the attempt.
  if (pod.rejectors.empty() || !in_flight_.Has(pod.info.pod->metadata.uid))
    return framework::Requeue::kAfterBackoff;
  framework::Requeue strongest = framework::Requeue::kSkip;
  const framework::Requeue enough = StrongestOf(pod);
  in_flight_.ForEachSince(pod.info.pod->metadata.uid,
                          [&](const ClusterEvent& event, const EventObjects& objects) {
                            strongest = std::max(strongest, EvaluatePod(pod, event, objects));
                            return strongest < enough;
                          });
  return strongest;
}

// --- events ---

void SchedulingQueue::MoveAll(const ClusterEvent& event, const EventObjects& objects,
                              const Concerned& concerned) {
  if (unschedulable_.empty() && in_flight_.empty()) return;
  if (!event.wildcard() && !policy_.IsAnyRegistered(event)) return;
  const ObjectSize size = SizeOfObjects(event, objects);
  const std::size_t bytes = StoredBytes(size);
  const EventObjects shared = framework::WithCache(objects);
  if (unschedulable_.empty()) return Note(event, shared, bytes);
  const DeferredEvent one{event, shared, concerned, 1 + ExtraEvaluations(size), bytes};
  // Without limits by `concerned` and by gates.
  const std::size_t most =
      sizes_[static_cast<std::size_t>(QueueName::kUnschedulable)] * one.evaluations_per_pod +
      sizes_[static_cast<std::size_t>(QueueName::kGated)] + extra_work_;
  if (with_deferred_ > 0 || (!concerned && most > evaluations_left_)) return Defer(one);
  std::vector<Entry*> entries;
  std::size_t evaluations = 0;
  for (Entry* entry : unschedulable_) {
    if (!CanRelease(*entry, event) || (concerned && !Concerns(*entry, concerned))) continue;
    entries.push_back(entry);
    evaluations += EvaluationsOf(*entry, one.evaluations_per_pod);
  }
  if (evaluations > evaluations_left_) return Defer(one);
  Spend(evaluations);
  Move(entries, event, shared, bytes);
}

bool SchedulingQueue::CanRelease(const Entry& entry, const ClusterEvent& event) const {
  if (!entry.state->gated() || event.wildcard()) return true;
  const std::uint32_t profile = entry.is_group() ? entry.group->gating_profile : entry.pod->profile;
  return policy_.IsRegisteredBy(profile, entry.state->gated_by, event);
}

bool SchedulingQueue::Concerns(Entry& entry, const Concerned& concerned) {
  bool any = false;
  ForEachPod(entry, [&](Entry& pod) { any = any || concerned(*pod.pod); });
  return any;
}

void SchedulingQueue::Move(const std::vector<Entry*>& entries, const ClusterEvent& event,
                           const EventObjects& objects, std::size_t bytes) {
  for (Entry* entry : entries) Move(*entry, event, objects);
  Note(event, objects, bytes);
}

bool SchedulingQueue::Move(Entry& entry, const ClusterEvent& event, const EventObjects& objects) {
  if (!CanRelease(entry, event)) return false;
  const framework::Requeue strategy = Evaluate(entry, event, objects);
  if (strategy == framework::Requeue::kSkip) return false;
  Leave(entry);
  Follow(entry, strategy, event.label);
  return true;
}

// --- deferred events ---

void SchedulingQueue::Defer(DeferredEvent event) {
  Note(event.event, event.objects, event.bytes);
  if (with_deferred_ == 0) ClearDeferred();
  if (deferred_.size() == options_.max_deferred_events ||
      deferred_bytes_ + event.bytes > options_.max_event_bytes)
    return RetryDeferred();
  deferred_bytes_ += event.bytes;
  deferred_.push_back(std::move(event));
  with_deferred_ = unschedulable_.size();
}

// More events than fit. A retry considers whatever has changed. Pods that waited for other events are
// retried, too, which costs an attempt; no pod misses an event.
void SchedulingQueue::RetryDeferred() {
  const std::vector<Entry*> entries = unschedulable_;
  for (Entry* entry : entries) {
    Leave(*entry);
    Follow(*entry, framework::Requeue::kAfterBackoff, kTooManyEvents);
  }
  BERTH_CHECK(with_deferred_ == 0, with_deferred_, unschedulable_.size());
  ClearDeferred();
}

void SchedulingQueue::EvaluateFrom(Entry& entry, std::uint64_t next_event) {
  with_deferred_ -= HasDeferred(entry) ? 1 : 0;
  entry.next_event = next_event;
  with_deferred_ += HasDeferred(entry) ? 1 : 0;
}

void SchedulingQueue::ClearDeferred() {
  first_deferred_ = deferred_end();
  deferred_.clear();
  deferred_bytes_ = 0;
}

bool SchedulingQueue::EvaluateDeferred() {
  evaluations_left_ = options_.evaluations_per_step;
  while (with_deferred_ > 0 && evaluations_left_ > 0) {
    if (next_slot_ >= unschedulable_.size()) next_slot_ = 0;
    Entry& entry = *unschedulable_[next_slot_];
    if (!HasDeferred(entry)) {
      Spend(SizeOf(entry));  // the walk has a cost, too
      ++next_slot_;
      continue;
    }
    const DeferredEvent& next = deferred_[entry.next_event - first_deferred_];
    if (!CanRelease(entry, next.event) || (next.concerned && !Concerns(entry, next.concerned))) {
      Spend(SizeOf(entry));
    } else {
      Spend(EvaluationsOf(entry, next.evaluations_per_pod));
      if (Move(entry, next.event, next.objects)) continue;
    }
    if (++entry.next_event == deferred_end()) --with_deferred_;
  }
  if (with_deferred_ > 0) return true;
  ClearDeferred();
  return false;
}

void SchedulingQueue::Activate(std::span<const std::string> pods) {
  for (const std::string& key : pods) {
    if (const auto found = by_key_.find(std::string_view(key), ByKey{}, ByKey{}); found != by_key_.end()) {
      Entry& pod = **found;
      Activate(pod.group != nullptr ? *pod.group : pod);
    } else if (const api::PodPtr pod = in_flight_.FindByKey(key)) {
      ActivateInFlight(pod);
    }
  }
}

// Of a member, the other members that wait are activated.
void SchedulingQueue::ActivateInFlight(const api::PodPtr& pod) {
  if (const auto key = group_objects_.KeyOf(*pod)) {
    const auto root = group_objects_.RootOf(*key);
    if (!root) return;
    if (const auto group = groups_.find(*root); group != groups_.end() && Activate(group->second)) return;
  }
  // The attempt keeps the pod anyway.
  Note(framework::kForceActivate, {nullptr, pod}, StoredBytes({}));
}

// Returns whether the entry has entered activeQ.
bool SchedulingQueue::Activate(Entry& entry) {
  switch (entry.place) {
    case Place::kBackoff:
    case Place::kErrorBackoff:  // passed PreEnqueue before it entered
      Leave(entry);
      Arrive(entry, Place::kActive, framework::kForceActivate.label);
      return true;
    case Place::kUnschedulable:
      ToActive(entry, framework::kForceActivate.label);
      return entry.place == Place::kActive;
    default:
      return false;
  }
}

void SchedulingQueue::Note(const ClusterEvent& event, const EventObjects& objects, std::size_t bytes) {
  if (in_flight_.empty()) return;
  in_flight_.Note(event, objects, bytes);
  metrics_->InFlightEvent(event.label, 1);
  if (in_flight_.bytes() <= options_.max_event_bytes) return;
  // As with deferred events, the pods of these attempts are retried.
  const std::size_t summaries = in_flight_.Summarize(
      kEventsExceedMemory, [&](const char* label) { metrics_->InFlightEvent(label, -1); });
  metrics_->InFlightEvent(kEventsExceedMemory.label, static_cast<std::int64_t>(summaries));
}

// The strongest result of the pods of the entry.
framework::Requeue SchedulingQueue::Evaluate(Entry& entry, const ClusterEvent& event,
                                             const EventObjects& objects) const {
  framework::Requeue strongest = framework::Requeue::kSkip;
  ForEachPod(entry, [&](Entry& pod) {
    if (strongest < StrongestOf(*pod.pod))
      strongest = std::max(strongest, EvaluatePod(*pod.pod, event, objects));
  });
  return strongest;
}

framework::Requeue SchedulingQueue::EvaluatePod(const QueuedPod& pod, const ClusterEvent& event,
                                                const EventObjects& objects) const {
  if (pod.rejectors.empty()) return framework::Requeue::kAfterBackoff;
  if (!event.wildcard()) return policy_.EvaluateHint(pod, event, objects);
  // A wildcard event with an object applies to that pod only.
  const auto* meant = objects.After<api::Pod>();
  return meant != nullptr && meant->metadata.uid != pod.info.pod->metadata.uid
             ? framework::Requeue::kSkip
             : framework::Requeue::kAfterBackoff;
}

// --- time ---

void SchedulingQueue::Tick() {
  const MonoTime now = clock_.Now();
  if (now >= next_backoff_flush_) {
    next_backoff_flush_ = WholeSecond(now) + kBackoffFlushPeriod;
    FlushBackoff();
  }
  if (now >= next_unschedulable_flush_) {
    next_unschedulable_flush_ = now + kUnschedulableFlushPeriod;
    FlushUnschedulable(now);
  }
}

void SchedulingQueue::FlushBackoff() {
  for (auto* queue : {&backoff_, &error_backoff_}) {
    while (!queue->empty() && !BackingOff(**queue->begin())) {
      Entry& entry = **queue->begin();
      Leave(entry);
      Arrive(entry, Place::kActive, kBackoffComplete);
    }
  }
}

void SchedulingQueue::FlushUnschedulable(MonoTime now) {
  std::vector<Entry*> stale;
  for (Entry* entry : unschedulable_) {
    QueuedEntity& state = *entry->state;
    if (now - std::max(state.timestamp, state.flushed) <= options_.max_in_unschedulable) continue;
    state.was_flushed = true;
    state.flushed = now;
    ForEachPod(*entry, [](Entry& pod) { pod.pod->was_flushed = true; });
    stale.push_back(entry);
  }
  if (!stale.empty()) Move(stale, framework::kUnschedulableTimeout, {}, StoredBytes({}));
}

// --- moves between places ---

void SchedulingQueue::Follow(Entry& entry, framework::Requeue strategy, const char* event) {
  if (strategy == framework::Requeue::kSkip) return Arrive(entry, Place::kUnschedulable, event, strategy);
  if (strategy == framework::Requeue::kAfterBackoff && BackingOff(entry))
    return ToBackoff(entry, event, strategy);
  ToActive(entry, event, strategy);
}

void SchedulingQueue::ToActive(Entry& entry, const char* event, Strategy strategy) {
  if (!PassesPreEnqueue(entry)) return Gate(entry, event, strategy);
  Leave(entry);
  Arrive(entry, Place::kActive, event, strategy);
}

// Pods may be taken from the back-off queue early, so they must pass PreEnqueue before they enter it.
void SchedulingQueue::ToBackoff(Entry& entry, const char* event, Strategy strategy) {
  if (!PassesPreEnqueue(entry)) return Gate(entry, event, strategy);
  Leave(entry);
  const bool error = entry.state->rejectors.empty() && entry.state->pending.empty();
  Arrive(entry, error ? Place::kErrorBackoff : Place::kBackoff, event, strategy);
}

void SchedulingQueue::Gate(Entry& entry, const char* event, Strategy strategy) {
  entry.state->was_flushed = false;
  ForEachPod(entry, [](Entry& pod) { pod.pod->was_flushed = false; });
  if (entry.place != Place::kUnschedulable) Arrive(entry, Place::kUnschedulable, event, strategy);
}

bool SchedulingQueue::PassesPreEnqueue(Entry& entry) {
  // The gauges distinguish gated from rejected pods.
  const Place place = entry.place;
  Leave(entry);
  ForEachPod(entry, [&](Entry& pod) { CallPreEnqueue(*pod.pod); });
  if (entry.is_group()) {
    entry.state->gated_by.clear();
    ForEachPod(entry, [&](Entry& pod) {
      if (!pod.pod->gated()) return;
      entry.state->gated_by = pod.pod->gated_by;
      entry.group->gating_profile = pod.pod->profile;
    });
  }
  Enter(entry, place);
  return !entry.state->gated();
}

void SchedulingQueue::CallPreEnqueue(QueuedPod& pod) {
  framework::Status status = policy_.PreEnqueue(pod);
  pod.gated_by = status.ok() ? "" : status.plugin;
  if (!pod.gated() || std::ranges::find(pod.rejectors, pod.gated_by) != pod.rejectors.end()) return;
  pod.rejectors.push_back(pod.gated_by);
  metrics_->Rejected(pod.gated_by, pod.info.pod->spec.scheduler_name, 1);
}

// 1, 2, 4, 8 and then 10 seconds with the default settings. Groups wait up to the square root of their size
// times longer.
MonoTime SchedulingQueue::ExpiryOf(const QueuedEntity& entity, std::size_t size) const {
  const std::int32_t count =
      entity.consecutive_errors > 0 ? entity.consecutive_errors : entity.unschedulable_count;
  if (count == 0 || options_.max_backoff == Duration::zero()) return {};
  Duration limit = options_.max_backoff;
  if (size > 1) {
    const double scaled = static_cast<double>(limit.count()) * std::sqrt(static_cast<double>(size));
    limit = Duration(static_cast<Duration::rep>(scaled));
  }
  Duration duration = options_.initial_backoff;
  for (std::int32_t i = 1; i < count && duration < limit; ++i) duration *= 2;
  return WholeSecond(entity.timestamp + std::min(duration, limit));
}

bool SchedulingQueue::BackingOff(const Entry& entry) const {
  const MonoTime expiry = entry.state->backoff_expiry;
  return expiry != MonoTime{} && expiry >= WholeSecond(clock_.Now());
}

void SchedulingQueue::CountRejectors(const QueuedPod& pod, std::int64_t by) {
  for (const std::string& plugin : pod.rejectors)
    metrics_->Rejected(plugin, pod.info.pod->spec.scheduler_name, by);
}

}  // namespace berth::queue
