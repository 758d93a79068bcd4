// Pods that wait for a scheduling attempt (kube-scheduler v1.37.1 with default feature gates).
#pragma once

#include <boost/unordered_set.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/text_map.hpp"
#include "observability/metrics/registry.hpp"
#include "scheduler/framework/cluster_event.hpp"
#include "scheduler/framework/queued_pod.hpp"
#include "scheduler/framework/requeue.hpp"
#include "scheduler/framework/status.hpp"
#include "scheduler/queue/in_flight.hpp"
#include "scheduler/queue/nominator.hpp"

namespace berth::queue {

// The decisions of profiles that the queue depends on.
class QueuePolicy {
 public:
  virtual ~QueuePolicy() = default;
  virtual bool Less(const framework::QueuedPod& a, const framework::QueuedPod& b) const = 0;
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
  // Hints that are evaluated at once between two calls of EvaluateDeferred; further events are deferred.
  std::size_t evaluations_per_step = 2000;
  std::size_t max_deferred_events = 4096;
};

struct QueueSizes {
  std::size_t active = 0;
  std::size_t backoff = 0;
  std::size_t unschedulable = 0;
  std::size_t gated = 0;
  std::size_t in_flight = 0;
};

//   Add ──> active ──Pop──> in flight ──Done──> gone
//     │       ^  ^              │
//     │       │  └─delay over─ backoff <──error── Requeue
//     │       │                 ^                    │
//     │       └──────event──────┴── unschedulable <──┘ rejected, and no event since then helps
//     └─PreEnqueue rejects──> unschedulable (gated)
//
// A pod is in at most one of these places, identified by its UID. Scheduler loop only; no method blocks.
class SchedulingQueue {
 public:
  // The clock, the policy and the registry must outlive the queue.
  SchedulingQueue(QueueOptions options, const Clock& clock, const QueuePolicy& policy,
                  metrics::Registry& metrics);
  ~SchedulingQueue();

  // Adds a pod without a node; updates it if the UID is already queued.
  void Add(cluster::PodInfo pod, std::uint32_t profile);
  // Updates a pod; `events` describe the change (resource kTargetPod). Unknown pods are added. For a pod in
  // flight the events are recorded; the owner of the attempt requeues the pod in its latest version.
  void Update(cluster::PodInfo pod, std::uint32_t profile, std::span<const framework::ClusterEvent> events,
              const framework::EventObjects& objects);
  // Removes a pod that was deleted or bound. An attempt in progress is not affected.
  void Delete(const std::string& uid);

  // Takes the pod with the highest rank, or returns null. When activeQ is empty, pods in back-off are taken
  // early, except after errors. The caller must call Done or Requeue for the pod.
  framework::QueuedPodPtr Pop();
  // The same among the pods for which `eligible` returns true. Linear in the number of pods of higher rank.
  using Eligible = std::function<bool(const framework::QueuedPod&)>;
  framework::QueuedPodPtr Pop(const Eligible& eligible);
  // The attempt needs no more events: the pod was deleted, is assigned to another scheduler, or has passed
  // Permit. Requeue may still be called after an error.
  void Done(const std::string& uid);
  // Requeues a pod after a failed attempt and ends the attempt. pod->rejectors are the plugins that rejected
  // it; if empty, the failure was an error, and the pod is retried after a back-off without an event.
  void Requeue(const framework::QueuedPodPtr& pod);

  // Requeues the rejected pods for which the event returns a hint. `concerned`, if given, limits the pods.
  // With very many rejected pods the event is deferred: its hints are evaluated by EvaluateDeferred, so that
  // neither decisions nor further changes wait for them. Beyond max_deferred_events all pods with deferred
  // events are retried instead. A pod that enters later is not affected by earlier events.
  using Concerned = std::function<bool(const framework::QueuedPod&)>;
  void MoveAll(const framework::ClusterEvent& event, const framework::EventObjects& objects,
               const Concerned& concerned = nullptr);
  // Evaluates at most evaluations_per_step hints of deferred events. Returns whether some are left.
  bool EvaluateDeferred();
  // Retries these pods ("namespace/name") immediately, without an event or back-off. A pod in flight is
  // retried if its attempt fails; unknown pods are ignored.
  void Activate(std::span<const std::string> pods);
  // Moves pods whose back-off or timeout has expired; must be called at NextDue or later.
  void Tick();
  MonoTime NextDue() const { return std::min(next_backoff_flush_, next_unschedulable_flush_); }

  QueueSizes sizes() const;
  bool IsInFlight(const std::string& uid) const { return in_flight_.Has(uid); }
  // Nominated pods, queued or in flight.
  Nominator& nominator() { return nominator_; }
  const Nominator& nominator() const { return nominator_; }
  // Calls visit(const QueuedPod&, place) for every queued pod, not for pods in flight, in no defined order.
  // `place` is "active", "backoff", "unschedulable" or "gated".
  template <class Visit>
  void ForEach(Visit&& visit) const {
    for (const auto& [uid, entry] : entries_) visit(*entry.pod, PlaceName(entry));
  }

 private:
  enum class Place { kNone, kActive, kBackoff, kErrorBackoff, kUnschedulable };
  struct Entry {
    framework::QueuedPodPtr pod;
    Place place = Place::kNone;
    std::uint64_t sequence = 0;       // order of arrival; decides between equal ranks
    std::size_t slot = 0;             // index in unschedulable_, while it is there
    std::uint64_t next_event = 0;     // the next deferred event to evaluate, while it is there
    metrics::Gauge* cause = nullptr;  // the gauge that counts it, while it is in a place
  };
  struct HigherRank {
    const QueuePolicy* policy;
    bool operator()(const Entry* a, const Entry* b) const;
  };
  struct EarlierExpiry {
    const QueuePolicy* policy;
    bool operator()(const Entry* a, const Entry* b) const;
  };
  // Hashes and compares "namespace/name", which is constant.
  struct ByKey {
    static std::string_view Of(std::string_view key) { return key; }
    static std::string_view Of(const Entry* entry) { return entry->pod->info.key; }
    std::size_t operator()(const auto& entry) const { return SeededHash()(Of(entry)); }
    bool operator()(const auto& a, const auto& b) const { return Of(a) == Of(b); }
  };
  struct Metrics;

  static const char* PlaceName(const Entry& entry);
  // `first_of` returns the entry to take from a sorted set, or null.
  template <class FirstOf>
  framework::QueuedPodPtr PopBy(FirstOf&& first_of);
  Entry* Find(const std::string& uid);
  Entry& Insert(framework::QueuedPodPtr pod);
  void Remove(Entry& entry);
  // Removes the entry from its place, or adds it to one; the gauges follow.
  void Leave(Entry& entry);
  void Enter(Entry& entry, Place place);
  // As Enter, counted by event as an arrival.
  void Arrive(Entry& entry, Place place, const char* event);
  // Both call PreEnqueue first and gate the pod if it is rejected.
  void ToActive(Entry& entry, const char* event);
  void ToBackoff(Entry& entry, const char* event);
  void Follow(Entry& entry, framework::Requeue strategy, const char* event);
  bool PassesPreEnqueue(Entry& entry);
  void Gate(Entry& entry, const char* event);
  framework::Requeue Evaluate(const framework::QueuedPod& pod, const framework::ClusterEvent& event,
                              const framework::EventObjects& objects) const;
  framework::Requeue EvaluateInFlight(const framework::QueuedPod& pod) const;
  // Returns whether the entry left its place.
  bool Move(Entry& entry, const framework::ClusterEvent& event, const framework::EventObjects& objects);
  void Defer(const framework::ClusterEvent& event, const framework::EventObjects& objects);
  void RetryDeferred();
  void ClearDeferred();
  std::uint64_t deferred_end() const { return first_deferred_ + deferred_.size(); }
  bool HasDeferred(const Entry& entry) const { return entry.next_event < deferred_end(); }
  void Move(const std::vector<Entry*>& entries, const framework::ClusterEvent& event,
            const framework::EventObjects& objects);
  void Activate(Entry& entry);
  void Note(const framework::ClusterEvent& event, const framework::EventObjects& objects);
  MonoTime ExpiryOf(const framework::QueuedPod& pod) const;
  bool BackingOff(const Entry& entry) const;
  void CountRejectors(const framework::QueuedPod& pod, std::int64_t by);
  void FlushBackoff();
  void FlushUnschedulable(MonoTime now);

  const QueueOptions options_;
  const Clock& clock_;
  const QueuePolicy& policy_;
  std::unique_ptr<Metrics> metrics_;
  TextMap<Entry> entries_;  // by UID; does not move its elements
  boost::unordered_multiset<Entry*, ByKey, ByKey> by_key_;
  std::set<Entry*, HigherRank> active_;
  std::set<Entry*, EarlierExpiry> backoff_;
  std::set<Entry*, EarlierExpiry> error_backoff_;
  std::vector<Entry*> unschedulable_;  // each entry stores its index
  std::size_t gated_ = 0;              // number of gated entries in unschedulable_
  InFlight in_flight_;
  struct DeferredEvent {
    framework::ClusterEvent event;
    framework::EventObjects objects;
  };
  std::deque<DeferredEvent> deferred_;  // numbered from first_deferred_; at most max_deferred_events
  std::uint64_t first_deferred_ = 0;
  std::size_t with_deferred_ = 0;  // number of entries in unschedulable_ with deferred events
  std::size_t next_slot_ = 0;      // where EvaluateDeferred continues
  std::size_t evaluations_left_;
  Nominator nominator_;
  std::uint64_t next_sequence_ = 0;
  MonoTime next_backoff_flush_;
  MonoTime next_unschedulable_flush_;
};

}  // namespace berth::queue
