// One kubelet for all simulated nodes: starts, ends and removes bound pods, unless their node has failed.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>

#include "base/timer_queue.hpp"
#include "sandbox/apiserver/verbs.hpp"
#include "sandbox/controllers/event_recorder.hpp"
#include "sandbox/kubelet/node_failure.hpp"
#include "sandbox/kubelet/run_plan.hpp"

namespace berth::sandbox {

struct KubeletOptions {
  Duration pod_start = std::chrono::milliseconds(500);  // from binding to Running
  Duration pod_stop = std::chrono::milliseconds(500);   // from deletion to removal; at most the grace period
  Duration lease_every = std::chrono::seconds(10);      // zero: no heartbeats
  Duration status_every = std::chrono::minutes(5);      // the conditions' lastHeartbeatTime
  Duration job_time = std::chrono::seconds(1);          // run time of Job pods without an annotation
};

// Handles every node, also nodes created by clients: these become Ready, too, unless annotated otherwise. A
// pod bound to a node that does not exist stays Pending, as in a real cluster. A pod whose resource claims
// are not allocated and reserved for it stays in ContainerCreating. run_plan.hpp defines how long pods run,
// node_failure.hpp how nodes fail. Failed containers are restarted according to the pod's
// restartPolicy, with the kubelet's back-off (10 s, doubled up to 5 min). One thread.
class Kubelet final : public StoreObserver {
 public:
  // Registers itself with the store and takes over existing nodes. Without a recorder there are no events;
  // with one, events are limited to a few tens per second over all nodes.
  Kubelet(Verbs& verbs, TimerQueue& timers, const KubeletOptions& options, EventRecorder* events = nullptr);

  void OnChange(const ResourceType& type, const Change& change) override;

 private:
  void OnPod(const Change& change);
  void StartLater(const Object& pod);
  void Start(const std::string& key, const std::string& uid);
  void AwaitClaims(const Object& pod, const std::string& why);
  void Complete(const std::string& key, const std::string& uid);
  void Restart(const Object& pod, std::int64_t exit_code);
  // Time from deletion to removal: at most the grace period.
  Duration StopTime(const Object& pod) const;
  void FinishLater(const Object& pod);
  void Finish(const std::string& key, const std::string& uid);
  // An address that no running pod has, unless the node has more pods than addresses.
  std::string NextPodIp(const std::string& node);
  void TrackIp(const Change& change);
  void RecordEvent(const Object& pod, std::string_view reason, const std::string& message,
                   std::string_view type = "Normal");

  void OnNode(const Change& change);
  // If the node is not Ready without a failure, posts its conditions again after a kubelet's status period.
  void CheckStatusLater(const Object& node);
  void Post(const std::string& node, const std::string& uid);
  void Resume(const std::string& node);
  void StartStranded(const std::string& node);
  const NodeFailure& FailureAt(const std::string& node) const;
  void SendHeartbeats(bool first);
  void RenewLease(const Object& node);

  Verbs& verbs_;
  TimerQueue& timers_;
  KubeletOptions options_;
  EventRecorder* events_;
  std::unordered_map<std::string, unsigned> last_ip_;        // by node
  std::unordered_map<std::string, std::string> ip_holders_;  // addresses of pods that have not ended -> uids
  std::unordered_map<std::string, NodeFailure> failures_;    // by node; healthy ones have no entry
  std::unordered_set<std::string> overdue_;    // uids of pods that ended while their node was silent
  std::unordered_set<std::string> stranded_;   // uids of pods that could not start: their node was not there
  std::unordered_set<std::string> not_ready_;  // nodes whose status will be checked
  std::string next_heartbeat_;                 // the node whose heartbeat is next
  std::uint64_t rounds_ = 0;                   // completed rounds over all nodes
  std::uint64_t owed_ = 0;                     // fractions of a node, in beats
  double event_tokens_ = 0;
  MonoTime event_tokens_at_{};
};

}  // namespace berth::sandbox
