// The scheduler loop: the one thread that owns queue, cache and decisions, and everything that happens on it.
#pragma once

#include <atomic>
#include <boost/unordered_map.hpp>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cache/cluster_cache.hpp"
#include "core/cluster_events.hpp"
#include "core/decider.hpp"
#include "core/inbox.hpp"
#include "framework/ports.hpp"
#include "metrics/registry.hpp"
#include "queue/scheduling_queue.hpp"
#include "record/record_ring.hpp"
#include "runtime/profile.hpp"

namespace berth::core {

struct SchedulerOptions {
  queue::QueueOptions queue;
  DeciderOptions decider;
  std::size_t record_bytes = 64u << 20;  // how much of the past is kept for explanations
};

// What the loop works with; all of it outlives the scheduler. Vocabulary, cache and profiles belong to the
// loop's thread from Run on.
struct SchedulerParts {
  framework::Vocabulary& vocabulary;
  const framework::Reasons& reasons;
  cache::ClusterCache& cache;
  std::span<const std::unique_ptr<runtime::Profile>> profiles;
  framework::ApiWriter& api;
  framework::EventSink& events;
  const Clock& clock;
  metrics::Registry& metrics;
};

// Order of a turn: take what arrived, move what is due, decide for one pod. Nothing in it waits for a socket:
// bindings go out by ApiWriter and come back as messages. A pod is bound, waits in exactly one place of the
// queue, or is on its way between these two.
class Scheduler final : private queue::QueuePolicy {
 public:
  Scheduler(SchedulerOptions options, SchedulerParts parts);
  ~Scheduler() override;

  // --- from any thread
  // ---------------------------------------------------------------------------------------
  // Where the cluster's changes go.
  framework::ClusterSink& sink() { return inbox_; }
  // Makes Run return after the turn it is in.
  void Stop();
  bool synced() const { return synced_.load(std::memory_order_relaxed); }

  // --- the loop's thread
  // ------------------------------------------------------------------------------------- Until Stop.
  void Run();
  // One turn without waiting; false if there was nothing to do. For tests and simulations.
  bool Turn();

  const queue::SchedulingQueue& queue() const { return queue_; }
  const record::RecordRing& records() const { return records_; }

 private:
  struct Meters;

  // Messages.
  void Handle(framework::Change<api::Pod>& change);
  void Handle(framework::Change<api::Node>& change);
  // Every other kind: the pods that it may help are tried again.
  template <class T>
  void Handle(framework::Change<T>& change) {
    if (const auto event = EventOf(change)) queue_.MoveAll(*event);
  }
  void Handle(Synced&);
  void Handle(BindingEnded& ended);
  void Handle(Wake&) {}
  void PodGone(const api::Pod& pod);
  void PodWaiting(const api::PodPtr& before, const api::PodPtr& pod);
  void PodAssigned(const api::PodPtr& before, const api::Pod& pod);

  // Attempts.
  void ScheduleOne(const framework::QueuedPodPtr& pod);
  void StartBinding(const framework::QueuedPodPtr& pod, framework::Row row);
  // An attempt failed: the pod goes back to the queue, and everybody is told.
  void AttemptFailed(const framework::QueuedPodPtr& pod, bool rejected, const std::string& message,
                     Duration took);
  Decision Decide(const framework::QueuedPod& pod);
  std::span<const runtime::Nomination> Nominations();

  // What the queue asks.
  bool Less(const framework::QueuedPod& a, const framework::QueuedPod& b) const override {
    return parts_.profiles.front()->Less(a, b);
  }
  framework::Status PreEnqueue(const framework::QueuedPod& pod) const override {
    return parts_.profiles[pod.profile]->RunPreEnqueue(*pod.info.pod);
  }
  bool Concerns(std::uint32_t profile, const framework::ClusterEvent& event,
                std::span<const std::string> plugins) const override {
    return parts_.profiles[profile]->Concerns(event, plugins);
  }
  // Nothing if no profile has the pod's schedulerName.
  std::optional<std::uint32_t> ProfileOf(const api::Pod& pod) const;

  const SchedulerOptions options_;
  const SchedulerParts parts_;
  std::unique_ptr<Meters> meters_;
  Inbox inbox_;
  std::vector<Message> taken_;
  queue::SchedulingQueue queue_;
  Decider decider_;
  record::RecordRing records_;
  boost::unordered_map<std::string, api::PodPtr> waiting_;  // by UID: pods without node, as last seen
  std::shared_ptr<const record::NodeNames> names_;
  std::uint64_t names_generation_ = UINT64_MAX;
  std::vector<runtime::Nomination> nominations_;
  std::atomic<bool> synced_{false};
  std::atomic<bool> stopping_{false};
};

}  // namespace berth::core
