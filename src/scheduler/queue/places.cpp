// The places of the queue, and the metrics that count their pods.
#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "scheduler/queue/object_size.hpp"
#include "scheduler/queue/queue_metrics.hpp"
#include "scheduler/queue/scheduling_queue.hpp"

namespace berth::queue {
using framework::QueuedPodPtr;

bool SchedulingQueue::HigherRank::operator()(const Entry* a, const Entry* b) const {
  if (policy->Less(*a->state, *b->state)) return true;
  if (policy->Less(*b->state, *a->state)) return false;
  return a->sequence < b->sequence;
}

bool SchedulingQueue::EarlierExpiry::operator()(const Entry* a, const Entry* b) const {
  if (a->state->backoff_expiry != b->state->backoff_expiry)
    return a->state->backoff_expiry < b->state->backoff_expiry;
  return HigherRank{policy}(a, b);
}

// Nothing may be compared between the change of the order and the removal of all entries.
void SchedulingQueue::Reorder(const std::function<void()>& change) {
  active_.Reorder([&] {
    change();
    return policy_.tenant_order();
  });
  for (auto* entries : {&backoff_, &error_backoff_}) {
    const std::vector<Entry*> all(entries->begin(), entries->end());
    entries->clear();
    entries->insert(all.begin(), all.end());
  }
}

QueueSizes SchedulingQueue::sizes() const {
  const auto count = [&](QueueName name) { return sizes_[static_cast<std::size_t>(name)]; };
  return {.active = count(QueueName::kActive),
          .backoff = count(QueueName::kBackoff),
          .unschedulable = count(QueueName::kUnschedulable),
          .gated = count(QueueName::kGated),
          .incomplete = incomplete_.size(),
          .in_flight = in_flight_.size()};
}

const char* SchedulingQueue::PlaceName(const Entry& entry) {
  switch (entry.place) {
    case Place::kActive:
      return "active";
    case Place::kBackoff:
    case Place::kErrorBackoff:
      return "backoff";
    case Place::kInGroup:
      return PlaceName(*entry.group);
    case Place::kRequeued:
      return "pending";
    case Place::kIncomplete:
      return "incomplete";
    default:
      return entry.state->gated() ? "gated" : "unschedulable";
  }
}

std::size_t SchedulingQueue::CountAhead(const std::string& uid, std::size_t limit) const {
  const Entry* wanted = FindActive(uid);
  return wanted == nullptr ? 0 : active_.CountAhead(*wanted, limit);
}

std::optional<TenantPlace> SchedulingQueue::TenantPlaceOf(const std::string& uid, std::size_t limit) const {
  const Entry* wanted = FindActive(uid);
  if (wanted == nullptr || !active_.has_tenants()) return std::nullopt;
  return active_.PlaceOf(*wanted, limit);
}

const SchedulingQueue::Entry* SchedulingQueue::FindActive(const std::string& uid) const {
  const auto found = entries_.find(uid);
  if (found == entries_.end()) return nullptr;
  const Entry& ranked = RankedOf(found->second);
  return ranked.place == Place::kActive ? &ranked : nullptr;
}

SchedulingQueue::Entry* SchedulingQueue::Find(const std::string& uid) {
  const auto found = entries_.find(uid);
  return found == entries_.end() ? nullptr : &found->second;
}

SchedulingQueue::Entry& SchedulingQueue::Insert(QueuedPodPtr pod) {
  Entry& entry = entries_[pod->info.pod->metadata.uid];
  BERTH_CHECK(entry.pod == nullptr && entry.place == Place::kNone, pod->info.key, entry.place);
  pod->priority = pod->info.priority();
  pod->backoff_expiry = ExpiryOf(*pod, 1);
  entry.group_key = group_objects_.KeyOf(*pod->info.pod).value_or("");
  entry.state = pod.get();
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
  const std::size_t size = SizeOf(entry);
  if (entry.cause != nullptr) std::exchange(entry.cause, nullptr)->Add(-static_cast<std::int64_t>(size));
  const Place place = entry.place;
  const bool gated = entry.state->gated();
  // A sorted set that does not contain the entry means that the order changed while the pod was queued.
  switch (place) {
    case Place::kActive:
      BERTH_CHECK(active_.Erase(entry), entry.state->leading_pod().info.key, active_.size());
      break;
    case Place::kBackoff:
      BERTH_CHECK(backoff_.erase(&entry) == 1, entry.state->leading_pod().info.key, backoff_.size());
      break;
    case Place::kErrorBackoff:
      BERTH_CHECK(error_backoff_.erase(&entry) == 1, entry.state->leading_pod().info.key,
                  error_backoff_.size());
      break;
    case Place::kUnschedulable:
      BERTH_CHECK(entry.slot < unschedulable_.size() && unschedulable_[entry.slot] == &entry,
                  entry.state->leading_pod().info.key, entry.slot, unschedulable_.size());
      unschedulable_.back()->slot = entry.slot;
      unschedulable_[entry.slot] = unschedulable_.back();
      unschedulable_.pop_back();
      with_deferred_ -= HasDeferred(entry) ? 1 : 0;
      extra_work_ -= std::exchange(entry.counted_work, 0);
      break;
    case Place::kNone:
      return;
    case Place::kInGroup:
    case Place::kRequeued:
    case Place::kIncomplete:
      BERTH_CHECK(false, entry.pod->info.key, place);
  }
  entry.place = Place::kNone;
  const QueueName name = NameOf(place, gated);
  std::size_t& count = sizes_[static_cast<std::size_t>(name)];
  BERTH_CHECK(count >= size, place, count, size);
  count -= size;
  metrics_->Changed(name, entry.is_group(), size, -1);
}

std::size_t SchedulingQueue::ExtraWorkOf(Entry& entry) {
  std::size_t work = 0;
  ForEachPod(entry, [&](Entry& pod) {
    if (!pod.extra_work) pod.extra_work = ExtraEvaluations(SizeOfPod(*pod.pod->info.pod));
    work += *pod.extra_work;
  });
  return work;
}

void SchedulingQueue::Enter(Entry& entry, Place place) {
  BERTH_CHECK(entry.place == Place::kNone, entry.place, place);
  if (place == Place::kNone) return;
  if (entry.is_group()) {
    BERTH_CHECK(!entry.group->members.empty(), entry.group->history.key, place);
    entry.group->history.members.assign(1, (*entry.group->members.begin())->pod);
  }
  entry.place = place;
  const std::size_t size = SizeOf(entry);
  const bool gated = entry.state->gated();
  // A group has no rejectors of its own: its first member stands for all.
  const framework::QueuedEntity* cause = entry.state;
  if (!gated) cause = &entry.state->leading_pod();
  entry.cause = &metrics_->ByCause(PlaceName(entry), *cause);
  entry.cause->Add(static_cast<std::int64_t>(size));
  switch (place) {
    case Place::kActive:
      active_.Insert(entry);
      break;
    case Place::kBackoff:
      backoff_.insert(&entry);
      break;
    case Place::kErrorBackoff:
      error_backoff_.insert(&entry);
      break;
    case Place::kUnschedulable:
      entry.slot = unschedulable_.size();
      unschedulable_.push_back(&entry);
      with_deferred_ += HasDeferred(entry) ? 1 : 0;
      entry.counted_work = gated ? 0 : ExtraWorkOf(entry);
      extra_work_ += entry.counted_work;
      break;
    default:
      BERTH_CHECK(false, place);
  }
  const QueueName name = NameOf(place, gated);
  sizes_[static_cast<std::size_t>(name)] += size;
  metrics_->Changed(name, entry.is_group(), size, 1);
}

SchedulingQueue::QueueName SchedulingQueue::NameOf(Place place, bool gated) {
  if (place == Place::kActive) return QueueName::kActive;
  if (place != Place::kUnschedulable) return QueueName::kBackoff;
  return gated ? QueueName::kGated : QueueName::kUnschedulable;
}

void SchedulingQueue::Arrive(Entry& entry, Place place, const char* event, Strategy strategy) {
  if (place == Place::kActive) {
    const auto ready = [&](framework::QueuedEntity& state) {
      if (state.first_attempt_ready == MonoTime{}) state.first_attempt_ready = clock_.Now();
    };
    ready(*entry.state);
    ForEachPod(entry, [&](Entry& pod) { ready(*pod.state); });
  }
  entry.next_event = deferred_end();
  Enter(entry, place);
  const QueueName name = NameOf(place, false);
  const bool counts = !strategy || name != NameOf(PlaceOf(*strategy), false);
  metrics_->Incoming(name, event, entry.is_group(), SizeOf(entry), counts);
}

SchedulingQueue::Place SchedulingQueue::PlaceOf(framework::Requeue strategy) {
  switch (strategy) {
    case framework::Requeue::kImmediately:
      return Place::kActive;
    case framework::Requeue::kAfterBackoff:
      return Place::kBackoff;
    case framework::Requeue::kSkip:
      break;
  }
  return Place::kUnschedulable;
}

}  // namespace berth::queue
