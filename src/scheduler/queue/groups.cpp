// The members of pod groups and of trees of composite groups in the queue (kube-scheduler v1.37.1,
// addPodGroupMember, AddAttemptedPodGroupIfNeeded and the handlers of group objects in
// pkg/scheduler/backend/queue/scheduling_queue.go).
#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "base/text_map.hpp"
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

template <class Change>
void SchedulingQueue::Reenter(GroupEntry& group, const char* event, Change&& change) {
  const Place before = group.place;
  const std::uint64_t next_event = group.next_event;
  Leave(group);
  change();
  if (group.members.empty()) {
    groups_.erase(std::string(group.history.key));
    return;
  }
  switch (before) {
    case Place::kActive:
      return Follow(group, Requeue::kImmediately, event);
    case Place::kBackoff:
    case Place::kErrorBackoff:
      return Follow(group, Requeue::kAfterBackoff, event);
    default:
      Follow(group, Requeue::kSkip, event);
      // PreEnqueue was not called, so the deferred events that have not been evaluated may still release it.
      return EvaluateFrom(group, next_event);
  }
}

void SchedulingQueue::AddMember(Entry& member) {
  const std::optional<std::string> root = group_objects_.RootOf(member.group_key);
  if (!root) return incomplete_.Add(member);
  if (const auto known = groups_.find(*root); known != groups_.end())
    return Reenter(known->second, kPodAdded, [&] { Include(known->second, member); });
  if (group_in_progress_ == *root) return requeued_.Add(member);
  framework::QueuedGroup history;
  history.key = *root;
  history.timestamp = member.pod->timestamp;
  history.first_attempt_ready = member.pod->first_attempt_ready;
  GroupEntry& group = InsertGroup(std::move(history));
  Include(group, member);
  ToActive(group, kPodAdded);
}

SchedulingQueue::GroupEntry& SchedulingQueue::InsertGroup(framework::QueuedGroup history) {
  GroupEntry& group = groups_[history.key];
  BERTH_CHECK(group.state == nullptr, history.key);
  group.history = std::move(history);
  group.history.object = group_objects_.FindObject(group.history.key);
  BERTH_CHECK(group.history.object != nullptr, group.history.key);
  group.history.priority = group.history.object->priority;
  group.state = &group.history;
  group.group = &group;
  group.sequence = next_sequence_++;
  return group;
}

void SchedulingQueue::Include(GroupEntry& group, Entry& member) {
  member.place = Place::kInGroup;
  member.group = &group;
  group.members.insert(&member);
  UpdatePriority(group);
}

// Groups of other projects have no priority of their own; their first member has the highest one.
void SchedulingQueue::UpdatePriority(GroupEntry& group) {
  if (group.history.object->external == nullptr || group.members.empty()) return;
  group.history.priority = (*group.members.begin())->pod->priority;
}

// Leaves the member in no place.
void SchedulingQueue::RemoveMember(Entry& member) {
  if (member.place == Place::kIncomplete) return incomplete_.Remove(member);
  if (member.place == Place::kRequeued) return requeued_.Remove(member);
  member.place = Place::kNone;
  GroupEntry& group = *std::exchange(member.group, nullptr);
  Reenter(group, kPodAdded, [&] {
    BERTH_CHECK(group.members.erase(&member) == 1, member.pod->info.key, group.history.key);
    UpdatePriority(group);
  });
}

void SchedulingQueue::ReenterGroupOf(const api::Pod& pod) {
  const auto key = group_objects_.KeyOf(pod);
  const auto root = key ? group_objects_.RootOf(*key) : std::nullopt;
  if (!root) return;
  if (const auto group = groups_.find(*root); group != groups_.end())
    Reenter(group->second, kPodAdded, [] {});
}

void SchedulingQueue::WaitingMembers::Add(Entry& member) {
  member.place = place_;
  by_group_[member.group_key].push_back(&member);
  Resize(size_ + 1);
}

void SchedulingQueue::WaitingMembers::Remove(Entry& member) {
  const auto list = by_group_.find(member.group_key);
  BERTH_CHECK(list != by_group_.end() && std::erase(list->second, &member) == 1, member.pod->info.key);
  if (list->second.empty()) by_group_.erase(list);
  member.place = Place::kNone;
  Resize(size_ - 1);
}

std::vector<SchedulingQueue::Entry*> SchedulingQueue::WaitingMembers::Take(const std::string& group) {
  const auto list = by_group_.find(group);
  if (list == by_group_.end()) return {};
  std::vector<Entry*> members = std::move(list->second);
  by_group_.erase(list);
  for (Entry* member : members) member->place = Place::kNone;
  Resize(size_ - members.size());
  return members;
}

std::vector<SchedulingQueue::Entry*> SchedulingQueue::WaitingMembers::TakeAll() {
  std::vector<Entry*> members;
  while (!by_group_.empty()) {
    const std::string group = by_group_.begin()->first;
    std::ranges::copy(Take(group), std::back_inserter(members));
  }
  return members;
}

void SchedulingQueue::WaitingMembers::Resize(std::size_t size) {
  gauge_.Add(static_cast<std::int64_t>(size) - static_cast<std::int64_t>(size_));
  size_ = size;
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
  group->tree.reset();
  if (group->object->composite)
    group->tree = std::make_shared<const cluster::GroupTree>(group_objects_.TreeOf(group->key));
  group_in_progress_ = group->key;
  return {nullptr, std::move(group)};
}

void SchedulingQueue::EndGroup(const framework::QueuedGroup& attempted, GroupOutcome outcome) {
  BERTH_CHECK(group_in_progress_ == attempted.key, group_in_progress_, attempted.key);
  group_in_progress_.clear();
  const std::vector<Entry*> members = requeued_.TakeAll();
  if (members.empty()) return;
  // The root was not deleted meanwhile: that would have moved the members.
  GroupEntry& group = InsertGroup(attempted);
  FlatTextSet tried;
  for (const framework::QueuedPodPtr& pod : attempted.members) tried.insert(pod->info.pod->metadata.uid);
  bool any_failed = false;
  for (Entry* member : members) {
    Include(group, *member);
    any_failed = any_failed || tried.contains(member->pod->info.pod->metadata.uid);
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

// The object may have connected any group of its tree with the root.
void SchedulingQueue::OnGroupAdded(const std::string& key) {
  const auto root = group_objects_.RootOf(key);
  if (!root || incomplete_.size() == 0) return;
  std::vector<Entry*> members;
  for (const std::string& leaf : group_objects_.LeavesOf(*root))
    std::ranges::copy(incomplete_.Take(leaf), std::back_inserter(members));
  for (Entry* member : members) AddMember(*member);
}

// The priority of a group is constant.
void SchedulingQueue::OnGroupUpdated(const std::string& key) {
  if (const auto known = groups_.find(key); known != groups_.end())
    known->second.history.object = group_objects_.FindObject(key);
}

void SchedulingQueue::OnGroupDeleted(const std::string& root) {
  std::vector<Entry*> members;
  if (const auto known = groups_.find(root); known != groups_.end()) {
    Reenter(known->second, kPodUpdated, [&] { members = TakeRootless(known->second); });
  } else if (group_in_progress_ == root) {
    members = requeued_.TakeAll();
  }
  for (Entry* member : members) AddMember(*member);
}

std::vector<SchedulingQueue::Entry*> SchedulingQueue::TakeRootless(GroupEntry& group) {
  std::vector<Entry*> members;
  TextMap<bool> rootless;  // by pod group
  std::erase_if(group.members, [&](Entry* member) {
    const auto [known, added] = rootless.try_emplace(member->group_key);
    if (added) known->second = !group_objects_.RootOf(member->group_key);
    if (!known->second) return false;
    member->place = Place::kNone;
    member->group = nullptr;
    members.push_back(member);
    return true;
  });
  return members;
}

}  // namespace berth::queue
