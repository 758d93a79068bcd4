// The content of a queue as a value.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "scheduler/queue/scheduling_queue.hpp"

namespace berth::queue {
using framework::QueuedPod;
using framework::QueuedPodPtr;

namespace {

// The members that QueuedPod and SavedQueue::Pod have in common, without the end of the backoff.
template <class From, class To>
void CopyAttempts(const From& from, To& to) {
  to.timestamp = from.timestamp;
  to.first_attempt_ready = from.first_attempt_ready;
  to.attempt_started = from.attempt_started;
  to.flushed = from.flushed;
  to.was_flushed = from.was_flushed;
  to.attempts = from.attempts;
  to.unschedulable_count = from.unschedulable_count;
  to.consecutive_errors = from.consecutive_errors;
  to.rejectors = from.rejectors;
  to.pending = from.pending;
  to.gated_by = from.gated_by;
  to.nominated = from.nominated;
}

}  // namespace

bool SchedulingQueue::CanSave() const {
  return in_flight_.empty() && groups_.empty() && incomplete_.size() == 0 && requeued_.size() == 0 &&
         deferred_.empty() && with_deferred_ == 0 && group_in_progress_.empty();
}

SavedQueue SchedulingQueue::Save(const cluster::SymbolTable& symbols) const {
  SavedQueue saved;
  saved.pods.reserve(entries_.size());
  for (const auto& [uid, entry] : entries_) {
    const QueuedPod& pod = *entry.pod;
    SavedQueue::Pod& to = saved.pods.emplace_back();
    to.uid = uid;
    to.place = static_cast<std::uint8_t>(entry.place);
    to.sequence = entry.sequence;
    to.slot = entry.place == Place::kUnschedulable ? entry.slot : 0;
    to.backoff_expiry = pod.backoff_expiry;
    CopyAttempts(pod, to);
  }
  for (const auto& [uid, nomination] : nominator_.all())
    saved.nominations.push_back({uid, symbols.node_names.Text(nomination.node)});
  saved.next_sequence = next_sequence_;
  saved.next_slot = next_slot_;
  saved.evaluations_left = evaluations_left_;
  saved.next_backoff_flush = next_backoff_flush_;
  saved.next_unschedulable_flush = next_unschedulable_flush_;
  return saved;
}

Expected<void> SchedulingQueue::Restore(const SavedQueue& saved, cluster::SymbolTable& symbols) {
  if (saved.pods.size() != entries_.size()) {
    return Invalid(
        fmt::format("the state has {} waiting pods, and its objects {}", saved.pods.size(), entries_.size()));
  }
  std::set<std::uint64_t> sequences;
  for (const SavedQueue::Pod& pod : saved.pods) {
    if (pod.sequence >= saved.next_sequence || !sequences.insert(pod.sequence).second)
      return Invalid(fmt::format("the waiting pod {} has no sequence number of its own", pod.uid));
  }
  std::map<std::string, QueuedPodPtr> pods;
  while (!entries_.empty()) {
    Entry& entry = entries_.begin()->second;
    CountRejectors(*entry.pod, -1);
    pods.emplace(entry.pod->info.pod->metadata.uid, entry.pod);
    Remove(entry);
  }
  nominator_.Clear();
  // Events of the objects that were received before do not concern the restored pods.
  ClearDeferred();
  // The order of entering determines the slots.
  std::vector<const SavedQueue::Pod*> ordered;
  for (const SavedQueue::Pod& pod : saved.pods) ordered.push_back(&pod);
  std::ranges::sort(ordered, {},
                    [](const SavedQueue::Pod* pod) { return std::pair(pod->slot, pod->sequence); });
  for (const SavedQueue::Pod* from : ordered) {
    const auto found = pods.find(from->uid);
    const auto place = static_cast<Place>(from->place);
    if (found == pods.end()) return Invalid(fmt::format("the waiting pod {} has no object", from->uid));
    if (place != Place::kActive && place != Place::kBackoff && place != Place::kErrorBackoff &&
        place != Place::kUnschedulable)
      return Invalid(fmt::format("the waiting pod {} is in no place of the queue", from->uid));
    const QueuedPodPtr pod = std::move(found->second);
    pods.erase(found);
    CopyAttempts(*from, *pod);
    CountRejectors(*pod, 1);
    Entry& entry = Insert(pod);
    if (!entry.group_key.empty()) return Invalid(fmt::format("the waiting pod {} is in a group", from->uid));
    pod->backoff_expiry = from->backoff_expiry;
    entry.sequence = from->sequence;
    entry.next_event = deferred_end();
    Enter(entry, place);
  }
  for (const SavedQueue::Nomination& nomination : saved.nominations) {
    Entry* entry = Find(nomination.uid);
    if (entry == nullptr) return Invalid(fmt::format("the nominated pod {} does not wait", nomination.uid));
    nominator_.Set(entry->pod, symbols.node_names.Intern(nomination.node));
  }
  next_sequence_ = saved.next_sequence;
  next_slot_ = saved.next_slot;
  evaluations_left_ = saved.evaluations_left;
  next_backoff_flush_ = saved.next_backoff_flush;
  next_unschedulable_flush_ = saved.next_unschedulable_flush;
  return {};
}

}  // namespace berth::queue
