// Berth's queue with its environment in a recorded sequence: clock, API objects, attempts in flight. The
// counterpart of ../environment.go and ../state.go.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fake_plugins.hpp"
#include "scheduler/queue/scheduling_queue.hpp"
#include "testing/cluster.hpp"

namespace berth::replay {

struct Event {
  std::string resource;
  framework::ActionMask action = 0;
  std::string label, before, after, target;
  std::optional<std::int32_t> up_to;
};

struct Operation {
  std::string kind;
  std::string pod;
  api::PodPtr object;
  std::vector<std::string> rejectors, pending;
  std::optional<std::string> nominate;
  Event event;
  std::vector<std::string> pods;
  std::int64_t millis = 0;
  api::PodGroupPtr group;  // group-add, group-update, composite-add, composite-update
  std::string outcome;     // of a group's attempt (end)
  std::string name;        // of a group (group-delete, composite-delete)
  // What kube-scheduler's queue popped: a pod, or the members of a group with a space after each.
  std::string popped;
};

// The visible state: one line per pod, nomination and metric; zero and empty values are omitted.
using State = std::map<std::string, std::string>;

class Environment final : public queue::QueuePolicy {
 public:
  Environment(queue::QueueOptions options, std::int64_t start_millis, const std::vector<FakePlugin>& plugins);

  // Returns what was popped, as in Operation::popped.
  std::string Apply(const Operation& op);
  State Read() const;

 private:
  bool Less(const framework::QueuedEntity& a, const framework::QueuedEntity& b) const override;
  framework::Status PreEnqueue(const framework::QueuedPod& pod) const override;
  bool IsAnyRegistered(const framework::ClusterEvent& event) const override;
  bool IsRegisteredBy(std::uint32_t profile, const std::string& plugin,
                      const framework::ClusterEvent& event) const override;
  framework::Requeue EvaluateHint(const framework::QueuedPod& pod, const framework::ClusterEvent& event,
                                  const framework::EventObjects& objects) const override;

  void Advance(Duration by);
  void Add(const api::PodPtr& pod);
  void Update(const api::PodPtr& pod);
  void Delete(const std::string& uid);
  std::string Pop();
  void Requeue(const Operation& op);
  void End(const Operation& op);
  void PutGroup(const api::PodGroupPtr& group);
  void RemoveGroup(const std::string& key);
  void Bind(const std::string& uid);
  void Deliver(const Event& event);
  void Activate(const std::vector<std::string>& uids);
  void Nominate(const framework::QueuedPodPtr& pod, const std::optional<std::string>& node);
  cluster::PodInfo Prepare(const api::PodPtr& pod);
  std::uint32_t ProfileOf(const api::Pod& pod) const;
  void ReadMetrics(State& seen) const;

  ManualClock clock_;
  testing::Cluster cluster_;
  cluster::SymbolTable& words_ = cluster_.symbols();
  std::vector<std::unique_ptr<runtime::Profile>> profiles_;
  metrics::Registry metrics_;
  std::unique_ptr<queue::SchedulingQueue> queue_;
  framework::QueuedGroupPtr attempted_;                  // the popped group, until its attempt ends
  std::map<std::string, api::PodPtr> objects_;           // by UID
  std::map<std::string, framework::QueuedPodPtr> held_;  // by UID: popped pods
  std::set<std::string> uids_;                           // of all pods that ever existed
};

}  // namespace berth::replay
