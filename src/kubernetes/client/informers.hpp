// The cluster as the scheduler wants to see it: pods that are not finished, nodes, and every other kind that
// plugins read.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "kubernetes/api/decode.hpp"
#include "base/clock.hpp"
#include "kubernetes/client/encoding.hpp"
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
  std::uint64_t seed = 1;                                  // of the jitter in delays and timeouts
  // Which kinds to follow (pods and nodes must be among them); null: all. kube-scheduler follows what its
  // plugins read.
  bool (*wanted)(std::string_view kind) = nullptr;
  // Of pods and nodes, but where their texts are kept; all other kinds come as JSON.
  Encoding encoding = Encoding::kJson;
  api::KeepTexts texts{};  // of which objects the whole text goes to the sink with them
  // Called once on the loop, when the sink has been told everything, before OnSynced; may be empty.
  std::function<void()> on_complete{};
  // Called once on the loop, after the sink was told OnSynced; may be empty.
  std::function<void()> on_synced{};
};

// Delivers every kind of resources.hpp to a sink, each in the order of the API server, from the loop's
// thread. Which version of a group the server has is found out by discovery; a kind that it does not have is
// passed over, and looked for again later. OnSynced comes once, when the first full state of all kinds that
// exist has been delivered, but for kinds that a scheduler can do without and whose list is forbidden to it
// for longer than a few seconds: these are asked for again all the same, and delivered when the right comes.
// Nothing stops it but its destructor, after which the sink is left alone: an API
// server that is away is asked again for ever, with growing delays. May be constructed, started and destroyed
// on any thread.
class ClusterSource {
 public:
  ClusterSource(http::Loop& loop, Api& api, metrics::Registry& registry, ports::ClusterSink& sink,
                ClusterSourceOptions options = {});
  ~ClusterSource();
  ClusterSource(const ClusterSource&) = delete;
  ClusterSource& operator=(const ClusterSource&) = delete;

  void Start();
  // Calls `caught_up` once on the loop, when all pods, volumes and claims that anybody had written before
  // this call have been delivered to the sink: what a leader needs to know of the one before. Waits as long
  // as that takes; the time goes into berth_leader_barrier_seconds. After Start; not again before the end.
  void FreshnessBarrier(std::move_only_function<void()> caught_up);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::client
