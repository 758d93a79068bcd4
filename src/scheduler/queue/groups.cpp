// The members of pod groups in the queue (kube-scheduler v1.37.1, addPodGroupMember,
// AddAttemptedPodGroupIfNeeded and the handlers of group objects in
// pkg/scheduler/backend/queue/scheduling_queue.go).
#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "scheduler/queue/event_labels.hpp"
#include "scheduler/queue/queue_metrics.hpp"
#include "scheduler/queue/scheduling_queue.hpp"

namespace berth::queue {

using framework::QueuedPod;
using framework::Requeue;

bool SchedulingQueue::ScheduledEarlier::operator()(const Entry* a, const Entry* b) const {
  const QueuedPod& x = *a->pod;
  const QueuedPod& y = *b->pod;
  if (x.priority != y.priority) return x.priority > y.priority;
  // Time stamps are renewed by each attempt, so the number of attempts shows which pods are older.
  if (x.attempts != y.attempts) return x.attempts > y.attempts;
  if (x.timestamp != y.timestamp) return x.timestamp < y.timestamp;
  if (x.info.key != y.info.key) return x.info.key < y.info.key;
  return a->sequence < b->sequence;  // recreated with the same name
}

// --- members ---

void SchedulingQueue::AddMember(Entry& member) {
  const std::string& key = member.group_key;
  api::PodGroupPtr object = group_objects_.FindObject(key);
  if (object == nullptr) {
    member.place = Place::kIncomplete;
    incomplete_[key].push_back(&member);
    ++waiting_for_object_;
    return metrics_->MembersChanged(true, 1);
  }
  if (const auto known = groups_.find(key); known != groups_.end()) return Join(known->second, member);
  if (group_in_progress_ == key) {
    member.place = Place::kRequeued;
    requeued_[key].push_back(&member);
    return metrics_->MembersChanged(false, 1);
  }
  GroupEntry& group = InsertGroup(key, std::move(object));
  group.history.timestamp = member.pod->timestamp;
  group.history.first_attempt_ready = member.pod->first_attempt_ready;
  member.place = Place::kInGroup;
  member.group = &group;
  group.members.insert(&member);
  ToActive(group, kPodAdded);
}

SchedulingQueue::GroupEntry& SchedulingQueue::InsertGroup(const std::string& key, api::PodGroupPtr object) {
  GroupEntry& group = groups_[key];
  BERTH_CHECK(group.state == nullptr, key);
  group.state = &group.history;
  group.group = &group;
  group.history.key = key;
  group.history.priority = object->priority;
  group.history.object = std::move(object);
  group.sequence = next_sequence_++;
  return group;
}

// The group goes through PreEnqueue again, unless it was rejected or gated.
void SchedulingQueue::Join(GroupEntry& group, Entry& member) {
  const Place before = group.place;
  Leave(group);
  member.place = Place::kInGroup;
  member.group = &group;
  group.members.insert(&member);
  Return(group, before, kPodAdded);
}

void SchedulingQueue::Return(GroupEntry& group, Place before, const char* event) {
  switch (before) {
    case Place::kActive:
      return Follow(group, Requeue::kImmediately, event);
    case Place::kBackoff:
    case Place::kErrorBackoff:
      return Follow(group, Requeue::kAfterBackoff, event);
    default:
      return Follow(group, Requeue::kSkip, event);
  }
}

// Leaves the member in no place.
void SchedulingQueue::RemoveMember(Entry& member) {
  const Place place = std::exchange(member.place, Place::kNone);
  if (place == Place::kIncomplete) {
    --waiting_for_object_;
    metrics_->MembersChanged(true, -1);
    return EraseFrom(incomplete_, member);
  }
  if (place == Place::kRequeued) {
    metrics_->MembersChanged(false, -1);
    return EraseFrom(requeued_, member);
  }
  GroupEntry& group = *std::exchange(member.group, nullptr);
  const Place before = group.place;
  Leave(group);
  BERTH_CHECK(group.members.erase(&member) == 1, member.pod->info.key, group.history.key);
  if (group.members.empty()) {
    groups_.erase(std::string(member.group_key));
  } else {
    Return(group, before, kPodAdded);
  }
}

void SchedulingQueue::EraseFrom(TextMap<std::vector<Entry*>>& waiting, Entry& member) {
  const auto list = waiting.find(member.group_key);
  BERTH_CHECK(list != waiting.end() && std::erase(list->second, &member) == 1, member.pod->info.key);
  if (list->second.empty()) waiting.erase(list);
}

// --- attempts ---

// Members with an attempt in progress are dropped.
Popped SchedulingQueue::BeginGroup(GroupEntry& entry) {
  Leave(entry);
  auto group = std::make_shared<framework::QueuedGroup>(std::move(entry.history));
  group->members.clear();
  ++group->attempts;
  group->attempt_started = clock_.Now();
  const std::vector<Entry*> members(entry.members.begin(), entry.members.end());
  groups_.erase(group->key);
  for (Entry* member : members) {
    const framework::QueuedPodPtr pod = member->pod;
    member->place = Place::kNone;
    Remove(*member);
    if (Begin(pod)) group->members.push_back(pod);
  }
  if (group->members.empty()) return {};
  group_in_progress_ = group->key;
  return {nullptr, std::move(group)};
}

void SchedulingQueue::EndGroup(const framework::QueuedGroup& attempted, GroupOutcome outcome) {
  BERTH_CHECK(group_in_progress_ == attempted.key, group_in_progress_, attempted.key);
  group_in_progress_.clear();
  const auto list = requeued_.find(attempted.key);
  if (list == requeued_.end()) return;
  const std::vector<Entry*> members = std::move(list->second);
  requeued_.erase(list);
  metrics_->MembersChanged(false, -static_cast<std::int64_t>(members.size()));
  // The object was not deleted meanwhile: that would have moved the members.
  GroupEntry& group = InsertGroup(attempted.key, group_objects_.FindObject(attempted.key));
  const api::PodGroupPtr object = group.history.object;
  group.history = attempted;
  group.history.object = object;
  group.history.priority = object->priority;
  bool any_failed = false;
  for (Entry* member : members) {
    member->place = Place::kInGroup;
    member->group = &group;
    group.members.insert(member);
    const std::string& uid = member->pod->info.pod->metadata.uid;
    any_failed = any_failed || std::ranges::any_of(attempted.members, [&](const auto& pod) {
                   return pod->info.pod->metadata.uid == uid;
                 });
  }
  framework::QueuedGroup& history = group.history;
  switch (outcome) {
    case GroupOutcome::kScheduled:
      history.consecutive_errors = history.unschedulable_count = 0;
      break;
    case GroupOutcome::kRejected:
      ++history.unschedulable_count;
      history.consecutive_errors = 0;
      break;
    case GroupOutcome::kError:
      ++history.consecutive_errors;
      break;
  }
  // A scheduled group whose other members failed is retried before entries that came later, so that it can
  // preempt for them.
  if (outcome != GroupOutcome::kScheduled || !any_failed) history.timestamp = clock_.Now();
  history.was_flushed = false;
  history.flushed = {};
  history.backoff_expiry = ExpiryOf(history, members.size());
  outcome != GroupOutcome::kScheduled&& BackingOff(group) ? ToBackoff(group, kAttemptFailed)
                                                          : ToActive(group, kAttemptFailed);
}

// --- objects of groups ---

void SchedulingQueue::OnGroupAdded(const std::string& key) {
  const auto list = incomplete_.find(key);
  if (list == incomplete_.end()) return;
  const std::vector<Entry*> members = std::move(list->second);
  incomplete_.erase(list);
  for (Entry* member : members) {
    member->place = Place::kNone;
    --waiting_for_object_;
    metrics_->MembersChanged(true, -1);
    AddMember(*member);
  }
}

// The priority of a group is constant.
void SchedulingQueue::OnGroupUpdated(const std::string& key) {
  if (const auto known = groups_.find(key); known != groups_.end())
    known->second.history.object = group_objects_.FindObject(key);
}

void SchedulingQueue::OnGroupDeleted(const std::string& key) {
  std::vector<Entry*> members;
  if (const auto known = groups_.find(key); known != groups_.end()) {
    Leave(known->second);
    members.assign(known->second.members.begin(), known->second.members.end());
    for (Entry* member : members) member->group = nullptr;
    groups_.erase(known);
  } else if (const auto list = requeued_.find(key); list != requeued_.end()) {
    members = std::move(list->second);
    requeued_.erase(list);
    metrics_->MembersChanged(false, -static_cast<std::int64_t>(members.size()));
  }
  for (Entry* member : members) {
    member->place = Place::kNone;
    AddMember(*member);
  }
}

}  // namespace berth::queue
