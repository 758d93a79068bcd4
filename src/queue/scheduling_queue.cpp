#include "queue/scheduling_queue.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace berth::queue {
namespace {

using framework::QueuedPod;
using framework::QueuedPodPtr;

constexpr Duration kBackoffFlushPeriod = std::chrono::seconds(1);
constexpr Duration kUnschedulableFlushPeriod = std::chrono::seconds(30);

// Back-offs end on whole seconds, so that pods freed in the same second are ordered by urgency, not by
// chance.
MonoTime WholeSecond(MonoTime time) {
  return MonoTime(std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()));
}

constexpr const char* kPodAdded = "UnscheduledPodAdd";
constexpr const char* kBackoffComplete = "BackoffComplete";
constexpr const char* kAttemptFailed = "ScheduleAttemptFailure";

}  // namespace

// Cells are looked up once; the rare labels (events, plugins) on first use.
struct SchedulingQueue::Meters {
  explicit Meters(metrics::Registry& registry) : registry(registry) {
    for (const auto* name : {"active", "backoff", "unschedulable", "gated"}) Pending(name);
  }

  metrics::Gauge& Pending(const char* name) {
    return registry.Gauge(
        "scheduler_pending_pods",
        "[STABLE] Number of pending pods, by the queue type. 'active' means number of pods in activeQ; "
        "'backoff' "
        "means number of pods in backoffQ; 'unschedulable' means number of pods in unschedulablePods that "
        "the "
        "scheduler attempted to schedule and failed; 'gated' is the number of unschedulable pods that the "
        "scheduler never attempted to schedule because they are gated.",
        {{"queue", name}});
  }
  void Incoming(const char* name, const char* event) {
    metrics::Counter*& cell = incoming[{name, event}];
    if (cell == nullptr) {
      cell = &registry.Counter("scheduler_queue_incoming_pods_total",
                               "[STABLE] Number of pods added to scheduling queues by event and queue type.",
                               {{"queue", name}, {"event", event}});
    }
    cell->Add();
  }
  metrics::Gauge& Unschedulable(const std::string& plugin) {
    metrics::Gauge*& cell = unschedulable_by[plugin];
    if (cell == nullptr) {
      cell = &registry.Gauge("scheduler_unschedulable_pods",
                             "[STABLE] The number of unschedulable pods broken down by plugin name. A pod "
                             "will increment the gauge for "
                             "all plugins that caused it to not schedule and so this metric have meaning "
                             "only when broken down by "
                             "plugin.",
                             {{"plugin", plugin}, {"profile", ""}});
    }
    return *cell;
  }

  metrics::Registry& registry;
  metrics::Gauge& active{Pending("active")};
  metrics::Gauge& backoff{Pending("backoff")};
  metrics::Gauge& unschedulable{Pending("unschedulable")};
  metrics::Gauge& gated{Pending("gated")};
  std::map<std::pair<std::string_view, std::string_view>, metrics::Counter*> incoming;  // keys are literals
  std::map<std::string, metrics::Gauge*> unschedulable_by;
};

bool SchedulingQueue::MoreUrgent::operator()(const Entry* a, const Entry* b) const {
  if (policy->Less(*a->pod, *b->pod)) return true;
  if (policy->Less(*b->pod, *a->pod)) return false;
  return a->sequence < b->sequence;
}

bool SchedulingQueue::SoonerOver::operator()(const Entry* a, const Entry* b) const {
  if (a->backoff_expiry != b->backoff_expiry) return a->backoff_expiry < b->backoff_expiry;
  return MoreUrgent{policy}(a, b);
}

SchedulingQueue::SchedulingQueue(QueueOptions options, const Clock& clock, const QueuePolicy& policy,
                                 metrics::Registry& metrics)
    : options_(options),
      clock_(clock),
      policy_(policy),
      meters_(std::make_unique<Meters>(metrics)),
      active_(MoreUrgent{&policy}),
      backoff_(SoonerOver{&policy}),
      error_backoff_(SoonerOver{&policy}),
      next_backoff_flush_(clock.Now() + kBackoffFlushPeriod),
      next_unschedulable_flush_(clock.Now() + kUnschedulableFlushPeriod) {}

SchedulingQueue::~SchedulingQueue() = default;

void SchedulingQueue::Add(framework::PodInfo info, std::uint32_t profile) {
  const std::string uid = info.pod->metadata.uid;
  if (Find(uid) != nullptr) return Update(std::move(info), profile, {});
  Entry& entry = entries_[uid];
  entry.pod = std::make_shared<QueuedPod>();
  entry.pod->info = std::move(info);
  entry.pod->profile = profile;
  entry.pod->timestamp = entry.pod->created = clock_.Now();
  entry.sequence = next_sequence_++;
  TrackNomination(entry.pod);
  if (PassesPreEnqueue(entry)) {
    EnterActive(entry, kPodAdded);
  } else {
    EnterUnschedulable(entry, kPodAdded);
  }
}

void SchedulingQueue::Update(framework::PodInfo info, std::uint32_t profile,
                             std::span<const framework::ClusterEvent> events) {
  Entry* entry = Find(info.pod->metadata.uid);
  if (entry == nullptr) return Add(std::move(info), profile);
  if (entry->place == Place::kInFlight) return;
  // Its rank may change with it: out, change, in again.
  const Place place = entry->place;
  Leave(*entry);
  entry->pod->info = std::move(info);
  TrackNomination(entry->pod);
  entry->place = place;
  switch (place) {
    case Place::kActive:
      active_.insert(entry);
      meters_->active.Add();
      break;
    case Place::kBackoff:
      backoff_.insert(entry);
      meters_->backoff.Add();
      break;
    case Place::kErrorBackoff:
      error_backoff_.insert(entry);
      meters_->backoff.Add();
      break;
    case Place::kInFlight:
      break;
    case Place::kUnschedulable: {
      const auto freeing =
          std::ranges::find_if(events, [&](const auto& event) { return IsFreedBy(*entry, event); });
      if (freeing != events.end()) return Free(*entry, freeing->label);
      unschedulable_.insert(entry);
      (entry->pod->gated_by.empty() ? meters_->unschedulable : meters_->gated).Add();
      break;
    }
  }
}

void SchedulingQueue::Delete(const std::string& uid) {
  Entry* entry = Find(uid);
  if (entry == nullptr) return;
  if (entry->place != Place::kInFlight) CountUnschedulable(*entry->pod, -1);
  Leave(*entry);
  std::erase(nominated_, entry->pod);
  entries_.erase(uid);
}

framework::QueuedPodPtr SchedulingQueue::Pop() {
  Entry* entry = nullptr;
  if (!active_.empty()) {
    entry = *active_.begin();
  } else if (!backoff_.empty()) {
    entry = *backoff_.begin();
    meters_->Incoming("active", "PopFromBackoffQ");
  } else {
    return nullptr;
  }
  CountUnschedulable(*entry->pod, -1);
  Leave(*entry);
  entry->place = Place::kInFlight;
  ++entry->pod->attempts;
  entry->pod->attempt_started = clock_.Now();
  return entry->pod;
}

void SchedulingQueue::Done(const QueuedPodPtr& pod) {
  const std::string& uid = pod->info.pod->metadata.uid;
  const Entry* entry = Find(uid);
  if (entry == nullptr || entry->pod != pod) return;
  std::erase(nominated_, pod);
  entries_.erase(uid);
}

void SchedulingQueue::Requeue(const QueuedPodPtr& pod) {
  Entry* entry = Find(pod->info.pod->metadata.uid);
  if (entry == nullptr || entry->pod != pod || entry->place != Place::kInFlight) return;
  pod->timestamp = clock_.Now();
  TrackNomination(pod);
  if (pod->rejectors.empty()) {
    ++pod->consecutive_errors;
    EnterBackoff(*entry, kAttemptFailed);
    return;
  }
  ++pod->unschedulable_count;
  pod->consecutive_errors = 0;
  CountUnschedulable(*pod, 1);
  EnterUnschedulable(*entry, kAttemptFailed);
}

void SchedulingQueue::MoveAll(const framework::ClusterEvent& event) {
  if (unschedulable_.empty()) return;
  std::vector<Entry*> freed;
  for (Entry* entry : unschedulable_) {
    if (IsFreedBy(*entry, event)) freed.push_back(entry);
  }
  for (Entry* entry : freed) {
    Leave(*entry);
    Free(*entry, event.label);
  }
}

void SchedulingQueue::Tick() {
  const MonoTime now = clock_.Now();
  if (now >= next_backoff_flush_) {
    next_backoff_flush_ = WholeSecond(now) + kBackoffFlushPeriod;
    for (auto* queue : {&backoff_, &error_backoff_}) {
      while (!queue->empty() && !BackingOff(**queue->begin())) {
        Entry& entry = **queue->begin();
        Leave(entry);
        Free(entry, kBackoffComplete);
      }
    }
  }
  if (now >= next_unschedulable_flush_) {
    next_unschedulable_flush_ = now + kUnschedulableFlushPeriod;
    std::vector<Entry*> stale;
    for (Entry* entry : unschedulable_) {
      if (now - entry->pod->timestamp > options_.max_in_unschedulable) stale.push_back(entry);
    }
    for (Entry* entry : stale) {
      Leave(*entry);
      Free(*entry, framework::kUnschedulableTimeout.label);
    }
  }
}

QueueSizes SchedulingQueue::sizes() const {
  QueueSizes sizes;
  sizes.active = active_.size();
  sizes.backoff = backoff_.size() + error_backoff_.size();
  sizes.gated = static_cast<std::size_t>(std::ranges::count_if(
      unschedulable_, [](const Entry* entry) { return !entry->pod->gated_by.empty(); }));
  sizes.unschedulable = unschedulable_.size() - sizes.gated;
  sizes.in_flight =
      entries_.size() - active_.size() - backoff_.size() - error_backoff_.size() - unschedulable_.size();
  return sizes;
}

SchedulingQueue::Entry* SchedulingQueue::Find(const std::string& uid) {
  const auto found = entries_.find(uid);
  return found == entries_.end() ? nullptr : &found->second;
}

void SchedulingQueue::Leave(Entry& entry) {
  switch (entry.place) {
    case Place::kActive:
      active_.erase(&entry);
      meters_->active.Add(-1);
      break;
    case Place::kBackoff:
      backoff_.erase(&entry);
      meters_->backoff.Add(-1);
      break;
    case Place::kErrorBackoff:
      error_backoff_.erase(&entry);
      meters_->backoff.Add(-1);
      break;
    case Place::kUnschedulable:
      unschedulable_.erase(&entry);
      (entry.pod->gated_by.empty() ? meters_->unschedulable : meters_->gated).Add(-1);
      break;
    case Place::kInFlight:
      break;
  }
  entry.place = Place::kInFlight;
}

void SchedulingQueue::EnterActive(Entry& entry, const char* event) {
  entry.place = Place::kActive;
  if (entry.pod->first_attempt_ready == MonoTime{}) entry.pod->first_attempt_ready = clock_.Now();
  active_.insert(&entry);
  meters_->active.Add();
  meters_->Incoming("active", event);
}

void SchedulingQueue::EnterBackoff(Entry& entry, const char* event) {
  entry.backoff_expiry = WholeSecond(entry.pod->timestamp + BackoffOf(*entry.pod));
  const bool after_error = entry.pod->consecutive_errors > 0;
  entry.place = after_error ? Place::kErrorBackoff : Place::kBackoff;
  (after_error ? error_backoff_ : backoff_).insert(&entry);
  meters_->backoff.Add();
  meters_->Incoming("backoff", event);
}

void SchedulingQueue::EnterUnschedulable(Entry& entry, const char* event) {
  entry.place = Place::kUnschedulable;
  unschedulable_.insert(&entry);
  (entry.pod->gated_by.empty() ? meters_->unschedulable : meters_->gated).Add();
  meters_->Incoming("unschedulable", event);
}

void SchedulingQueue::Free(Entry& entry, const char* event) {
  if (!PassesPreEnqueue(entry)) return EnterUnschedulable(entry, event);
  entry.backoff_expiry = WholeSecond(entry.pod->timestamp + BackoffOf(*entry.pod));
  if (!entry.pod->pending && BackingOff(entry)) {
    EnterBackoff(entry, event);
  } else {
    EnterActive(entry, event);
  }
}

bool SchedulingQueue::PassesPreEnqueue(Entry& entry) {
  framework::Status status = policy_.PreEnqueue(*entry.pod);
  entry.pod->gated_by = status.ok() ? "" : std::move(status.plugin);
  return status.ok();
}

bool SchedulingQueue::IsFreedBy(const Entry& entry, const framework::ClusterEvent& event) const {
  const QueuedPod& pod = *entry.pod;
  if (!pod.gated_by.empty()) return policy_.Concerns(pod.profile, event, std::span(&pod.gated_by, 1));
  return event.wildcard() || policy_.Concerns(pod.profile, event, pod.rejectors);
}

// 1, 2, 4, 8 and then 10 seconds with the default settings.
Duration SchedulingQueue::BackoffOf(const QueuedPod& pod) const {
  const std::int32_t count = pod.consecutive_errors > 0 ? pod.consecutive_errors : pod.unschedulable_count;
  if (count == 0 || options_.max_backoff == Duration::zero()) return Duration::zero();
  Duration duration = options_.initial_backoff;
  for (std::int32_t i = 1; i < count && duration < options_.max_backoff; ++i) duration *= 2;
  return std::min(duration, options_.max_backoff);
}

bool SchedulingQueue::BackingOff(const Entry& entry) const {
  const QueuedPod& pod = *entry.pod;
  if (pod.consecutive_errors == 0 && pod.unschedulable_count == 0) return false;
  return options_.max_backoff != Duration::zero() && entry.backoff_expiry >= WholeSecond(clock_.Now());
}

void SchedulingQueue::TrackNomination(const QueuedPodPtr& pod) {
  const bool wanted = pod->info.nominated.known();
  const auto found = std::ranges::find(nominated_, pod);
  if (wanted && found == nominated_.end()) nominated_.push_back(pod);
  if (!wanted && found != nominated_.end()) nominated_.erase(found);
}

void SchedulingQueue::CountUnschedulable(const QueuedPod& pod, std::int64_t by) {
  for (const std::string& plugin : pod.rejectors) meters_->Unschedulable(plugin).Add(by);
}

}  // namespace berth::queue
