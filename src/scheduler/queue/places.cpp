// The places of the queue, and the metrics that count their pods.
#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "scheduler/queue/queue_metrics.hpp"
#include "scheduler/queue/scheduling_queue.hpp"

namespace berth::queue {

using framework::QueuedPodPtr;

bool SchedulingQueue::HigherRank::operator()(const Entry* a, const Entry* b) const {
  if (policy->Less(*a->pod, *b->pod)) return true;
  if (policy->Less(*b->pod, *a->pod)) return false;
  return a->sequence < b->sequence;
}

bool SchedulingQueue::EarlierExpiry::operator()(const Entry* a, const Entry* b) const {
  if (a->pod->backoff_expiry != b->pod->backoff_expiry)
    return a->pod->backoff_expiry < b->pod->backoff_expiry;
  return HigherRank{policy}(a, b);
}

QueueSizes SchedulingQueue::sizes() const {
  QueueSizes sizes;
  sizes.active = active_.size();
  sizes.backoff = backoff_.size() + error_backoff_.size();
  sizes.gated = gated_;
  BERTH_CHECK(gated_ <= unschedulable_.size(), gated_, unschedulable_.size());
  sizes.unschedulable = unschedulable_.size() - sizes.gated;
  sizes.in_flight = in_flight_.size();
  return sizes;
}

const char* SchedulingQueue::PlaceName(const Entry& entry) {
  switch (entry.place) {
    case Place::kActive:
      return "active";
    case Place::kBackoff:
    case Place::kErrorBackoff:
      return "backoff";
    default:
      return entry.pod->gated() ? "gated" : "unschedulable";
  }
}

SchedulingQueue::Entry* SchedulingQueue::Find(const std::string& uid) {
  const auto found = entries_.find(uid);
  return found == entries_.end() ? nullptr : &found->second;
}

SchedulingQueue::Entry& SchedulingQueue::Insert(QueuedPodPtr pod) {
  Entry& entry = entries_[pod->info.pod->metadata.uid];
  BERTH_CHECK(entry.pod == nullptr && entry.place == Place::kNone, pod->info.key, entry.place);
  pod->backoff_expiry = ExpiryOf(*pod);
  entry.pod = std::move(pod);
  entry.sequence = next_sequence_++;
  by_key_.insert(&entry);
  return entry;
}

void SchedulingQueue::Remove(Entry& entry) {
  Leave(entry);
  const auto [begin, end] = by_key_.equal_range(&entry);
  const auto known = std::find(begin, end, &entry);
  BERTH_CHECK(known != end, entry.pod->info.key);
  by_key_.erase(known);
  const QueuedPodPtr pod = entry.pod;  // keeps the UID alive while the entry is erased
  entries_.erase(pod->info.pod->metadata.uid);
}

void SchedulingQueue::Leave(Entry& entry) {
  if (entry.cause != nullptr) std::exchange(entry.cause, nullptr)->Add(-1);
  // A sorted set that does not contain the entry means that the order changed while the pod was queued.
  switch (std::exchange(entry.place, Place::kNone)) {
    case Place::kActive:
      BERTH_CHECK(active_.erase(&entry) == 1, entry.pod->info.key, active_.size());
      metrics_->active.Add(-1);
      break;
    case Place::kBackoff:
      BERTH_CHECK(backoff_.erase(&entry) == 1, entry.pod->info.key, backoff_.size());
      metrics_->backoff.Add(-1);
      break;
    case Place::kErrorBackoff:
      BERTH_CHECK(error_backoff_.erase(&entry) == 1, entry.pod->info.key, error_backoff_.size());
      metrics_->backoff.Add(-1);
      break;
    case Place::kUnschedulable:
      BERTH_CHECK(entry.slot < unschedulable_.size() && unschedulable_[entry.slot] == &entry,
                  entry.pod->info.key, entry.slot, unschedulable_.size());
      unschedulable_.back()->slot = entry.slot;
      unschedulable_[entry.slot] = unschedulable_.back();
      unschedulable_.pop_back();
      with_deferred_ -= HasDeferred(entry) ? 1 : 0;
      gated_ -= entry.pod->gated() ? 1 : 0;
      (entry.pod->gated() ? metrics_->gated : metrics_->unschedulable).Add(-1);
      break;
    case Place::kNone:
      break;
  }
}

void SchedulingQueue::Enter(Entry& entry, Place place) {
  BERTH_CHECK(entry.place == Place::kNone, entry.pod->info.key, entry.place, place);
  entry.place = place;
  if (place != Place::kNone) {
    entry.cause = &metrics_->ByCause(PlaceName(entry), *entry.pod);
    entry.cause->Add();
  }
  switch (place) {
    case Place::kActive:
      active_.insert(&entry);
      metrics_->active.Add();
      break;
    case Place::kBackoff:
      backoff_.insert(&entry);
      metrics_->backoff.Add();
      break;
    case Place::kErrorBackoff:
      error_backoff_.insert(&entry);
      metrics_->backoff.Add();
      break;
    case Place::kUnschedulable:
      entry.slot = unschedulable_.size();
      unschedulable_.push_back(&entry);
      with_deferred_ += HasDeferred(entry) ? 1 : 0;
      gated_ += entry.pod->gated() ? 1 : 0;
      (entry.pod->gated() ? metrics_->gated : metrics_->unschedulable).Add();
      break;
    case Place::kNone:
      break;
  }
}

void SchedulingQueue::Arrive(Entry& entry, Place place, const char* event) {
  if (place == Place::kActive && entry.pod->first_attempt_ready == MonoTime{})
    entry.pod->first_attempt_ready = clock_.Now();
  entry.next_event = deferred_end();
  Enter(entry, place);
  metrics_->Incoming(place == Place::kActive          ? "active"
                     : place == Place::kUnschedulable ? "unschedulable"
                                                      : "backoff",
                     event);
}

}  // namespace berth::queue
