// The cluster as the scheduler wants to see it: pods that are not finished, and nodes.
#pragma once

#include <cstdint>
#include <memory>

#include "framework/ports.hpp"

namespace berth::http {
class Loop;
}
namespace berth::metrics {
class Registry;
}

namespace berth::client {

class Api;

struct ClusterSourceOptions {
  bool streaming = true;   // see ReflectorOptions
  std::uint64_t seed = 1;  // of the jitter in delays and timeouts
};

// Delivers pods (status.phase neither Succeeded nor Failed) and nodes to a sink, each kind in the order of
// the API server, from the loop's thread. OnSynced comes once, when the first full state of both kinds has
// been delivered. Nothing stops it but its destructor, after which the sink is left alone: an API server that
// is away is asked again for ever, with growing delays. May be constructed, started and destroyed on any
// thread.
class ClusterSource {
 public:
  ClusterSource(http::Loop& loop, Api& api, metrics::Registry& registry, framework::ClusterSink& sink,
                ClusterSourceOptions options = {});
  ~ClusterSource();
  ClusterSource(const ClusterSource&) = delete;
  ClusterSource& operator=(const ClusterSource&) = delete;

  void Start();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::client
