#include "scheduler/queue/scheduling_queue.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "scheduler/queue/queue_metrics.hpp"

namespace berth::queue {
namespace {

using framework::ClusterEvent;
using framework::EventObjects;
using framework::QueuedPod;
using framework::QueuedPodPtr;

constexpr Duration kBackoffFlushPeriod = std::chrono::seconds(1);
constexpr Duration kUnschedulableFlushPeriod = std::chrono::seconds(30);

// Back-offs end on whole seconds, so that pods released in the same second are ordered by rank.
MonoTime WholeSecond(MonoTime time) {
  return MonoTime(std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()));
}

constexpr const char* kPodAdded = "UnscheduledPodAdd";
constexpr const char* kBackoffComplete = "BackoffComplete";
constexpr const char* kAttemptFailed = "ScheduleAttemptFailure";
constexpr const char* kTooManyEvents = "TooManyEvents";
constexpr const char* kPopFromBackoff = "PopFromBackoffQ";

}  // namespace

SchedulingQueue::SchedulingQueue(QueueOptions options, const Clock& clock, const QueuePolicy& policy,
                                 metrics::Registry& metrics)
    : options_(options),
      clock_(clock),
      policy_(policy),
      metrics_(std::make_unique<Metrics>(metrics)),
      active_(HigherRank{&policy}),
      backoff_(EarlierExpiry{&policy}),
      error_backoff_(EarlierExpiry{&policy}),
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
  ToActive(Insert(std::move(pod)), kPodAdded);
}

void SchedulingQueue::Update(cluster::PodInfo info, std::uint32_t profile,
                             std::span<const ClusterEvent> events, const EventObjects& objects) {
  const std::string& uid = info.pod->metadata.uid;
  if (in_flight_.Has(uid)) {
    for (const ClusterEvent& event : events) Note(event, objects);
    return;
  }
  Entry* entry = Find(uid);
  if (entry == nullptr) return Add(std::move(info), profile);
  // The update may change the pod's rank, so it leaves the sorted set and enters it again.
  const Place place = entry->place;
  Leave(*entry);
  const cluster::NodeNameId had = entry->pod->info.nominated;
  entry->pod->info = std::move(info);
  entry->pod->profile = profile;
  Enter(*entry, place);
  nominator_.Update(had, entry->pod);
  if (place != Place::kUnschedulable) return;
  for (const ClusterEvent& event : events) {
    const framework::Requeue strategy = Evaluate(*entry->pod, event, objects);
    if (strategy != framework::Requeue::kSkip) Follow(*entry, strategy, event.label);
    if (entry->place != Place::kUnschedulable) return;
  }
}

void SchedulingQueue::Delete(const std::string& uid) {
  nominator_.Delete(uid);
  Entry* entry = Find(uid);
  if (entry == nullptr) return;
  CountRejectors(*entry->pod, -1);
  Remove(*entry);
}

// --- attempts ---

QueuedPodPtr SchedulingQueue::Pop() {
  return PopBy([](const auto& entries) { return entries.empty() ? nullptr : *entries.begin(); });
}

QueuedPodPtr SchedulingQueue::Pop(const Eligible& eligible) {
  return PopBy([&](const auto& entries) -> Entry* {
    const auto found =
        std::ranges::find_if(entries, [&](const Entry* entry) { return eligible(*entry->pod); });
    return found == entries.end() ? nullptr : *found;
  });
}

template <class FirstOf>
QueuedPodPtr SchedulingQueue::PopBy(FirstOf&& first_of) {
  for (;;) {
    Entry* entry = first_of(active_);
    if (entry == nullptr) {
      entry = first_of(backoff_);
      if (entry == nullptr) return nullptr;
      metrics_->Incoming("active", kPopFromBackoff);
    }
    QueuedPodPtr pod = entry->pod;
    Remove(*entry);
    ++pod->attempts;
    if (!in_flight_.Begin(pod)) continue;  // at most one attempt per pod
    metrics_->InFlightEvent("PodPopped", 1);
    CountRejectors(*pod, -1);
    pod->attempt_started = clock_.Now();
    return pod;
  }
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
  const framework::Requeue strategy = EvaluateInFlight(*pod);
  Follow(Insert(pod), strategy, kAttemptFailed);
  Done(uid);
}

framework::Requeue SchedulingQueue::EvaluateInFlight(const QueuedPod& pod) const {
  // After Done no events are recorded for the attempt.
  if (pod.rejectors.empty() || !in_flight_.Has(pod.info.pod->metadata.uid))
    return framework::Requeue::kAfterBackoff;
  framework::Requeue strongest = framework::Requeue::kSkip;
  // Without a plugin that returned Pending, AfterBackoff is the strongest result.
  const framework::Requeue enough =
      pod.pending.empty() ? framework::Requeue::kAfterBackoff : framework::Requeue::kImmediately;
  in_flight_.ForEachSince(pod.info.pod->metadata.uid,
                          [&](const ClusterEvent& event, const EventObjects& objects) {
                            strongest = std::max(strongest, Evaluate(pod, event, objects));
                            return strongest < enough;
                          });
  return strongest;
}

// --- events ---

void SchedulingQueue::MoveAll(const ClusterEvent& event, const EventObjects& objects,
                              const Concerned& concerned) {
  if (unschedulable_.empty() && in_flight_.empty()) return;
  if (!event.wildcard() && !policy_.IsAnyRegistered(event)) return;
  const bool many = with_deferred_ > 0 || unschedulable_.size() > evaluations_left_;
  if (many && !concerned && !event.wildcard()) return Defer(event, objects);
  std::vector<Entry*> entries;
  for (Entry* entry : unschedulable_) {
    if (!concerned || concerned(*entry->pod)) entries.push_back(entry);
  }
  evaluations_left_ -= std::min(evaluations_left_, entries.size());
  Move(entries, event, objects);
}

void SchedulingQueue::Move(const std::vector<Entry*>& entries, const ClusterEvent& event,
                           const EventObjects& objects) {
  for (Entry* entry : entries) Move(*entry, event, objects);
  if (!in_flight_.empty()) Note(event, objects);
}

bool SchedulingQueue::Move(Entry& entry, const ClusterEvent& event, const EventObjects& objects) {
  const QueuedPod& pod = *entry.pod;
  // Only events for which the gating plugin is registered can release the pod.
  if (pod.gated() && !event.wildcard() && !policy_.IsRegisteredBy(pod.profile, pod.gated_by, event))
    return false;
  const framework::Requeue strategy = Evaluate(pod, event, objects);
  if (strategy == framework::Requeue::kSkip) return false;
  Leave(entry);
  Follow(entry, strategy, event.label);
  return true;
}

// --- deferred events ---

void SchedulingQueue::Defer(const ClusterEvent& event, const EventObjects& objects) {
  if (!in_flight_.empty()) Note(event, objects);
  if (unschedulable_.empty()) return;
  if (deferred_.size() == options_.max_deferred_events) return RetryDeferred();
  deferred_.push_back({event, objects});
  with_deferred_ = unschedulable_.size();
}

// More events than fit: whatever they contained, a retry finds out.
void SchedulingQueue::RetryDeferred() {
  const std::vector<Entry*> entries = unschedulable_;
  for (Entry* entry : entries) {
    Leave(*entry);
    Follow(*entry, framework::Requeue::kAfterBackoff, kTooManyEvents);
  }
  BERTH_CHECK(with_deferred_ == 0, with_deferred_, unschedulable_.size());
  ClearDeferred();
}

void SchedulingQueue::ClearDeferred() {
  first_deferred_ = deferred_end();
  deferred_.clear();
}

bool SchedulingQueue::EvaluateDeferred() {
  evaluations_left_ = options_.evaluations_per_step;
  while (with_deferred_ > 0 && evaluations_left_ > 0) {
    --evaluations_left_;  // also for an entry without deferred events: the walk has a cost, too
    if (next_slot_ >= unschedulable_.size()) next_slot_ = 0;
    Entry& entry = *unschedulable_[next_slot_];
    if (!HasDeferred(entry)) {
      ++next_slot_;
      continue;
    }
    const DeferredEvent& next = deferred_[entry.next_event - first_deferred_];
    if (Move(entry, next.event, next.objects)) continue;
    if (++entry.next_event == deferred_end()) --with_deferred_;
  }
  if (with_deferred_ > 0) return true;
  ClearDeferred();
  return false;
}

void SchedulingQueue::Activate(std::span<const std::string> pods) {
  for (const std::string& key : pods) {
    if (const auto found = by_key_.find(std::string_view(key), ByKey{}, ByKey{}); found != by_key_.end()) {
      Activate(**found);
    } else if (const api::PodPtr pod = in_flight_.FindByKey(key)) {
      Note(framework::kForceActivate, {nullptr, pod});
    }
  }
}

void SchedulingQueue::Activate(Entry& entry) {
  switch (entry.place) {
    case Place::kBackoff:
    case Place::kErrorBackoff:  // passed PreEnqueue before it entered
      Leave(entry);
      return Arrive(entry, Place::kActive, framework::kForceActivate.label);
    case Place::kUnschedulable:
      return ToActive(entry, framework::kForceActivate.label);
    default:
      return;
  }
}

void SchedulingQueue::Note(const ClusterEvent& event, const EventObjects& objects) {
  in_flight_.Note(event, objects);
  metrics_->InFlightEvent(event.label, 1);
}

framework::Requeue SchedulingQueue::Evaluate(const QueuedPod& pod, const ClusterEvent& event,
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
    QueuedPod& pod = *entry->pod;
    if (now - std::max(pod.timestamp, pod.flushed) <= options_.max_in_unschedulable) continue;
    pod.was_flushed = true;
    pod.flushed = now;
    stale.push_back(entry);
  }
  if (!stale.empty()) Move(stale, framework::kUnschedulableTimeout, {});
}

// --- moves between places ---

void SchedulingQueue::Follow(Entry& entry, framework::Requeue strategy, const char* event) {
  if (strategy == framework::Requeue::kSkip) return Arrive(entry, Place::kUnschedulable, event);
  if (strategy == framework::Requeue::kAfterBackoff && BackingOff(entry)) return ToBackoff(entry, event);
  ToActive(entry, event);
}

void SchedulingQueue::ToActive(Entry& entry, const char* event) {
  if (!PassesPreEnqueue(entry)) return Gate(entry, event);
  Leave(entry);
  Arrive(entry, Place::kActive, event);
}

// Pods may be taken from the back-off queue early, so they must pass PreEnqueue before they enter it.
void SchedulingQueue::ToBackoff(Entry& entry, const char* event) {
  if (!PassesPreEnqueue(entry)) return Gate(entry, event);
  Leave(entry);
  Arrive(entry, entry.pod->rejectors.empty() ? Place::kErrorBackoff : Place::kBackoff, event);
}

void SchedulingQueue::Gate(Entry& entry, const char* event) {
  entry.pod->was_flushed = false;
  if (entry.place != Place::kUnschedulable) Arrive(entry, Place::kUnschedulable, event);
}

bool SchedulingQueue::PassesPreEnqueue(Entry& entry) {
  QueuedPod& pod = *entry.pod;
  framework::Status status = policy_.PreEnqueue(pod);
  std::string gated_by(status.ok() ? "" : status.plugin);
  if (!gated_by.empty() && std::ranges::find(pod.rejectors, gated_by) == pod.rejectors.end()) {
    pod.rejectors.push_back(gated_by);
    metrics_->Rejected(gated_by, pod.info.pod->spec.scheduler_name, 1);
  }
  if (pod.gated_by == gated_by) return gated_by.empty();
  // The gauges distinguish gated from rejected pods.
  const Place place = entry.place;
  Leave(entry);
  pod.gated_by = std::move(gated_by);
  Enter(entry, place);
  return !pod.gated();
}

// 1, 2, 4, 8 and then 10 seconds with the default settings.
MonoTime SchedulingQueue::ExpiryOf(const QueuedPod& pod) const {
  const std::int32_t count = pod.consecutive_errors > 0 ? pod.consecutive_errors : pod.unschedulable_count;
  if (count == 0 || options_.max_backoff == Duration::zero()) return {};
  Duration duration = options_.initial_backoff;
  for (std::int32_t i = 1; i < count && duration < options_.max_backoff; ++i) duration *= 2;
  return WholeSecond(pod.timestamp + std::min(duration, options_.max_backoff));
}

bool SchedulingQueue::BackingOff(const Entry& entry) const {
  const MonoTime expiry = entry.pod->backoff_expiry;
  return expiry != MonoTime{} && expiry >= WholeSecond(clock_.Now());
}

void SchedulingQueue::CountRejectors(const QueuedPod& pod, std::int64_t by) {
  for (const std::string& plugin : pod.rejectors)
    metrics_->Rejected(plugin, pod.info.pod->spec.scheduler_name, by);
}

}  // namespace berth::queue
