// Pods and pod groups that wait for a scheduling attempt (kube-scheduler v1.37.1).
#pragma once

#include <array>
#include <boost/unordered_set.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/text_map.hpp"
#include "observability/metrics/registry.hpp"
#include "scheduler/cluster/pod_groups.hpp"
#include "scheduler/cluster/symbol_table.hpp"
#include "scheduler/framework/cluster_event.hpp"
#include "scheduler/framework/queued_pod.hpp"
#include "scheduler/framework/requeue.hpp"
#include "scheduler/framework/status.hpp"
#include "scheduler/framework/tenant_order.hpp"
#include "scheduler/queue/active_queue.hpp"
#include "scheduler/queue/in_flight.hpp"
#include "scheduler/queue/nominator.hpp"

namespace berth::queue {

// The decisions of profiles that the queue depends on.
class QueuePolicy {
 public:
  virtual ~QueuePolicy() = default;
  virtual bool Less(const framework::QueuedEntity& a, const framework::QueuedEntity& b) const = 0;
  // Of the same plugin; null: it orders no tenants. Constant, except during SchedulingQueue::Reorder.
  virtual framework::TenantOrder* tenant_order() const { return nullptr; }
  // The plugin in pod.gated_by is called first.
  virtual framework::Status PreEnqueue(const framework::QueuedPod& pod) const = 0;
  // Whether any plugin of any profile is registered for the event.
  virtual bool IsAnyRegistered(const framework::ClusterEvent& event) const = 0;
  // Whether this plugin of that profile is registered for it.
  virtual bool IsRegisteredBy(std::uint32_t profile, const std::string& plugin,
                              const framework::ClusterEvent& event) const = 0;
  // The combined hint of the plugins that rejected the pod. Not called for wildcard events.
  virtual framework::Requeue EvaluateHint(const framework::QueuedPod& pod,
                                          const framework::ClusterEvent& event,
                                          const framework::EventObjects& objects) const = 0;
};

struct QueueOptions {
  Duration initial_backoff = std::chrono::seconds(1);
  Duration max_backoff = std::chrono::seconds(10);  // 0: no back-off
  // after this time, an event is assumed to have been missed
  Duration max_in_unschedulable = std::chrono::minutes(5);
  // Hints that are evaluated at once between two calls of EvaluateDeferred; further events are deferred. A
  // hint that reads large objects counts as several.
  std::size_t evaluations_per_step = 2000;
  std::size_t max_deferred_events = 4096;
  // Memory of the objects of deferred events, and as much of the objects of events during attempts,
  // approximately.
  std::size_t max_event_bytes = 128 << 20;
};

// Numbers of pods; members of pod groups count.
struct QueueSizes {
  std::size_t active = 0;
  std::size_t backoff = 0;
  std::size_t unschedulable = 0;
  std::size_t gated = 0;
  std::size_t incomplete = 0;  // members of groups whose object has not been received
  std::size_t in_flight = 0;

  std::size_t total() const { return active + backoff + unschedulable + gated + incomplete + in_flight; }
};

// The entry that Pop took from the queue: a pod or a group. Both are null if there is none.
struct Popped {
  framework::QueuedPodPtr pod;
  framework::QueuedGroupPtr group;
  explicit operator bool() const { return pod != nullptr || group != nullptr; }
};

// The content of a queue of pods without groups between two attempts: a queue with the same pods becomes
// equal to it by Restore.
struct SavedQueue {
  struct Pod {
    std::string uid;
    std::uint8_t place = 0;
    std::uint64_t sequence = 0;
    std::uint64_t slot = 0;  // in the order in which events are evaluated
    MonoTime timestamp, first_attempt_ready, attempt_started, backoff_expiry, flushed;
    bool was_flushed = false;
    std::int32_t attempts = 0, unschedulable_count = 0, consecutive_errors = 0;
    std::vector<std::string> rejectors, pending;
    std::string gated_by, nominated;
    static void VisitFields(auto& self, auto&& visit) {
      visit("uid", self.uid);
      visit("place", self.place);
      visit("sequence", self.sequence);
      visit("slot", self.slot);
      visit("timestamp", self.timestamp);
      visit("ready", self.first_attempt_ready);
      visit("started", self.attempt_started);
      visit("backoff", self.backoff_expiry);
      visit("flushed", self.flushed);
      visit("wasFlushed", self.was_flushed);
      visit("attempts", self.attempts);
      visit("unschedulable", self.unschedulable_count);
      visit("errors", self.consecutive_errors);
      visit("rejectors", self.rejectors);
      visit("pending", self.pending);
      visit("gatedBy", self.gated_by);
      visit("nominated", self.nominated);
    }
    friend bool operator==(const Pod&, const Pod&) = default;
  };
  struct Nomination {
    std::string uid, node;
    static void VisitFields(auto& self, auto&& visit) {
      visit("uid", self.uid);
      visit("node", self.node);
    }
    friend bool operator==(const Nomination&, const Nomination&) = default;
  };
  std::vector<Pod> pods;                // in no defined order
  std::vector<Nomination> nominations;  // in no defined order
  std::uint64_t next_sequence = 0, next_slot = 0, evaluations_left = 0;
  MonoTime next_backoff_flush, next_unschedulable_flush;
  friend bool operator==(const SavedQueue&, const SavedQueue&) = default;
};

// How the attempt of a group ended.
enum class GroupOutcome : std::uint8_t { kScheduled, kRejected, kError };

//   Add ──> active ──Pop──> in flight ──Done──> gone
//     │       ^  ^              │
//     │       │  └─delay over─ backoff <──error── Requeue
//     │       │                 ^                    │
//     │       └──────event──────┴── unschedulable <──┘ rejected, and no event since then helps
//     └─PreEnqueue rejects──> unschedulable (gated)
//
// A pod is in at most one of these places, identified by its UID. The members of a pod group, or of all pod
// groups below the root of a tree of composite groups, are in one entry that moves as a unit: it is gated if
// any member is, and an event that helps one member moves all. Members whose group has no root
// (PodGroups::RootOf) wait outside of these places (incomplete). Scheduler loop only; no method blocks.
class SchedulingQueue {
 public:
  // All arguments must outlive the queue. A change of a group's object must be applied to `groups` before the
  // queue is notified.
  SchedulingQueue(QueueOptions options, const Clock& clock, const QueuePolicy& policy,
                  const cluster::PodGroups& groups, metrics::Registry& metrics);
  ~SchedulingQueue();

  // Adds a pod without a node; updates it if the UID is already queued.
  void Add(cluster::PodInfo pod, std::uint32_t profile);
  // Updates a pod; `events` describe the change (resource kTargetPod). Unknown pods are added. For a pod in
  // flight the events are recorded; the owner of the attempt requeues the pod in its latest version.
  void Update(cluster::PodInfo pod, std::uint32_t profile, std::span<const framework::ClusterEvent> events,
              const framework::EventObjects& objects);
  // Removes a pod without a node that was deleted or bound. An attempt in progress is not affected. The
  // waiting members of its group enter their place again, after PreEnqueue, even if the pod was not queued:
  // a group whose minCount was raised is gated then (kube-scheduler v1.37.1, deletePodGroupMember in
  // pkg/scheduler/backend/queue).
  void Delete(const api::Pod& pod);

  // The object of a group or composite group was received, changed, or deleted. `root` is the root of its
  // tree before the deletion (PodGroups::RootOf); without one no pod in the queue is affected.
  void OnGroupAdded(const std::string& key);
  void OnGroupUpdated(const std::string& key);
  void OnGroupDeleted(const std::string& root);

  // Takes the entry with the highest rank; with tenants, that of the first tenant. When activeQ is empty,
  // pods in back-off are taken early, in the order in which their back-offs end, except after errors. The
  // caller must call Done or Requeue for each pod, and EndGroup for a group before the next Pop.
  Popped Pop();
  // The same among the entries whose leading pod is eligible. Linear in the number of entries of higher rank.
  using Eligible = std::function<bool(const framework::QueuedPod&)>;
  Popped Pop(const Eligible& eligible);
  // The attempt needs no more events: the pod was deleted, is assigned to another scheduler, or has passed
  // Permit. Requeue may still be called after an error.
  void Done(const std::string& uid);
  // Requeues a pod after a failed attempt and ends the attempt. pod->rejectors are the plugins that rejected
  // it; if empty, the failure was an error, and the pod is retried after a back-off without an event.
  // If the events during the attempt exceeded max_event_bytes, the pod is retried after a back-off, too.
  // A member of a group joins the other members without a test of events; until EndGroup it waits for them.
  void Requeue(const framework::QueuedPodPtr& pod);
  // Ends the attempt of a group: its requeued members enter the queue again, after a back-off unless the
  // group was scheduled.
  void EndGroup(const framework::QueuedGroup& group, GroupOutcome outcome);

  // Requeues the rejected pods for which the event returns a hint. `concerned`, if given, limits the pods.
  // With very many rejected pods, or large objects, the event is deferred: its hints are evaluated by
  // EvaluateDeferred, so that neither decisions nor further changes wait for them. Beyond max_deferred_events
  // or max_event_bytes all pods with deferred events are retried instead. A pod that enters later is not
  // affected by earlier events. `concerned` may be called later; it must not refer to local variables.
  using Concerned = std::function<bool(const framework::QueuedPod&)>;
  void MoveAll(const framework::ClusterEvent& event, const framework::EventObjects& objects,
               const Concerned& concerned = nullptr);
  // Evaluates at most evaluations_per_step hints of deferred events. Returns whether some are left.
  bool EvaluateDeferred();
  // Retries these pods ("namespace/name") immediately, without an event or back-off. A pod in flight is
  // retried if its attempt fails; unknown pods are ignored. For a member, its whole group is retried.
  void Activate(std::span<const std::string> pods);
  // Moves pods whose back-off or timeout has expired; must be called at NextDue or later.
  void Tick();
  MonoTime NextDue() const { return std::min(next_backoff_flush_, next_unschedulable_flush_); }

  // Calls change(), which may change the policy's order, and sorts the entries by the new order. Entries stay
  // in their places.
  void Reorder(const std::function<void()>& change);
  // The limits of QueueOptions for back-offs that begin from now on.
  void SetBackoff(Duration initial, Duration max) {
    options_.initial_backoff = initial;
    options_.max_backoff = max;
  }

  // Whether Save can express the content: no attempt is in progress, no event is deferred, and no pod belongs
  // to a group.
  bool CanSave() const;
  // Linear in the number of pods. Only if CanSave.
  SavedQueue Save(const cluster::SymbolTable& symbols) const;
  // Fails if the pods of the queue, none of them in a group, are not the saved ones; the queue must not be
  // used then.
  Expected<void> Restore(const SavedQueue& saved, cluster::SymbolTable& symbols);

  QueueSizes sizes() const;
  // Whether the pod is in any place of the queue. Pods in flight are not.
  bool Contains(const std::string& uid) const { return entries_.contains(uid); }
  bool IsInFlight(const std::string& uid) const { return in_flight_.Has(uid); }
  // Nominated pods, queued or in flight.
  Nominator& nominator() { return nominator_; }
  const Nominator& nominator() const { return nominator_; }
  // Calls visit(const QueuedPod&, place) for every queued pod, not for pods in flight, in no defined order.
  // `place` is "active", "backoff", "unschedulable", "gated" or "incomplete".
  template <class Visit>
  void ForEach(Visit&& visit) const {
    for (const auto& [uid, entry] : entries_) visit(*entry.pod, PlaceName(entry));
  }
  // As ForEach, for at most `count` pods after the one with this UID; from the first one if it is empty.
  // Returns false if that pod is not queued. The order is the same in all calls unless order_changes()
  // changes.
  template <class Visit>
  bool ForEachAfter(const std::string& uid, std::size_t count, Visit&& visit) const {
    auto entry = uid.empty() ? entries_.begin() : entries_.find(uid);
    if (!uid.empty() && entry++ == entries_.end()) return false;
    for (; entry != entries_.end() && count > 0; ++entry, --count)
      visit(*entry->second.pod, PlaceName(entry->second));
    return true;
  }
  std::size_t order_changes() const { return entries_.bucket_count(); }
  // Calls see(const QueuedPod&, const QueuedEntity&, place) if the pod is queued; the second argument is
  // the pod itself or, for a member, its group.
  template <class See>
  void Look(const std::string& uid, See&& see) const {
    const auto found = entries_.find(uid);
    if (found == entries_.end()) return;
    const Entry& entry = found->second;
    see(std::as_const(*entry.pod), std::as_const(*RankedOf(entry).state), PlaceName(entry));
  }
  // The number of entries in activeQ that Pop takes before this pod or its group, at most `limit`; 0 if it is
  // not in activeQ. With tenants, entries of the same tenant only.
  std::size_t CountAhead(const std::string& uid, std::size_t limit) const;
  // nullopt: the pod is not in activeQ, or there are no tenants. At most `limit` tenants before it are
  // listed.
  std::optional<TenantPlace> TenantPlaceOf(const std::string& uid, std::size_t limit) const;
  // Calls visit(const QueuedGroup&, place) for every queued group, with its members, in no defined order.
  template <class Visit>
  void ForEachGroup(Visit&& visit) const {
    for (const auto& [key, entry] : groups_) {
      framework::QueuedGroup group = entry.history;
      group.members.clear();
      for (const Entry* member : entry.members) group.members.push_back(member->pod);
      visit(std::as_const(group), PlaceName(entry));
    }
  }

 private:
  enum class Place {
    kNone,
    // Of pods without a group, and of groups:
    kActive,
    kBackoff,
    kErrorBackoff,
    kUnschedulable,
    // Of members:
    kInGroup,     // in the entry of its group
    kRequeued,    // waits for the end of the group's attempt
    kIncomplete,  // the group has no root
  };
  struct GroupEntry;
  // A pod, or a group (GroupEntry).
  struct Entry {
    framework::QueuedEntity* state = nullptr;  // the history of the pod or of the group
    framework::QueuedPodPtr pod;               // null: a group
    GroupEntry* group = nullptr;               // of a group: itself; of a member in it: its group
    std::string group_key;                     // of members: "namespace/name" of the pod group; else empty
    Place place = Place::kNone;
    framework::TenantId tenant = 0;         // in activeQ, if its order has tenants
    std::uint64_t sequence = 0;             // order of arrival; decides between equal ranks
    std::size_t slot = 0;                   // index in unschedulable_, while it is there
    std::uint64_t next_event = 0;           // the next deferred event to evaluate, while it is there
    std::size_t counted_work = 0;           // its part of extra_work_
    std::optional<std::size_t> extra_work;  // see ExtraWorkOf; of pods, once it was needed
    metrics::Gauge* cause = nullptr;        // the gauge that counts it, while it is in a place

    bool is_group() const { return pod == nullptr; }
  };
  // Members in the order in which they are scheduled: by descending priority, descending number of attempts,
  // time stamp and name.
  struct ScheduledEarlier {
    bool operator()(const Entry* a, const Entry* b) const;
  };
  struct GroupEntry : Entry {
    framework::QueuedGroup history;  // while in a place, with the first member only
    std::set<Entry*, ScheduledEarlier> members;
    std::uint32_t gating_profile = 0;  // of the member whose plugin gates the group
  };
  // Members that wait outside of their group's entry, in this place.
  class WaitingMembers {
   public:
    WaitingMembers(Place place, metrics::Gauge& gauge) : place_(place), gauge_(gauge) {}
    void Add(Entry& member);
    void Remove(Entry& member);
    // Removes the members of the group and returns them, in the order in which they were added.
    std::vector<Entry*> Take(const std::string& group);
    std::vector<Entry*> TakeAll();
    std::size_t size() const { return size_; }

   private:
    void Resize(std::size_t size);

    const Place place_;
    metrics::Gauge& gauge_;
    TextMap<std::vector<Entry*>> by_group_;
    std::size_t size_ = 0;
  };
  struct HigherRank {
    const QueuePolicy* policy;
    bool operator()(const Entry* a, const Entry* b) const;
  };
  struct EarlierExpiry {
    const QueuePolicy* policy;
    bool operator()(const Entry* a, const Entry* b) const;
  };
  // Hashes and compares "namespace/name" of pods, which is constant.
  struct ByKey {
    static std::string_view Of(std::string_view key) { return key; }
    static std::string_view Of(const Entry* entry) { return entry->pod->info.key; }
    std::size_t operator()(const auto& entry) const { return SeededHash()(Of(entry)); }
    bool operator()(const auto& a, const auto& b) const { return Of(a) == Of(b); }
  };
  // The queues that kube-scheduler's metrics distinguish.
  enum class QueueName : std::uint8_t { kActive, kBackoff, kUnschedulable, kGated };
  struct Metrics;
  using Strategy = std::optional<framework::Requeue>;

  static const char* PlaceName(const Entry& entry);
  static const Entry& RankedOf(const Entry& entry) { return entry.group != nullptr ? *entry.group : entry; }
  static std::size_t SizeOf(const Entry& entry) { return entry.is_group() ? entry.group->members.size() : 1; }
  // Calls visit(Entry&) for the pod, or for each member of the group.
  template <class Visit>
  static void ForEachPod(Entry& entry, Visit&& visit) {
    if (!entry.is_group()) return visit(entry);
    for (Entry* member : entry.group->members) visit(*member);
  }
  static QueueName NameOf(Place place, bool gated);
  static Place PlaceOf(framework::Requeue strategy);
  // `first_active` and `first_backoff` return the entry to take from activeQ and backoffQ, or null.
  template <class FirstActive, class FirstBackoff>
  Popped PopBy(FirstActive&& first_active, FirstBackoff&& first_backoff);
  // Null, or the entry in activeQ of the pod or its group.
  const Entry* FindActive(const std::string& uid) const;
  bool Begin(const framework::QueuedPodPtr& pod);
  Popped BeginPod(Entry& entry);
  Popped BeginGroup(GroupEntry& entry);
  Entry* Find(const std::string& uid);
  // The pod enters a place in the next step.
  Entry& Insert(framework::QueuedPodPtr pod);
  void Remove(Entry& entry);
  // Removes the entry from its place, or adds it to one; the gauges follow.
  void Leave(Entry& entry);
  void Enter(Entry& entry, Place place);
  // As Enter, counted by event as an arrival. With a strategy, the entry counts as an arrival only if it is
  // another queue than the strategy's; its pods always count.
  void Arrive(Entry& entry, Place place, const char* event, Strategy strategy = {});
  // Both call PreEnqueue first and gate the entry if it is rejected.
  void ToActive(Entry& entry, const char* event, Strategy strategy = {});
  void ToBackoff(Entry& entry, const char* event, Strategy strategy = {});
  void Follow(Entry& entry, framework::Requeue strategy, const char* event);
  bool PassesPreEnqueue(Entry& entry);
  void CallPreEnqueue(framework::QueuedPod& pod);
  void Gate(Entry& entry, const char* event, Strategy strategy);
  framework::Requeue Evaluate(Entry& entry, const framework::ClusterEvent& event,
                              const framework::EventObjects& objects) const;
  framework::Requeue EvaluatePod(const framework::QueuedPod& pod, const framework::ClusterEvent& event,
                                 const framework::EventObjects& objects) const;
  framework::Requeue EvaluateInFlight(const framework::QueuedPod& pod) const;
  // Returns whether the entry left its place.
  bool Move(Entry& entry, const framework::ClusterEvent& event, const framework::EventObjects& objects);
  // Only events for which the gating plugin is registered can release a gated entry.
  bool CanRelease(const Entry& entry, const framework::ClusterEvent& event) const;
  // The part of evaluations_per_step that an event uses up for the entry: for each pod as much as the size of
  // the event's objects requires, and more for large pods.
  static std::size_t EvaluationsOf(Entry& entry, std::size_t per_pod) {
    return SizeOf(entry) * per_pod + ExtraWorkOf(entry);
  }
  static std::size_t ExtraWorkOf(Entry& entry);
  static bool Concerns(Entry& entry, const Concerned& concerned);
  void Spend(std::size_t evaluations) { evaluations_left_ -= std::min(evaluations_left_, evaluations); }
  struct DeferredEvent;
  void Defer(DeferredEvent event);
  void RetryDeferred();
  void ClearDeferred();
  // Of an entry in unschedulable_: the next deferred event that is evaluated for it.
  void EvaluateFrom(Entry& entry, std::uint64_t next_event);
  std::uint64_t deferred_end() const { return first_deferred_ + deferred_.size(); }
  bool HasDeferred(const Entry& entry) const { return entry.next_event < deferred_end(); }
  // `bytes`: the memory of the event (StoredBytes).
  void Move(const std::vector<Entry*>& entries, const framework::ClusterEvent& event,
            const framework::EventObjects& objects, std::size_t bytes);
  bool Activate(Entry& entry);
  void ActivateInFlight(const api::PodPtr& pod);
  // Records the event for the attempts in progress, if there are any.
  void Note(const framework::ClusterEvent& event, const framework::EventObjects& objects, std::size_t bytes);
  MonoTime ExpiryOf(const framework::QueuedEntity& entity, std::size_t size) const;
  bool BackingOff(const Entry& entry) const;
  void CountRejectors(const framework::QueuedPod& pod, std::int64_t by);
  void FlushBackoff();
  void FlushUnschedulable(MonoTime now);

  // --- groups (groups.cpp) ---
  // Adds a member to its group's entry, or to the members that wait for the group.
  void AddMember(Entry& member);
  // A group with this history and the latest object, in no place and without members.
  GroupEntry& InsertGroup(framework::QueuedGroup history);
  static void Include(GroupEntry& group, Entry& member);
  static void UpdatePriority(GroupEntry& group);
  // Takes the group out of its place, calls change(), and puts it back; unless it was rejected or gated, it
  // goes through PreEnqueue again. A group without members is removed. `event` is counted.
  template <class Change>
  void Reenter(GroupEntry& group, const char* event, Change&& change);
  // Removes the members whose group has no root any more.
  std::vector<Entry*> TakeRootless(GroupEntry& group);
  void RemoveMember(Entry& member);
  void ReenterGroupOf(const api::Pod& pod);

  QueueOptions options_;
  const Clock& clock_;
  const QueuePolicy& policy_;
  const cluster::PodGroups& group_objects_;
  std::unique_ptr<Metrics> metrics_;
  TextMap<Entry> entries_;      // pods by UID; does not move its elements
  TextMap<GroupEntry> groups_;  // by the key of the root; groups with an entry in a place
  boost::unordered_multiset<Entry*, ByKey, ByKey> by_key_;
  ActiveQueue<Entry, HigherRank> active_;
  std::set<Entry*, EarlierExpiry> backoff_;
  std::set<Entry*, EarlierExpiry> error_backoff_;
  std::vector<Entry*> unschedulable_;   // each entry stores its index
  std::array<std::size_t, 4> sizes_{};  // number of pods by QueueName
  WaitingMembers incomplete_;
  WaitingMembers requeued_;        // of the group in progress
  std::string group_in_progress_;  // the root, between Pop and EndGroup; else empty
  InFlight in_flight_;
  struct DeferredEvent {
    framework::ClusterEvent event;
    framework::EventObjects objects;
    Concerned concerned;
    std::size_t evaluations_per_pod = 1;
    std::size_t bytes = 0;
  };
  std::deque<DeferredEvent> deferred_;  // numbered from first_deferred_; at most max_deferred_events
  std::size_t deferred_bytes_ = 0;      // at most max_event_bytes
  std::uint64_t first_deferred_ = 0;
  std::size_t with_deferred_ = 0;  // number of entries in unschedulable_ with deferred events
  std::size_t next_slot_ = 0;      // where EvaluateDeferred continues
  std::size_t evaluations_left_;
  std::size_t extra_work_ = 0;  // of the entries in unschedulable_ that are not gated
  Nominator nominator_;
  std::uint64_t next_sequence_ = 0;
  MonoTime next_backoff_flush_;
  MonoTime next_unschedulable_flush_;
};

}  // namespace berth::queue
