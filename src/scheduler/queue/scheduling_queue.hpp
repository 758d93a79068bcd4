// Pods that wait for a scheduling attempt (after kube-scheduler v1.37.1, with its default feature gates).
#pragma once

#include <boost/unordered_map.hpp>
#include <boost/unordered_set.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "scheduler/framework/cluster_event.hpp"
#include "scheduler/framework/queued_pod.hpp"
#include "scheduler/framework/status.hpp"
#include "observability/metrics/registry.hpp"
#include "scheduler/queue/in_flight.hpp"
#include "scheduler/queue/nominator.hpp"

namespace berth::queue {

// What the queue asks the profiles.
class QueuePolicy {
 public:
  virtual ~QueuePolicy() = default;
  virtual bool Less(const framework::QueuedPod& a, const framework::QueuedPod& b) const = 0;
  // The plugin in pod.gated_by is asked first.
  virtual framework::Status PreEnqueue(const framework::QueuedPod& pod) const = 0;
  // Does any plugin of any profile wait for such an event?
  virtual bool IsAnyRegistered(const framework::ClusterEvent& event) const = 0;
  // Does this plugin of that profile?
  virtual bool IsRegisteredBy(std::uint32_t profile, const std::string& plugin,
                         const framework::ClusterEvent& event) const = 0;
  // What the plugins that rejected the pod think of the event. Never asked about wildcard events.
  virtual framework::Requeue EvaluateHint(const framework::QueuedPod& pod, const framework::ClusterEvent& event,
                                     const framework::EventObjects& objects) const = 0;
};

struct QueueOptions {
  Duration initial_backoff = std::chrono::seconds(1);
  Duration max_backoff = std::chrono::seconds(10);          // 0: no back-off at all
  Duration max_in_unschedulable = std::chrono::minutes(5);  // then an event is assumed to have been missed
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
//     │       └──────event──────┴── unschedulable <──┘ rejected, and nothing happened meanwhile that helps
//     └─PreEnqueue says no─> unschedulable (gated)
//
// A pod is in at most one of these places, known by its UID. One thread: the scheduler loop's; nothing waits.
class SchedulingQueue {
 public:
  // The clock, the policy and the registry outlive the queue.
  SchedulingQueue(QueueOptions options, const Clock& clock, const QueuePolicy& policy,
                  metrics::Registry& metrics);
  ~SchedulingQueue();

  // A pod that has no node. A UID that waits here already is updated.
  void Add(cluster::PodInfo pod, std::uint32_t profile);
  // The pod changed in the way the events say (resource kTargetPod). Unknown pods are added; for a pod in
  // flight the events are noted: whoever has it will bring it back in its newest form.
  void Update(cluster::PodInfo pod, std::uint32_t profile, std::span<const framework::ClusterEvent> events,
              const framework::EventObjects& objects);
  // The pod went, or somebody bound it. An attempt under way stays under way.
  void Delete(const std::string& uid);

  // The most urgent pod, or null. When activeQ is empty, pods in back-off are taken early (but not after
  // errors). The caller owes the queue a Done or a Requeue.
  framework::QueuedPodPtr Pop();
  // The attempt needs no more events: the pod is gone, not ours any more, or past all points that can reject
  // it. It may still come back by Requeue, after an error.
  void Done(const std::string& uid);
  // The attempt failed. pod->rejectors says who rejected it; if nobody did it was an error, and the pod is
  // tried again after a back-off without waiting for an event. Ends the attempt.
  void Requeue(const framework::QueuedPodPtr& pod);

  // Something happened that may make rejected pods fit. `concerned`, if given, says which pods to look at.
  using Concerned = std::function<bool(const framework::QueuedPod&)>;
  void MoveAll(const framework::ClusterEvent& event, const framework::EventObjects& objects,
               const Concerned& concerned = nullptr);
  // Tries these pods ("namespace/name") at once, without event or back-off. A pod in flight is tried again
  // if its attempt fails; unknown pods are ignored.
  void Activate(std::span<const std::string> pods);
  // Moves what has waited long enough; to be called at NextDue or later.
  void Tick();
  MonoTime NextDue() const { return std::min(next_backoff_flush_, next_unschedulable_flush_); }

  QueueSizes sizes() const;
  bool IsInFlight(const std::string& uid) const { return in_flight_.Has(uid); }
  // Pods that were promised a node, whether they wait here or are in flight.
  Nominator& nominator() { return nominator_; }
  const Nominator& nominator() const { return nominator_; }
  // Every pod that waits here (not those in flight), in no particular order: visit(const QueuedPod&, place),
  // place being "active", "backoff", "unschedulable" or "gated".
  template <class Visit>
  void ForEach(Visit&& visit) const {
    for (const auto& [uid, entry] : entries_) visit(*entry.pod, PlaceName(entry));
  }

 private:
  enum class Place { kNone, kActive, kBackoff, kErrorBackoff, kUnschedulable };
  struct Entry {
    framework::QueuedPodPtr pod;
    Place place = Place::kNone;
    std::uint64_t sequence = 0;       // settles ties in the order of arrival
    std::size_t slot = 0;             // in unschedulable_, while it is there
    metrics::Gauge* cause = nullptr;  // where it is counted, while it is anywhere
  };
  struct MoreUrgent {
    const QueuePolicy* policy;
    bool operator()(const Entry* a, const Entry* b) const;
  };
  struct SoonerOver {
    const QueuePolicy* policy;
    bool operator()(const Entry* a, const Entry* b) const;
  };
  // "namespace/name", which does not change.
  struct ByKey {
    static std::string_view Of(std::string_view key) { return key; }
    static std::string_view Of(const Entry* entry) { return entry->pod->info.key; }
    std::size_t operator()(const auto& entry) const { return boost::hash<std::string_view>()(Of(entry)); }
    bool operator()(const auto& a, const auto& b) const { return Of(a) == Of(b); }
  };
  struct Meters;

  static const char* PlaceName(const Entry& entry);
  Entry* Find(const std::string& uid);
  Entry& Insert(framework::QueuedPodPtr pod);
  void Remove(Entry& entry);
  // Out of the place it is in, into another; the gauges follow.
  void Leave(Entry& entry);
  void Enter(Entry& entry, Place place);
  // The same as an arrival: counted by event.
  void Arrive(Entry& entry, Place place, const char* event);
  // Each asks PreEnqueue first, and keeps the pod out of the way if that says no.
  void ToActive(Entry& entry, const char* event);
  void ToBackoff(Entry& entry, const char* event);
  void Follow(Entry& entry, framework::Requeue strategy, const char* event);
  bool PassesPreEnqueue(Entry& entry);
  void Gate(Entry& entry, const char* event);
  framework::Requeue Evaluate(const framework::QueuedPod& pod, const framework::ClusterEvent& event,
                           const framework::EventObjects& objects) const;
  framework::Requeue JudgeInFlight(const framework::QueuedPod& pod) const;
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
  std::unique_ptr<Meters> meters_;
  boost::unordered_map<std::string, Entry> entries_;  // by UID; does not move its elements
  boost::unordered_multiset<Entry*, ByKey, ByKey> by_key_;
  std::set<Entry*, MoreUrgent> active_;
  std::set<Entry*, SoonerOver> backoff_;
  std::set<Entry*, SoonerOver> error_backoff_;
  std::vector<Entry*> unschedulable_;  // each knows its slot
  std::size_t gated_ = 0;              // of those
  InFlight in_flight_;
  Nominator nominator_;
  std::uint64_t next_sequence_ = 0;
  MonoTime next_backoff_flush_;
  MonoTime next_unschedulable_flush_;
};

}  // namespace berth::queue
