// The scheduler's view of the cluster: pods that are not terminated, nodes, and all other kinds that plugins
// read.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "base/clock.hpp"
#include "kubernetes/api/decode.hpp"
#include "kubernetes/client/encoding.hpp"
#include "kubernetes/client/resources.hpp"
#include "kubernetes/ports/ports.hpp"

namespace berth::http {
class Loop;
}
namespace berth::metrics {
class Registry;
}

namespace berth::client {

class Api;

struct ClusterSourceOptions {
  bool streaming = true;                                   // see ReflectorOptions
  Duration watch_idle_timeout = std::chrono::seconds(90);  // see ReflectorOptions
  std::uint64_t seed = 1;                                  // for the jitter of delays and timeouts
  // False: scheduling waits for every kind that a filter needs, as in kube-scheduler. True: only for those
  // without which a node might be overcommitted or every pod with volumes fail.
  bool allow_missing_resources = false;
  // Selects the kinds to watch; must include pods and nodes. kube-scheduler watches the kinds that its
  // plugins read.
  std::function<bool(const Resource&)> wanted = [](const Resource& resource) {
    return resource.feature_gate.empty() && !resource.on_request;
  };
  // For pods and nodes whose texts are not retained; all other kinds are requested as JSON.
  Encoding encoding = Encoding::kJson;
  api::RetainedFields retained{};  // the parts of objects that are delivered on request
  // Called on the loop when the version of a kind in a group is known, and when it changes; may be empty.
  std::function<void(std::string_view kind, std::string_view version)> on_version{};
  // Called once on the loop, when all objects have been delivered, before OnSynced; may be empty.
  std::function<void()> on_complete{};
  // Called once on the loop, after the sink's OnSynced; may be empty.
  std::function<void()> on_synced{};
};

// Delivers every kind of resources.hpp to a sink, each in the order of the API server, from the loop's
// thread; groups of other projects in the form of PodGroups. Discovery determines the version of each group;
// a kind that the server does not have is skipped and looked up again later. OnSynced is called once, when
// the first full state of all existing kinds has been delivered. Exception: optional kinds whose list is
// forbidden or cannot be decoded for longer than a few seconds do not delay it; they are requested again and
// delivered as soon as this succeeds. An unavailable API server is retried indefinitely with growing delays.
// Only the destructor stops this; after it the sink is not called. May be constructed, started and destroyed
// on any thread.
class ClusterSource {
 public:
  ClusterSource(http::Loop& loop, Api& api, metrics::Registry& registry, ports::ClusterSink& sink,
                ClusterSourceOptions options = {});
  ~ClusterSource();
  ClusterSource(const ClusterSource&) = delete;
  ClusterSource& operator=(const ClusterSource&) = delete;

  void Start();
  // Calls `caught_up` once on the loop, when all pods, volumes and claims written before this call have been
  // delivered to the sink; a new leader needs this. There is no timeout; the duration is recorded in
  // berth_leader_barrier_seconds. Call after OnSynced: claims that have not been listed by then are taken for
  // unavailable and skipped. Do not call again before `caught_up` was called.
  void FreshnessBarrier(std::move_only_function<void()> caught_up);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::client
