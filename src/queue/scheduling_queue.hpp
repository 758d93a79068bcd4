// Pods that wait for a scheduling attempt (after kube-scheduler v1.37.1, with its default feature gates).
#pragma once

#include <boost/unordered_map.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "framework/cluster_event.hpp"
#include "framework/queued_pod.hpp"
#include "framework/status.hpp"
#include "metrics/registry.hpp"

namespace berth::queue {

// What the queue asks the profiles.
class QueuePolicy {
 public:
  virtual ~QueuePolicy() = default;
  virtual bool Less(const framework::QueuedPod& a, const framework::QueuedPod& b) const = 0;
  virtual framework::Status PreEnqueue(const framework::QueuedPod& pod) const = 0;
  // May the event free a pod of that profile that these plugins rejected?
  virtual bool Concerns(std::uint32_t profile, const framework::ClusterEvent& event,
                        std::span<const std::string> plugins) const = 0;
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
//     │       └──────event──────┴── unschedulable <──┘ rejected
//     └─PreEnqueue says no─> unschedulable (gated)
//
// A pod is in exactly one of these places at any time, known by its UID. One thread: the scheduler loop's;
// nothing waits.
class SchedulingQueue {
 public:
  // The clock, the policy and the registry outlive the queue.
  SchedulingQueue(QueueOptions options, const Clock& clock, const QueuePolicy& policy,
                  metrics::Registry& metrics);
  ~SchedulingQueue();

  // A pod that has no node. A UID that is known already is updated.
  void Add(framework::PodInfo pod, std::uint32_t profile);
  // The pod changed in the way the events say (resource kTargetPod). Unknown pods are added; a pod in flight
  // is left alone: whoever has it will bring it back in its newest form.
  void Update(framework::PodInfo pod, std::uint32_t profile, std::span<const framework::ClusterEvent> events);
  // The pod went, or somebody bound it. Pods in flight are forgotten too: bringing them back has no effect.
  void Delete(const std::string& uid);

  // The most urgent pod, or null. When activeQ is empty, pods in back-off are taken early (but not after
  // errors). The caller owes the queue a Done or a Requeue.
  framework::QueuedPodPtr Pop();
  // The attempt ended for good: bound, or not ours any more.
  void Done(const framework::QueuedPodPtr& pod);
  // The attempt failed. pod->rejectors says who rejected it; if nobody did it was an error, and the pod is
  // tried again after a back-off without waiting for an event.
  void Requeue(const framework::QueuedPodPtr& pod);

  // Something happened that may make rejected pods fit.
  void MoveAll(const framework::ClusterEvent& event);
  // Moves what has waited long enough; to be called at NextDue or later.
  void Tick();
  MonoTime NextDue() const { return std::min(next_backoff_flush_, next_unschedulable_flush_); }

  QueueSizes sizes() const;
  bool HasActive() const { return !active_.empty() || !backoff_.empty(); }
  // Pods with status.nominatedNodeName that wait here or are in flight.
  std::span<const framework::QueuedPodPtr> nominated() const { return nominated_; }

 private:
  enum class Place { kActive, kBackoff, kErrorBackoff, kUnschedulable, kInFlight };
  struct Entry {
    framework::QueuedPodPtr pod;
    Place place = Place::kInFlight;
    MonoTime backoff_expiry;
    std::uint64_t sequence = 0;  // settles ties in the order of arrival
  };
  struct MoreUrgent {
    const QueuePolicy* policy;
    bool operator()(const Entry* a, const Entry* b) const;
  };
  struct SoonerOver {
    const QueuePolicy* policy;
    bool operator()(const Entry* a, const Entry* b) const;
  };
  struct Meters;

  Entry* Find(const std::string& uid);
  void Leave(Entry& entry);
  void EnterActive(Entry& entry, const char* event);
  void EnterBackoff(Entry& entry, const char* event);
  void EnterUnschedulable(Entry& entry, const char* event);
  // To activeQ, or to back-off if that is not over.
  void Free(Entry& entry, const char* event);
  bool PassesPreEnqueue(Entry& entry);
  bool IsFreedBy(const Entry& entry, const framework::ClusterEvent& event) const;
  Duration BackoffOf(const framework::QueuedPod& pod) const;
  bool BackingOff(const Entry& entry) const;
  void TrackNomination(const framework::QueuedPodPtr& pod);
  void CountUnschedulable(const framework::QueuedPod& pod, std::int64_t by);

  const QueueOptions options_;
  const Clock& clock_;
  const QueuePolicy& policy_;
  std::unique_ptr<Meters> meters_;
  boost::unordered_map<std::string, Entry> entries_;  // by UID; does not move its elements
  std::set<Entry*, MoreUrgent> active_;
  std::set<Entry*, SoonerOver> backoff_;
  std::set<Entry*, SoonerOver> error_backoff_;
  std::set<Entry*> unschedulable_;
  std::vector<framework::QueuedPodPtr> nominated_;
  std::uint64_t next_sequence_ = 0;
  MonoTime next_backoff_flush_;
  MonoTime next_unschedulable_flush_;
};

}  // namespace berth::queue
